/** The board's clock: stepped, wrong from the boot on, synchronised late or not at all. */
import { HOUR_MS, lasting, MINUTE_MS, SECOND_MS, type Stroke, type Trouble, within } from './stroke.ts';

const DAY_MS = 24 * HOUR_MS;

export const CLOCK_TROUBLES: readonly Trouble[] = [
  {
    name: 'clock step',
    weight: 1,
    befall: (stroke) => {
      const byMs = stroke.chance.pick([-1, 1]) * stroke.chance.magnitude(SECOND_MS, 3 * HOUR_MS);
      wrong(stroke, `the clock steps by ${inWords(byMs)}`, byMs, 30 * MINUTE_MS);
      // A boot that knows no other time.
      if (stroke.chance.happens(0.4)) stroke.world.cutPower(within(stroke, 2 * SECOND_MS), 1);
    },
  },
  { name: 'leap second', weight: 1, befall: (stroke) => wrong(stroke, 'a leap second', SECOND_MS, SECOND_MS) },
  { name: 'no clock battery', weight: 3, befall: noBattery },
];

function wrong(stroke: Stroke, words: string, byMs: number, maxMs: number): void {
  const { world } = stroke;
  lasting(stroke, words, maxMs, () => world.wall.setWrong({ byMs, isKnown: false }));
}

/** A boot whose clock goes on where it stood, or begins in another year, until it is synchronised. */
function noBattery(stroke: Stroke): void {
  const { world, chance } = stroke;
  const offMs = within(stroke, chance.magnitude(2 * SECOND_MS, 20 * MINUTE_MS));
  const byMs = chance.pick([
    -offMs,
    -chance.magnitude(MINUTE_MS, DAY_MS),
    -chance.magnitude(DAY_MS, 2_000 * DAY_MS),
    chance.magnitude(MINUTE_MS, 400 * DAY_MS),
    chance.magnitude(100 * DAY_MS, 3_000 * DAY_MS),
  ]);
  const leftMs = stroke.untilMs - world.timeline.nowMs;
  const untilMs = chance.happens(0.2) ? leftMs : within(stroke, offMs + chance.magnitude(SECOND_MS, 2 * HOUR_MS));
  if (!world.cutPower(offMs, 1)) return;
  world.story.tell(
    `the clock will be wrong by ${inWords(byMs)}, until it is synchronised in ${Math.round(untilMs / SECOND_MS)} s`,
  );
  const synchronise = world.wall.setWrong({ byMs, isKnown: true });
  world.timeline.after(untilMs, () => {
    world.story.tell('the clock is synchronised');
    synchronise();
  });
}

function inWords(ms: number): string {
  const size = Math.abs(ms);
  const unit = [
    ['days', DAY_MS],
    ['hours', HOUR_MS],
    ['minutes', MINUTE_MS],
    ['s', SECOND_MS],
  ] as const;
  const [name, unitMs] = unit.find(([, one]) => size >= 2 * one) ?? ['ms', 1];
  return `${(ms / unitMs).toFixed(1)} ${name}`;
}
