/** The slots of one output, the highest first: limit, protect, pulse, operator, rule, noContact, base; and the events that fill and empty them. */
import type { ActuatorValue, Writer } from './kind/actuator.ts';

export type SlotName = 'limit' | 'protect' | 'pulse' | 'operator' | 'rule' | 'noContact' | 'base' | 'none';

/** A rule as far as the output is concerned. */
export interface RuleWords {
  readonly name: string;
  readonly protect: boolean;
  readonly set: ActuatorValue;
  readonly otherwise?: ActuatorValue | undefined;
  readonly sensorLost?: ActuatorValue | undefined;
  /** Its value comes with its readings. */
  readonly isCurve?: boolean | undefined;
  /** Changes with anything of its configuration. */
  readonly version: string;
}

export interface RuleSlot extends RuleWords {
  /** By its last reading; a lost sensor leaves it. */
  readonly phase: 'unread' | 'set' | 'otherwise';
  readonly isLost: boolean;
  /** Emptied by the limit: it does not say on before its condition changes. */
  readonly isBarred: boolean;
  readonly sinceMs: number;
}

export interface Operator {
  readonly value: ActuatorValue;
  readonly by: Writer;
  readonly sinceMs: number;
  /** Given with the command. */
  readonly untilMs?: number | undefined;
  readonly until: 'ruleChange' | 'release';
}

/** The last word that an operator no longer has. */
export interface Ended {
  readonly value: ActuatorValue;
  readonly by: Writer;
  readonly why: 'maxOn' | 'ruleChange' | 'released' | 'time' | 'no contact' | 'safe state' | 'failed';
  readonly atMs: number;
}

export interface Slots {
  /** The value that is off; undefined for a text. */
  readonly off: ActuatorValue | undefined;
  /** The state for the start, until the limit ends it. */
  readonly start: ActuatorValue | undefined;
  /** When it was filled. */
  readonly limit: number | undefined;
  readonly pulse: { readonly by: Writer; readonly sinceMs: number } | undefined;
  readonly operator: Operator | undefined;
  /** In the order of the file. */
  readonly rules: readonly RuleSlot[];
  readonly noContact: { readonly value: ActuatorValue; readonly sinceMs: number } | undefined;
  /** `rule` has left it; otherwise it is the state for the start. */
  readonly base: { readonly value: ActuatorValue; readonly rule?: string | undefined } | undefined;
  /** A pulse has ended, or a sensor was lost, with nothing filled. */
  readonly goesOff: boolean;
  /** The last value of an operator that nothing has taken back, for the next boot. */
  readonly left: ActuatorValue | undefined;
  readonly ended: Ended | undefined;
}

export type SlotEvent = { readonly atMs: number } & (
  | { readonly kind: 'started'; readonly start: ActuatorValue | undefined }
  | { readonly kind: 'commanded'; readonly operator: Omit<Operator, 'sinceMs'> }
  | { readonly kind: 'unmoved'; readonly operator: Operator }
  | { readonly kind: 'released'; readonly why: Ended['why']; readonly by?: Writer | undefined }
  | { readonly kind: 'pulseBegan'; readonly by: Writer }
  | { readonly kind: 'pulseEnded' | 'heard' | 'maxOnEnded' | 'minOffEnded' | 'timePassed' }
  | { readonly kind: 'silent'; readonly value: ActuatorValue }
  | { readonly kind: 'read'; readonly rule: string; readonly holds: boolean; readonly set?: ActuatorValue }
  | { readonly kind: 'sensorLost'; readonly rule: string }
  | { readonly kind: 'configured'; readonly rules: readonly RuleWords[]; readonly isStart?: boolean }
);

/** The filled slot that an output follows. */
export interface Winner {
  readonly slot: SlotName;
  readonly value: ActuatorValue;
  /** The rule that fills it, or has left it. */
  readonly rule?: string | undefined;
  readonly by?: Writer | undefined;
  /** Time of its filling, ms since boot. */
  readonly sinceMs?: number | undefined;
}

export const EMPTY_SLOTS: Slots = {
  off: false,
  start: undefined,
  limit: undefined,
  pulse: undefined,
  operator: undefined,
  rules: [],
  noContact: undefined,
  base: undefined,
  goesOff: false,
  left: undefined,
  ended: undefined,
};
