/**
 * Outputs against the table of slots (docs/outputs.md), as seen from outside: what people's answered commands and the agent's starts have filled,
 * and what each output shows while nothing new happens. An output of which nobody outside can tell what fills it is not judged.
 */
import { KEY_SWITCH, type Output } from '../equipment.ts';
import type { Command, People } from '../people.ts';
import type { World } from '../world.ts';
import { isOnAt, type OnTime, onTimes } from './intervals.ts';
import { refusalOf } from './refusal.ts';
import { few, type Sentence, seconds } from './sentence.ts';

/** From what fills or empties a slot to what the output shows. */
const FOLLOWS_WITHIN_MS = 6_000;
/** After a start a least time off is waited for. */
const STARTS_WITHIN_MS = 30_000;
/** A command without an answer may still move, also by the next life. */
const MAY_MOVE_FOR_MS = 60_000;
/** Readings of a sensor that must be missing before it counts as lost. */
const MISSED_VALUES = 3;
/** Refusals that fill nothing. */
const GATES = new Set([
  'locked-out',
  'interlocked',
  'min-on',
  'min-off',
  'too-many-switches',
  'max-on',
  'protected',
  'out-of-range',
  'closing',
]);

/** A slot as far as it can be told: true, false, nothing filled, or anything. */
type Told = boolean | 'empty' | 'any';

interface Step {
  readonly atMs: number;
  readonly operator: (before: Told) => Told;
  readonly isStart?: boolean;
}

export const SLOTS: readonly Sentence[] = [
  { name: 'an output shows the highest of its filled slots', contradictions: slots },
  { name: 'a rule that has lost its sensor leaves its output off', contradictions: lostSensors },
];

function slots(world: World, people: People): string[] {
  // Rules, pulses and shared attributes have sentences of their own.
  const judged = world.site.outputs.filter(({ use, name }) => use === 'set' || use === 'toggled' || name === 'pump');
  return few(judged.flatMap((output) => contradictionsOf(world, output, stepsOf(world, output, people))));
}

/** Everything that may fill or empty the operator's slot, in its order. */
function stepsOf(world: World, { name, safeStop, maxOnMs }: Output, { commands }: People): readonly Step[] {
  const isLeft = safeStop === undefined && maxOnMs === undefined;
  const { stops } = world.lives;
  const { bootedAtMs } = world.boots;
  const starts = world.lives.starts.map(({ fromMs, untilMs }): Step => {
    const endMs = world.lives.ends.findLast((atMs) => atMs <= fromMs) ?? Number.NEGATIVE_INFINITY;
    const isBoot = bootedAtMs.some((atMs) => atMs >= endMs && atMs <= fromMs);
    // A disk that fails about a start gives nobody its slots.
    if (world.diskTroubles.within(endMs - MAY_MOVE_FOR_MS, untilMs + 1) > 0)
      return { atMs: untilMs, operator: () => 'any', isStart: true };
    // Off outlives a crash.
    const isKilled = !stops.includes(endMs);
    return {
      atMs: untilMs,
      operator: (before) =>
        isBoot || (!isLeft && !(isKilled && (before === false || before === 'any'))) ? 'empty' : before,
      isStart: true,
    };
  });
  const given = commands.filter(({ params }) => params.name === name);
  const steps = given.flatMap((command) => commandSteps(command, world.lives.ends));
  return [...starts, ...steps].sort((a, b) => a.atMs - b.atMs);
}

function commandSteps(command: Command, ends: readonly number[]): Step[] {
  const { atMs, answeredAtMs, answer, oneway } = command;
  const value = valueIn(answer);
  const isMeanwhile = (endMs: number): boolean => endMs >= atMs && endMs <= (answeredAtMs ?? 0);
  const began: Step = { atMs, operator: () => 'any' };
  if (!oneway && answeredAtMs !== undefined && value !== undefined)
    // The answer of a life before tells what was done in it.
    return [began, { atMs: answeredAtMs, operator: () => (ends.some(isMeanwhile) ? 'any' : value) }];
  const isRefused = answeredAtMs !== undefined && GATES.has(refusalOf(command) ?? '');
  return isRefused ? [] : [began, { atMs: atMs + MAY_MOVE_FOR_MS, operator: () => 'any' }];
}

function contradictionsOf(world: World, output: Output, steps: readonly Step[]): string[] {
  const { name, line, maxOnMs, safeStart } = output;
  const faults: string[] = [];
  let operator: Told = 'any';
  let vagueUntilMs = Number.NEGATIVE_INFINITY;
  for (const [n, step] of steps.entries()) {
    operator = step.operator(operator);
    if (operator === 'any') vagueUntilMs = Math.max(vagueUntilMs, step.atMs);
    if (step.isStart === true && step.atMs < vagueUntilMs + MAY_MOVE_FOR_MS) vagueUntilMs = step.atMs + MAY_MOVE_FOR_MS;
    const due = operator === 'empty' ? (safeStart ?? 'any') : operator;
    const fromMs = Math.max(step.atMs + (step.isStart === true ? STARTS_WITHIN_MS : FOLLOWS_WITHIN_MS), vagueUntilMs);
    const untilMs = (steps[n + 1]?.atMs ?? world.timeline.nowMs) - FOLLOWS_WITHIN_MS;
    if (due === 'any' || untilMs <= fromMs || !isLeftAlone(world, { fromMs: step.atMs, untilMs })) continue;
    // A limit empties it by itself, and what the key switch holds back starts later.
    if (
      due &&
      (maxOnMs !== undefined ||
        onTimes(world, KEY_SWITCH).some((one) => one.fromMs < untilMs && one.untilMs > step.atMs))
    )
      continue;
    const wrong = [fromMs, untilMs].find((atMs) => isOnAt(world, line, atMs) !== due);
    if (wrong !== undefined)
      faults.push(`${name} is ${due ? 'off' : 'on'} at ${seconds(wrong)}, by what happened at ${seconds(step.atMs)}`);
  }
  return faults;
}

/** True when an agent ran all the time, and its hardware did as it was told. */
function isLeftAlone(world: World, { fromMs, untilMs }: OnTime): boolean {
  return (
    world.hinderedMs(fromMs, untilMs) === 0 &&
    !world.lives.ends.some((endMs) => endMs >= fromMs && endMs <= untilMs) &&
    !world.pins.muteTimes.some((mute) => mute.fromMs <= untilMs && mute.untilMs >= fromMs)
  );
}

/** Returns the value that a command was answered with; undefined for a refusal, and for what an interrupted one is said to have done. */
function valueIn(answer: Command['answer']): boolean | undefined {
  if (typeof answer !== 'object' || answer === null || !('result' in answer)) return undefined;
  const { result } = answer as { readonly result: unknown };
  if (typeof result !== 'object' || result === null || 'interrupted' in result || !('value' in result))
    return undefined;
  return typeof result.value === 'boolean' ? result.value : undefined;
}

function lostSensors(world: World): string[] {
  const faults = world.site.config.rules.flatMap(({ when, set, sensorLost }) => {
    const output = world.site.outputs.find((one) => one.name === set.actuator);
    const sensor = when?.sensor ?? '';
    const periodMs = world.site.periods.get(sensor);
    // A rule that says something of a lost sensor is judged by what it says.
    if (output === undefined || periodMs === undefined || sensorLost !== undefined) return [];
    const told = world.durable
      .filter(({ entry }) => entry.key === `${sensor}_state`)
      .sort((a, b) => a.takenAtMs - b.takenAtMs);
    return told.flatMap(({ entry, takenAtMs }, n) => {
      const fromMs = takenAtMs + (MISSED_VALUES + 1) * 2 * periodMs + FOLLOWS_WITHIN_MS;
      const untilMs = (told[n + 1]?.takenAtMs ?? world.timeline.nowMs) - FOLLOWS_WITHIN_MS;
      const isFailing = typeof entry.value === 'string' && entry.value.startsWith('failing:');
      if (!isFailing || untilMs <= fromMs || !isLeftAlone(world, { fromMs: takenAtMs, untilMs })) return [];
      return isOnAt(world, output.line, untilMs)
        ? [`${output.name} is on at ${seconds(untilMs)}, and ${sensor} fails`]
        : [];
    });
  });
  return few(faults);
}
