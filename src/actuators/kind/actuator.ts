/** Types of an actuator: something that takes a value and moves. Kinds differ in their driver only; every rule lies above it. */
import type { z } from 'zod';
import type { actuatorFields } from '../../config/fields/actuator-fields.ts';
import type { JsonValue } from '../../values/json.ts';
import type { ValueShape } from '../../values/value-shape.ts';

/** `true` and `false` for what switches, a number for what is set, a text for what is told. */
export type ActuatorValue = boolean | number | string;

/** Writer of a value. The first three come from afar or act by themselves, and are stopped by lockout; `local` is a person on site. */
export type Writer = 'rpc' | 'shared' | 'rule' | 'local' | 'restore' | 'safe-state';

/** Takes the state behind a write; undefined for one that was refused, with the reason. */
export type LateAnswer = (value: ActuatorValue | undefined, refusal?: string) => void;

/** One kind's way to the hardware. */
export interface ActuatorDriver {
  /** Resolves when the hardware has taken the value. @throws AgentError (retry): it may or may not have moved; `hardware/outcome-unknown`: it may still move later. */
  write(value: ActuatorValue, signal: AbortSignal): Promise<void>;
  /** Reads what the hardware shows; absent when it cannot be asked. */
  readonly read?: (signal: AbortSignal) => Promise<ActuatorValue>;
  /** Reads what the hardware shows after a write without an answer; where absent, `read` does. */
  readonly readLate?: (signal: AbortSignal) => Promise<ActuatorValue>;
  /** Calls back, until it is closed, when the hardware was unplugged: powered by its port, it comes back without what it has taken. */
  readonly onUnplug?: (listener: (why: string) => void) => void;
  /** Calls back, until it is closed, when the hardware or its line is back after an outage: it may hold what it starts with. */
  readonly onReturn?: (listener: () => void) => void;
  /** Calls back, until it is closed, when a write that had no answer is answered after all. */
  readonly onLateAnswer?: (listener: LateAnswer) => void;
  /** True for what makes its connection again by itself: it is not opened anew after faults. */
  readonly mendsItself?: boolean;
  /** Leaves the hardware as it is. Idempotent. */
  close(): Promise<void>;
}

export type ActuatorLimits = z.infer<typeof actuatorFields.limits> & {
  /** Default 60 s. */
  readonly maxPulseMs?: number;
};
export type SafeStates = z.infer<typeof actuatorFields.safe>;

/** Another actuator that must be off, and for how long it must have been. */
export interface Interlock {
  readonly with: string;
  readonly gapMs: number;
}

/** One actuator as the configuration describes it, without its kind. */
export interface ActuatorSettings {
  readonly name: string;
  /** Slot of the attached device that it belongs to; the gateway's own without one. */
  readonly device?: string;
  readonly valueType: 'boolean' | 'number' | 'string';
  /** The texts that it takes; default: any. */
  readonly texts?: readonly string[];
  readonly limits: ActuatorLimits;
  /** True for a number that the hardware has room for, whatever the limits say; default: for any. */
  readonly holds?: (value: number) => boolean;
  /** The number that the hardware makes of one: it is what is written, wanted and told; default: the same. */
  readonly nearest?: (value: number) => number;
  /** Actuators that must not be active while this one is; holds both ways. */
  readonly neverWith: readonly Interlock[];
  readonly safe: SafeStates;
  /** True when an operator's last value is set again after a restart, instead of the safe state for start. */
  readonly restore: boolean;
  /** Until when an operator's command without a time holds against the rules. */
  readonly operatorUntil: 'ruleChange' | 'release';
  /** For one movement. */
  readonly deadlineMs: number;
  /** Time between two questions of what it shows; default: after movements alone. */
  readonly readEveryMs?: number;
  /** Changes with anything of its configuration; for one that is asked every so often. */
  readonly version?: string;
  /** Time after which what is in force is written again; default: never. */
  readonly repeatEveryMs?: number;
  /** True when setting a value twice is the same as once; false for programs and spoken commands. */
  readonly idempotent: boolean;
  /** True when it stays as it is while this board has no power. */
  readonly ownSupply?: boolean;
  /** True where what takes a command does not prove that anything moved. */
  readonly unproven?: boolean;
  /** True for one that cannot be read back: what was said of it before a start is not written again. */
  readonly writtenOnce?: boolean;
}

export interface ActuatorState {
  readonly name: string;
  /** Value that the hardware shows, or took last; undefined when not known. */
  readonly value: ActuatorValue | undefined;
  /** Value that its last writer wanted. */
  readonly desired: ActuatorValue | undefined;
  readonly by: Writer | undefined;
  readonly pulsing: boolean;
  /** Why the value is not known or not as desired. */
  readonly fault: string | undefined;
  /** It was as desired, and somebody has changed it at the device since, or the device has forgotten it. */
  readonly isChangedAtDevice?: boolean;
  /** The value is what was taken last, and nobody proves that it moved. */
  readonly isUnproven?: boolean;
}

/** Returns the value that is off; undefined for a text. */
export function offValue(settings: ActuatorSettings): ActuatorValue | undefined {
  return settings.valueType === 'boolean' ? false : settings.valueType === 'number' ? 0 : undefined;
}

/** The value as the hardware will have it. */
export function nearestValue(
  { valueType, nearest }: Pick<ActuatorSettings, 'valueType' | 'nearest'>,
  value: ActuatorValue,
): ActuatorValue {
  // A mode may be called on or off, which a configuration reads as true and false.
  if (valueType === 'string') return inWords(value);
  return valueType === 'number' && typeof value === 'number' && nearest !== undefined ? nearest(value) : value;
}

/** Returns a value as a person says it: true is on. */
export function inWords(value: ActuatorValue): string {
  return typeof value === 'boolean' ? (value ? 'on' : 'off') : String(value);
}

/** Tells a value that only ever ends something. */
export function isOff(value: JsonValue): boolean {
  return value === false || value === 0 || value === '';
}

/** Tells a value by which something runs, flows or holds. */
export function isActive(value: ActuatorValue): boolean {
  return !isOff(value);
}

/** Returns the shape of a value that somebody from afar may give it. */
export function shapeOfValue({ valueType, limits: { min, max } }: ActuatorSettings): ValueShape {
  return { type: valueType, ...(min !== undefined && { minimum: min }), ...(max !== undefined && { maximum: max }) };
}

/** Known to be off, or to be on as somebody wants it: what an earlier process left on is not done with by being looked at, nor by what failed. */
export function isSettled({ value, desired }: ActuatorState): boolean {
  return value !== undefined && (!isActive(value) || (desired !== undefined && isActive(desired)));
}
