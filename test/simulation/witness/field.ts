/** State of the field when all is calm: alarms and faults that stand, and what moves without anybody asking. */
import type { Threshold } from '../../../src/telemetry/alarm-thresholds.ts';
import type { Durable } from '../durable.ts';
import { KEY_SWITCH, METER_SHOWS } from '../equipment.ts';
import type { People } from '../people.ts';
import type { World } from '../world.ts';
import { type OnTime, onTimes } from './intervals.ts';
import { refusalOf } from './refusal.ts';
import { few, type Sentence, seconds } from './sentence.ts';

/** From being read to being at the platform or on the disk: a commit's age, and the disk. */
const KEPT_WITHIN_MS = 15_000;
/** So long the value that a rule watches must have been clear. */
const RULE_SETTLED_MS = 3 * 60_000;
/** The key switch is looked at twice a second, and a movement under way is not called back. */
const LOCKED_WITHIN_MS = 2_500;
/** Reasons that keep an output from being switched off: its own hardware, and a least time on. */
const OFF_REFUSED_BY = new Set([
  'disk-stalled',
  'disk-failed',
  'journal-full',
  'journal-unusable',
  'interlocked',
  'locked-out',
  'not-marked',
]);

/** Refusals of the journal when the disk kept it from knowing or from writing. */
const THE_DISKS = new Set(['disk-stalled', 'disk-failed', 'journal-unusable']);
/** So long a disk must have been well: what hung is done by then. */
const DISK_WELL_MS = 60_000;

export const FIELD: readonly Sentence[] = [
  { name: 'what is read in the calm is kept', contradictions: kept },
  { name: 'what is read is at the platform or on a disk that is well within seconds', contradictions: keptLate },
  { name: 'an alarm stands as long as its limit is passed, and no longer', contradictions: alarms },
  { name: 'no sensor that works is said to fail', contradictions: sensorStates },
  { name: 'a register’s value is its own', contradictions: registers },
  { name: 'a rule holds what it says', contradictions: rules },
  { name: 'nothing is switched on while somebody works on the plant', contradictions: locked },
  { name: 'switching off is refused by nothing but the hardware', contradictions: refusedOff },
  { name: 'nothing is refused for the sake of a disk that is well', contradictions: refusedForTheDisk },
];

function kept(world: World): string[] {
  return reportedAtOnce(world).flatMap(({ key, periodMs }) => {
    const newest = newestOf(world, key)?.takenAtMs ?? Number.NEGATIVE_INFINITY;
    const agoMs = world.timeline.nowMs - newest;
    return agoMs > 2 * periodMs + KEPT_WITHIN_MS
      ? [`the newest of ${key} that is durable was taken at ${seconds(newest)}`]
      : [];
  });
}

function keptLate(world: World): string[] {
  return few(
    reportedAtOnce(world).flatMap(({ key }) =>
      takenOf(world, key)
        .filter(({ takenAtMs, toldAtMs }) => toldAtMs - takenAtMs > KEPT_WITHIN_MS)
        .filter(({ takenAtMs, toldAtMs }) => world.diskTroubles.within(takenAtMs - DISK_WELL_MS, toldAtMs) === 0)
        .map(
          ({ takenAtMs, toldAtMs }) =>
            `${key} of ${seconds(takenAtMs)} was nowhere but in memory until ${seconds(toldAtMs)}`,
        ),
    ),
  );
}

/** Keys of sensors that are read at a period, each reading of which is reported as it is. */
function reportedAtOnce({ site }: World): { readonly key: string; readonly periodMs: number }[] {
  return site.config.sensors.flatMap(({ name, keys: { temperature: rules }, window }) => {
    const periodMs = site.periods.get(name);
    if (periodMs === undefined || rules?.rename === undefined || rules.deadband !== undefined || window !== undefined)
      return [];
    return [{ key: rules.rename, periodMs }];
  });
}

function alarms(world: World): string[] {
  const judgesAll = !world.disk.wasFaulty && world.fills.length === 0;
  return world.site.config.sensors.flatMap(({ keys }) =>
    Object.values(keys).flatMap(({ rename = '', alarms: thresholds = [] }) => {
      if (thresholds.length === 0) return [];
      const said = takenOf(world, `${rename}_alarm`);
      let next = 0;
      for (const { entry, takenAtMs } of takenOf(world, rename).slice(judgesAll ? 0 : -1)) {
        while ((said[next]?.takenAtMs ?? Number.POSITIVE_INFINITY) <= takenAtMs) next += 1;
        const words = said[next - 1]?.entry.value;
        if (typeof entry.value !== 'number' || typeof words !== 'string' || wasCutShort(world, takenAtMs)) continue;
        const fault = thresholds.find((threshold) => !isTold(entry.value as number, threshold, words.split(', ')));
        if (fault !== undefined)
          return [`${rename} is ${entry.value} at ${seconds(takenAtMs)}, and its alarm says "${words}"`];
      }
      return [];
    }),
  );
}

/** Within the hysteresis either word is right. */
function isTold(
  value: number,
  { above, below = 0, hysteresis = 0, name }: Threshold,
  words: readonly string[],
): boolean {
  const [called, isPassed, isClear] =
    above === undefined
      ? [`below ${below}`, value < below, value >= below + hysteresis]
      : [`above ${above}`, value > above, value <= above - hysteresis];
  return words.includes(name ?? called) ? !isClear : !isPassed;
}

/** A life ended before all that was taken then can have been durable. */
function wasCutShort({ lives }: World, atMs: number): boolean {
  return lives.ends.some((endMs) => endMs >= atMs && endMs <= atMs + KEPT_WITHIN_MS);
}

function sensorStates(world: World): string[] {
  const failing = new Set(
    world.life?.agent?.status().sensors.flatMap(({ name, state }) => (state === 'failing' ? [name] : [])),
  );
  return world.site.config.sensors.flatMap(({ name }) => {
    const said = newestOf(world, `${name}_state`)?.entry.value;
    return typeof said === 'string' && said.startsWith('failing') && !failing.has(name)
      ? [`${name} works, and is "${said}"`]
      : [];
  });
}

/** Whatever came late, or for somebody else. */
function registers(world: World): string[] {
  return few(
    Object.entries(METER_SHOWS).flatMap(([key, shown]) =>
      takenOf(world, key)
        .filter(({ entry }) => entry.value !== shown)
        .map(
          ({ entry, takenAtMs }) =>
            `${key} is ${JSON.stringify(entry.value)} at ${seconds(takenAtMs)}, and the meter shows ${shown}`,
        ),
    ),
  );
}

function rules(world: World): string[] {
  return world.site.config.rules.flatMap(({ name, when, set }) => {
    const output = world.site.outputs.find((one) => one.name === set.actuator);
    const { sensor, key, above, hysteresis = 0 } = when ?? {};
    if (output === undefined || sensor === undefined || key === undefined || above === undefined) return [];
    const values = takenOf(world, key)
      .filter(({ entry }) => typeof entry.value === 'number')
      .map(({ entry, takenAtMs }) => ({ value: Number(entry.value), atMs: takenAtMs }));
    const times = onTimes(world, output.line);
    let first = 0;
    for (const [n, { value, atMs }] of values.entries()) {
      while ((values[first]?.atMs ?? atMs) < atMs - RULE_SETTLED_MS) first += 1;
      const seen = values.slice(first, n + 1);
      const due = seen.every((one) => one.value > above)
        ? true
        : seen.every((one) => one.value <= above - hysteresis)
          ? false
          : undefined;
      const isOn = times.some(({ fromMs, untilMs }) => fromMs <= atMs && atMs < untilMs);
      const time = { fromMs: atMs - RULE_SETTLED_MS, untilMs: atMs };
      // A sensor that was taken out took the rule's turn with it.
      const isWatched = !world.configuration.isWithout(sensor, time.fromMs, time.untilMs);
      // Readings that have just begun again, after a bus that hung, settle nothing.
      const isSettled = seen.length >= 3 && atMs - (seen[0]?.atMs ?? atMs) >= RULE_SETTLED_MS / 2;
      if (isSettled && due !== undefined && due !== isOn && isWatched && isLeftAlone(world, time))
        return [`${name}: ${output.name} is ${isOn ? 'on' : 'off'} at ${seconds(atMs)}, and ${key} is ${value}`];
    }
    return [];
  });
}

/** True when an agent ran all the time, its hardware did as it was told, and nobody worked on the plant. */
function isLeftAlone(world: World, time: OnTime): boolean {
  const meets = ({ fromMs, untilMs }: OnTime): boolean => fromMs < time.untilMs && untilMs > time.fromMs;
  const hasBegun = world.lives.starts.some(({ untilMs }) => untilMs <= time.fromMs);
  return !(
    !hasBegun ||
    world.lives.ends.some((endMs) => endMs >= time.fromMs && endMs <= time.untilMs) ||
    world.hinderedMs(time.fromMs, time.untilMs) > 0 ||
    world.pins.muteTimes.some(meets) ||
    onTimes(world, KEY_SWITCH).some(meets)
  );
}

function locked(world: World): string[] {
  if (world.site.config.rpc.lockout.line === undefined) return [];
  const turned = onTimes(world, KEY_SWITCH);
  const faults = world.site.outputs
    // A safe state is taken all the same.
    .filter(({ safeStart, safeStop }) => safeStart !== true && safeStop !== true)
    .flatMap(({ name, line }) =>
      onTimes(world, line)
        .filter(({ fromMs }) => turned.some((key) => fromMs > key.fromMs + LOCKED_WITHIN_MS && fromMs < key.untilMs))
        .map(({ fromMs }) => `${name} went on at ${seconds(fromMs)}`),
    );
  return few(faults);
}

function refusedOff(_world: World, people: People): string[] {
  return few(
    people.commands
      .filter(({ method, params }) => method === 'setActuator' && params.value === false)
      .filter((command) => OFF_REFUSED_BY.has(refusalOf(command) ?? ''))
      .map((command) => `${String(command.params.name)} at ${seconds(command.atMs)}: ${refusalOf(command)}`),
  );
}

function refusedForTheDisk({ diskTroubles }: World, { commands }: People): string[] {
  return few(
    commands
      .filter((command) => THE_DISKS.has(refusalOf(command) ?? ''))
      .filter(({ atMs, answeredAtMs = atMs }) => diskTroubles.within(atMs - DISK_WELL_MS, answeredAtMs + 1) === 0)
      .map((command) => `${command.method} at ${seconds(command.atMs)}: ${refusalOf(command)}`),
  );
}

/** Returns the newest durable entry of a key. */
function newestOf({ durable }: World, key: string): Durable | undefined {
  let newest: Durable | undefined;
  for (const one of durable)
    if (one.entry.key === key && one.takenAtMs >= (newest?.takenAtMs ?? Number.NEGATIVE_INFINITY)) newest = one;
  return newest;
}

/** Returns all durable entries of a key, oldest first. */
function takenOf({ durable }: World, key: string): Durable[] {
  return durable.filter(({ entry }) => entry.key === key).sort((a, b) => a.takenAtMs - b.takenAtMs);
}
