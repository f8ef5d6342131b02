/**
 * How outputs begin: each finds its slots as far as they outlive what was before, and follows them. First everything that is to be off, then,
 * once all hardware was looked at, what is to be on, in the order of the file. Hardware that does not answer holds up the start for a few
 * seconds at most.
 */
import { endedWithin } from '../host/bounded-wait.ts';
import type { Clock } from '../host/clock.ts';
import type { ActuatorMemory } from './actuator-memory.ts';
import { type ActuatorSettings, isActive } from './kind/actuator.ts';
import type { Output } from './output.ts';
import { arbitrate } from './priority-array.ts';

export interface OutputStartDeps {
  readonly memory: ActuatorMemory;
  readonly clock: Clock;
  /** Resolves when it is known what the hardware shows, or that it does not say. */
  readonly looked: (output: Output) => Promise<void>;
}

/** Hardware that does not say what it shows is switched off all the same. */
const LOOK_WITHIN_MS = 1_000;
/** Before something is switched on: what is not known counts as on for the others. */
const LOOK_AT_ALL_WITHIN_MS = 10_000;
/** How long the start waits for one that is switched off, and for all that are switched on. */
const OFF_WITHIN_MS = 3_000;
const ON_WITHIN_MS = 5_000;

/** Resolves when every output has taken its state, has refused it for now, or does not answer. Never rejects. */
export async function beginOutputs(
  outputs: readonly Output[],
  { memory, clock, looked }: OutputStartDeps,
): Promise<void> {
  for (const output of outputs) prepare(output, memory);
  const goesOn = (output: Output): boolean => isActive(arbitrate(output.slots)?.value ?? false);
  await Promise.all(
    outputs.map(async (output) => {
      if (goesOn(output)) return;
      await endedWithin(clock, LOOK_WITHIN_MS, looked(output));
      // A command may have come meanwhile.
      if (!goesOn(output)) await endedWithin(clock, OFF_WITHIN_MS, output.begin());
    }),
  );
  const switchOn = async (): Promise<void> => {
    await endedWithin(clock, LOOK_AT_ALL_WITHIN_MS, Promise.all(outputs.map(looked)));
    await Promise.all(outputs.map((output) => output.begin()));
  };
  await endedWithin(clock, ON_WITHIN_MS, switchOn());
}

function prepare(output: Output, memory: ActuatorMemory): void {
  const { settings, slots } = output;
  const { isSameBoot, wasClosed } = memory.outputs;
  const mark = memory.leftMark(settings);
  // Off outlives a crash: only a command to switch on may have been taken back by the hook; and off by one that is not written again.
  const isTakenBack =
    isActive(slots.operator?.value ?? false) || (settings.writtenOnce === true && hookSetsOn(settings));
  const isCut = !wasClosed && isTakenBack && isSetByHook(settings, mark !== undefined);
  if (!isSameBoot || isCut) leaveOperator(output);
  const restored = settings.restore && output.slot.unanswered === undefined ? slots.left : undefined;
  output.note({ kind: 'started', start: restored ?? settings.safe.start });
  if (settings.safe.noContact === undefined) output.note({ kind: 'heard' });
  // A pulse that a kill has cut short ends here; a longest time on goes on being counted.
  if (mark?.pulse === true) output.note({ kind: 'pulseEnded' });
  if (wasClosed || !isSetByHook(settings, mark !== undefined)) output.resume(memory.hadBy(settings));
}

/** Once a safe state was set an operator's word is over, but for a time that is left of it. */
export function leaveOperator(output: Output): void {
  if (output.slots.operator !== undefined && output.slots.operator.untilMs === undefined)
    output.note({ kind: 'released', why: 'safe state' });
}

/** After an end of whatever kind: what is declared, and off for what was left to be switched off. */
function isSetByHook({ safe, limits }: ActuatorSettings, isMarked: boolean): boolean {
  return safe.stop !== undefined || safe.crash !== undefined || limits.maxOnMs !== undefined || isMarked;
}

function hookSetsOn({ safe }: ActuatorSettings): boolean {
  return [safe.stop, safe.crash].some((value) => value !== undefined && isActive(value));
}
