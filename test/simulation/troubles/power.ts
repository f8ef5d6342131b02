/** The process and the power: both may go at any time, and in the midst of any change of the disk. */
import type { CutAt } from '../../support/memory-files.ts';
import type { Moment } from '../pins.ts';
import { MINUTE_MS, SECOND_MS, type Stroke, type Trouble, within } from './stroke.ts';

/** So many changes of the disk ahead a cut is placed at most: a minute's or two. */
const MAX_CHANGES = 60;

export const POWER_TROUBLES: readonly Trouble[] = [
  { name: 'kill', weight: 3, befall: ({ world }) => world.killAgent() },
  {
    name: 'kill in a change',
    weight: 3,
    befall: (stroke) => atChange(stroke, 'the agent is killed', () => stroke.world.killAgent()),
  },
  { name: 'kill in a movement', weight: 2, befall: killInMovement },
  { name: 'power cut', weight: 2, befall: (stroke) => cut(stroke) },
  {
    name: 'power cut in a change',
    weight: 4,
    befall: (stroke) => atChange(stroke, 'the power goes', () => cut(stroke)),
  },
  { name: 'short boots', weight: 1, befall: shortBoots },
  { name: 'stop', weight: 1, befall: ({ world }) => world.stopAgent() },
];

function cut(stroke: Stroke): void {
  const { world, chance } = stroke;
  const kept = chance.pick([0, 0.1, 0.5, 0.9, 1]);
  world.cutPower(within(stroke, chance.magnitude(2 * SECOND_MS, 20 * MINUTE_MS)), kept);
}

function atChange(stroke: Stroke, what: string, act: () => void): void {
  const { world, chance } = stroke;
  const changes = Math.round(chance.magnitude(1, MAX_CHANGES));
  const at = chance.pick<CutAt>(['before', 'inside', 'after']);
  const cancel = world.disk.cutAt(changes, at, () => {
    world.story.tell(`${what} ${at} a change of the disk`);
    act();
  });
  world.timeline.after(within(stroke, 10 * MINUTE_MS), cancel);
}

function killInMovement(stroke: Stroke): void {
  const { world, chance } = stroke;
  const at = chance.pick<Moment>(['before', 'after']);
  const cancel = world.pins.actAt(chance.between(1, 4), at, () => {
    world.story.tell(`the agent is killed ${at} a movement`);
    world.killAgent();
  });
  world.timeline.after(within(stroke, 10 * MINUTE_MS), cancel);
}

/** A bad contact: the power goes again and again, seconds after it came. */
function shortBoots(stroke: Stroke): void {
  const { world, chance, untilMs } = stroke;
  world.story.tell('a bad contact: the power comes and goes');
  for (let left = chance.between(3, 25), atMs = 0; left > 0; left -= 1) {
    const offMs = chance.magnitude(SECOND_MS, 20 * SECOND_MS);
    world.timeline.after(atMs, () => {
      if (world.timeline.nowMs + offMs < untilMs) world.cutPower(offMs, chance.random());
    });
    // A boot takes 15 s, and the agent then has what is left.
    atMs += offMs + chance.magnitude(SECOND_MS, 90 * SECOND_MS);
  }
}
