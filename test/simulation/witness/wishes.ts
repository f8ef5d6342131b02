/** Wishes at the platform, and what the actuator does. */
import type { People, Wish } from '../people.ts';
import type { World } from '../world.ts';
import { isOnAt } from './intervals.ts';
import { few, type Sentence, seconds } from './sentence.ts';

/** From a wish to its movement when nothing is wrong. */
const DONE_WITHIN_MS = 5_000;

/** Where pins hang for 10 s meanwhile: it is tried again. */
const DONE_AFTER_HANGING_MS = 60_000;

export const WISHES: readonly Sentence[] = [
  {
    name: 'when all is calm, a wish is done at once or when it can be, or the platform is told why it is not',
    contradictions: calm,
  },
  {
    name: 'when all is calm, a setting holds from when it is set until it is taken back, also after a restart',
    contradictions: (_world, people) =>
      people.settings.flatMap(({ atMs, key, due, found }) =>
        found === due ? [] : [`${key} is ${JSON.stringify(found)} at ${seconds(atMs)}, and not ${JSON.stringify(due)}`],
      ),
  },
  { name: 'the last wish is done, or the platform is told why it is not', contradictions: last },
];

/** The first one may be what stood there before. */
function calm(world: World, people: People): string[] {
  const probes = people.wishes.filter(({ isProbe }) => isProbe);
  return few(
    probes.slice(1).flatMap(({ atMs, name, value, under, told }, n) => {
      const untilMs = probes[n + 2]?.atMs ?? world.timeline.nowMs;
      if (under === 'failing disk' && world.disk.wasFaulty) return restarted(world, { atMs, name, untilMs, told });
      const hasLockout = world.site.config.rpc.lockout.line !== undefined;
      // While pins hang nobody can read the key switch either, and what cannot be read locks.
      const isLocked = hasLockout && (under === 'key switch' || (under === 'hung pins' && typeof told === 'string'));
      const due = isLocked ? false : value;
      const within = under === 'hung pins' ? DONE_AFTER_HANGING_MS : DONE_WITHIN_MS;
      if (isOn(world, name, atMs + within) !== due || isOn(world, name, untilMs) !== due)
        return [
          `${name} was to be ${due === true ? 'on' : 'off'} from ${seconds(atMs + within)} to ${seconds(untilMs)}`,
        ];
      return isLocked && typeof told !== 'string'
        ? [`nobody is told why the wish of ${seconds(atMs)} for ${name} is not done`]
        : [];
    }),
  );
}

/** A wish that was done before a restart, and kept, is not done again by it, and is not said to be refused. */
function restarted(
  world: World,
  { atMs, name, untilMs, told }: Pick<Wish, 'atMs' | 'name' | 'told'> & { readonly untilMs: number },
): string[] {
  const from = seconds(atMs);
  if (isOn(world, name, atMs + DONE_WITHIN_MS) !== true) return [`${name} was to be on from ${from}`];
  if (isOn(world, name, untilMs) === true)
    return [`what was wished for ${name} at ${from} is done again after a restart`];
  return typeof told === 'string' ? [`what was done for ${name} at ${from} is refused after a restart: ${told}`] : [];
}

/** Checks the wishes from before the calm's own, at the time when these begin. */
function last(world: World, people: People): string[] {
  const judgedAtMs = people.wishes.find(({ isProbe }) => isProbe)?.atMs;
  if (judgedAtMs === undefined) return [];
  const wishes = people.wishes.filter(({ isProbe }) => !isProbe);
  const wish = wishes.at(-1);
  if (wish === undefined || typeof wish.value !== 'boolean') return [];
  // A movement by a wish is not made again by a restart, nor by the same wish after it; with the device the wish is gone.
  const first = wishes.find(({ value }) => value === wish.value) ?? wish;
  if ([...world.lives.ends, ...world.identity.removals].some((endMs) => endMs > first.atMs)) return [];
  const { name, value, atMs } = wish;
  if (isOn(world, name, judgedAtMs) === value) return [];
  const told = people.refusedBeforeProbes[name];
  return typeof told === 'string'
    ? []
    : [`${name} is not ${value ? 'on' : 'off'}, as was wished at ${seconds(atMs)}, and nobody is told why`];
}

function isOn(world: World, name: string, atMs: number): boolean | undefined {
  const output = world.site.outputs.find((one) => one.name === name);
  return output === undefined ? undefined : isOnAt(world, output.line, atMs);
}
