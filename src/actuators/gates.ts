/**
 * Gates that keep a movement from being made: the agent's stop, lockout, value, times, interlocks. Off passes all but the value and the least time
 * on that was asked for; a safe state passes all but the interlocks, which say "never both": an actuator is not activated while one that excludes
 * it is, may be, or is about to be active.
 */
import type { AgentError } from '../errors/agent-error.ts';
import { sentence } from '../names/sentences.ts';
import { toldError } from '../names/told-error.ts';
import { checkTimes, checkValue, restEndsMs } from './actuator-limits.ts';
import type { ActuatorControlDeps } from './control-deps.ts';
import { type ActuatorSettings, type ActuatorValue, isActive, type Writer } from './kind/actuator.ts';
import type { PinRecord } from './pin-record.ts';

/** An actuator as far as others ask whether it is on. */
export type Excluder = Pick<PinRecord, 'settings' | 'mayBeActive' | 'value' | 'refusesOff' | 'offSinceMs'>;

export interface GatesDeps extends Pick<ActuatorControlDeps, 'locked' | 'clock'> {
  readonly records: readonly Excluder[];
  readonly closing: AbortSignal;
}

/** Writers that lockout stops; a person on site holds the key. */
const REMOTE: ReadonlySet<Writer> = new Set(['rpc', 'shared', 'rule', 'restore']);

export class Gates {
  readonly #deps: GatesDeps;

  constructor(deps: GatesDeps) {
    this.#deps = deps;
  }

  /** All of them, before anything is claimed. @throws AgentError `actuators/…` that names the gate. */
  check(record: PinRecord, value: unknown, by: Writer): ActuatorValue {
    const checked = checkValue(record.settings, value);
    if (this.#deps.closing.aborted) throw closing();
    this.permit(record, checked, by);
    checkTimes(record, checked, this.#deps.clock.monotonicMs());
    return checked;
  }

  /** Those that may close between the asking and the moving. @throws AgentError as `check` does. */
  permit(record: PinRecord, value: ActuatorValue, by: Writer): void {
    const { records, locked } = this.#deps;
    if (this.#deps.closing.aborted && by !== 'safe-state') throw closing();
    if (!isActive(value)) return;
    if (REMOTE.has(by) && locked())
      throw toldError('actuators/locked-out', sentence('lockedOut', { output: record.settings.name }), {
        recovery: 'hold',
      });
    checkInterlocks(record, records, this.#deps.clock.monotonicMs());
  }

  /** Time until the first gate that only time keeps closed opens; infinite where none is. */
  opensInMs(record: PinRecord, value: ActuatorValue): number {
    const nowMs = this.#deps.clock.monotonicMs();
    const gapsEndMs = (isActive(value) ? this.#deps.records : []).map(
      ({ settings, offSinceMs = Number.NEGATIVE_INFINITY }) =>
        offSinceMs + (gapBetween(record.settings, settings) ?? 0),
    );
    const endsMs = [...gapsEndMs, restEndsMs(record, value)].filter((atMs) => atMs > nowMs);
    return Math.min(...endsMs) - nowMs;
  }
}

function closing(): AgentError {
  return toldError('actuators/closing', sentence('agentStops'), { recovery: 'drop' });
}

/** @throws AgentError `actuators/interlocked` (retry) that names the other. */
function checkInterlocks(pin: PinRecord, all: Iterable<Excluder>, nowMs: number): void {
  const other = excluderOf(pin, all, nowMs);
  if (other === undefined) return;
  const why = !other.mayBeActive
    ? sentence('hasJustGoneOff')
    : other.value === undefined
      ? sentence('stateNotKnown')
      : sentence('isActive');
  throw toldError(
    'actuators/interlocked',
    sentence('interlocked', { output: pin.settings.name, other: other.settings.name, why }),
    { recovery: 'retry' },
  );
}

/** One that the configuration has disabled: nobody asks it, so that it is not known to be off. */
export function disabledExcluder(settings: ActuatorSettings): Excluder {
  return { settings, mayBeActive: true, value: undefined, refusesOff: false, offSinceMs: undefined };
}

/** Whichever keeps it from being activated; undefined when nothing does. */
export function excluderOf(pin: PinRecord, all: Iterable<Excluder>, nowMs: number): Excluder | undefined {
  for (const other of all) {
    const gapMs = gapBetween(pin.settings, other.settings);
    if (gapMs !== undefined && (other.mayBeActive || nowMs - (other.offSinceMs ?? nowMs) < gapMs)) return other;
  }
  return undefined;
}

/** How long one must have been off before the other goes on; undefined where they do not exclude each other. */
function gapBetween(one: ActuatorSettings, other: ActuatorSettings): number | undefined {
  const theirs = (of: ActuatorSettings, { name }: ActuatorSettings): number[] =>
    of.neverWith.flatMap(({ with: named, gapMs }) => (named === name ? [gapMs] : []));
  const gaps = [...theirs(one, other), ...theirs(other, one)];
  return gaps.length === 0 ? undefined : Math.max(...gaps);
}
