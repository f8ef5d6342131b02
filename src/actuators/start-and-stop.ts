/**
 * What each pin gets when the agent starts and when it stops. First everything that is switched off, then what is switched on, under interlocks.
 * Hardware that does not answer holds up the start for a few seconds at most: what is left is done beside everything else, until somebody has
 * asked for something else or the agent stops.
 */
import { AgentError, hasCode, messageOf } from '../errors.ts';
import { endedWithin } from '../host/bounded-wait.ts';
import { type ActuatorValue, isActive, offValue } from './actuator.ts';
import type { ActuatorControlDeps } from './actuator-control.ts';
import type { ActuatorSlot } from './actuator-slot.ts';
import type { SafeState, SafeStates } from './safe-states.ts';

export interface StartDeps extends Pick<ActuatorControlDeps, 'memory' | 'locked' | 'clock' | 'log'> {
  /** Through the same gates as everyone. */
  readonly restore: (slot: ActuatorSlot, value: ActuatorValue) => Promise<void>;
  readonly safeStates: SafeStates;
  readonly closing: AbortSignal;
  /** Resolves when it is known what the hardware shows, or that it does not say. */
  readonly looked: (slot: ActuatorSlot) => Promise<void>;
}

/** How soon a refused restoring is tried again. */
const RESTORE_AGAIN_AFTER_MS = 10_000;
/** Hardware that does not say what it shows is switched off all the same. */
const LOOK_WITHIN_MS = 1_000;
/** Before something is switched on: what is not known counts as on for the others. */
const LOOK_AT_ALL_WITHIN_MS = 10_000;
/** How long what comes next waits for one that is restored. */
const RESTORE_WITHIN_MS = 3_000;
/** How long the start waits for what is switched on. */
const SWITCH_ON_WITHIN_MS = 5_000;

/** Resolves when every pin has got its state, has refused it for now, or does not answer. Never rejects. */
export async function setStartStates(slots: readonly ActuatorSlot[], deps: StartDeps): Promise<void> {
  const { safeStates, looked, clock, closing } = deps;
  const restored = slots.flatMap((slot) => restoredValue(slot, deps));
  const kept = new Set(restored.map(({ slot }) => slot));
  const safe = slots.filter((slot) => !kept.has(slot)).flatMap((slot) => startValue(slot, deps));
  const isOff = ({ value }: SafeState): boolean => !isActive(value);
  const before = new Map(slots.map((slot) => [slot, slot.record.writes]));
  // Not what a silence or the longest time on has switched off meanwhile, nor what somebody has asked for since.
  const isOn = (one: SafeState): boolean => !isOff(one) && !one.slot.record.isClaimed && one.slot.record.writes === before.get(one.slot);
  const switchOn = async (): Promise<void> => {
    await endedWithin(clock, LOOK_AT_ALL_WITHIN_MS, Promise.all(slots.map(looked)));
    await safeStates.setAll(safe.filter(isOn), 'start', closing);
    for (const one of restored) if (isOn(one)) await endedWithin(clock, RESTORE_WITHIN_MS, restore(one, deps));
  };
  // Each by itself: what is to be off waits for no other hardware that is slow to say what it shows.
  await Promise.all([
    ...safe.filter(isOff).map(async ({ slot, value }) => {
      await endedWithin(clock, LOOK_WITHIN_MS, looked(slot));
      await safeStates.set(slot, value, 'start');
    }),
    ...restored.filter(isOff).map(async (one) => {
      await endedWithin(clock, LOOK_WITHIN_MS, looked(one.slot));
      await endedWithin(clock, RESTORE_WITHIN_MS, restore(one, deps));
    }),
  ]);
  await endedWithin(clock, SWITCH_ON_WITHIN_MS, switchOn());
}

/** What is declared for a stop; off for what does not take it yet, and for what only this process would have switched off later. */
export function stopValue(slot: ActuatorSlot): readonly SafeState[] {
  const { settings, record } = slot;
  const owed = record.refusesOff ? record.state.desired : record.mark === undefined ? undefined : offValue(settings);
  const value = settings.safe.stop ?? owed;
  return value === undefined ? [] : [{ slot, value }];
}

/** A pulse that a kill has cut short ends here; a longest time on goes on being counted. */
function startValue(slot: ActuatorSlot, { memory }: StartDeps): readonly SafeState[] {
  const { settings } = slot;
  const value =
    silencedValue(slot, memory) ?? settings.safe.start ?? (memory.leftMark(settings)?.pulse === true ? offValue(settings) : undefined);
  return value === undefined ? [] : [{ slot, value }];
}

/** Instead of what would be restored: power that flickers does not end a silence. */
function silencedValue({ settings }: ActuatorSlot, memory: StartDeps['memory']): ActuatorValue | undefined {
  return settings.restore && memory.lastOf(settings.name).isSilenced === true ? settings.safe.noContact?.value : undefined;
}

/** Under lockout only what is off: nothing begins to run because a gateway restarts while someone works on the machine. */
function restoredValue(slot: ActuatorSlot, { memory, locked }: StartDeps): readonly SafeState[] {
  if (silencedValue(slot, memory) !== undefined) return [];
  const value = slot.settings.restore ? memory.lastOf(slot.settings.name).value : undefined;
  return value === undefined || (isActive(value) && locked()) ? [] : [{ slot, value }];
}

/** What a gate forbids for now (a compressor's least time off) is tried again until someone else writes. */
async function restore({ slot, value }: SafeState, deps: StartDeps, refusedBefore?: string): Promise<void> {
  const { log, clock, closing, safeStates } = deps;
  const { record } = slot;
  const before = record.writes;
  try {
    await deps.restore(slot, value);
  } catch (error) {
    if (closing.aborted) return;
    const refusal = error instanceof AgentError ? error.code : messageOf(error);
    // Said once for each reason: a compressor may have to wait for hours.
    if (refusal !== refusedBefore) log.warn({ actuator: slot.settings.name, error: messageOf(error) }, 'an actuator was not restored');
    // Somebody waits for this try to end, or has written beside it.
    if (record.isClaimed || (record.writes !== before && record.state.by !== 'restore')) return;
    // Who went first has set another state.
    if (refusedBefore === undefined && !hasCode(error, 'actuators/overridden')) await safeStates.setAll(startValue(slot, deps), 'start');
    if (!(error instanceof AgentError) || error.recovery !== 'retry') return;
    const { writes } = record;
    void clock.sleep(RESTORE_AGAIN_AFTER_MS, closing).then(async () => {
      if (record.writes === writes && !record.isClaimed && !closing.aborted) await restore({ slot, value }, deps, refusal);
    });
  }
}
