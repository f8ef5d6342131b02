/** Tells in words why an output is as it is: the array of its slots, which of them wins, what it waits for, and the operator's last word. */
import { formatDuration } from '../config/fields/quantity.ts';
import { type ActuatorValue, inWords } from './kind/actuator.ts';
import { arbitrate, filledSlots } from './priority-array.ts';
import type { SlotName, Slots, Winner } from './priority-slots.ts';

/** A filled slot as people and programs are shown it. */
export interface ShownSlot {
  readonly slot: SlotName;
  readonly value: ActuatorValue;
  readonly rule?: string;
  /** Label of the rule, where a status tells it. */
  readonly label?: string;
  readonly by?: string;
  readonly sinceS?: number;
}

/** A rule of the output that cannot speak, and what keeps it from that. */
export interface SilentRule {
  readonly rule: string;
  readonly why: string;
}

export interface OutputReason {
  readonly why: string;
  /** Filled slots, the highest first. */
  readonly slots: readonly ShownSlot[];
  /** Rules that have no say just now. */
  readonly silent?: readonly SilentRule[];
}

const ENDED_BY = {
  maxOn: 'maxOn',
  ruleChange: 'a rule that changed its mind',
  released: 'a release',
  time: 'its time',
  'no contact': 'no contact with the platform',
  'safe state': 'a safe state',
  failed: 'a failure',
} as const;

interface ReasonFacts {
  /** Time since boot. */
  readonly nowMs: number;
  /** Gate or hardware that keeps the winner from being so. */
  readonly waitsFor: string | undefined;
  /** True while what wins was said before the start, and is not written again. */
  readonly isUnwritten?: boolean;
}

export function outputReason(slots: Slots, { nowMs, waitsFor, isUnwritten = false }: ReasonFacts): OutputReason {
  const winner = arbitrate(slots);
  const { ended } = slots;
  const sentences = [
    winnerWords(slots, nowMs),
    waitsFor === undefined ? undefined : `not yet: ${waitsFor}`,
    winner === undefined || !isUnwritten
      ? undefined
      : `${winner.slot === 'operator' ? `last written ${inWords(winner.value)}, ` : ''}not written since the start`,
    // A command that another one has replaced is no news.
    ended === undefined || slots.operator !== undefined
      ? undefined
      : `operator's ${inWords(ended.value)} (${ended.by}) ended by ${ENDED_BY[ended.why]} ${agoOf(ended.atMs, nowMs)}`,
  ];
  return {
    why: sentences.filter((one) => one !== undefined).join('; '),
    slots: filledSlots(slots).map(({ slot, value, rule, by, sinceMs }) => ({
      slot,
      value,
      rule,
      by,
      sinceS: sinceMs === undefined ? undefined : Math.max(0, Math.round((nowMs - sinceMs) / 1_000)),
    })),
  };
}

/** Returns what an output is to be, and because of whom. */
export function winnerWords(slots: Slots, nowMs: number): string {
  const winner = arbitrate(slots);
  return winner === undefined
    ? 'as it was: nothing says what it should be'
    : `${inWords(winner.value)}, ${becauseOf(winner, slots, nowMs)}`;
}

function becauseOf({ slot, rule = '', by, sinceMs }: Winner, slots: Slots, nowMs: number): string {
  const ago = sinceMs === undefined ? '' : ` ${agoOf(sinceMs, nowMs)}`;
  switch (slot) {
    case 'limit':
      return `because its longest time on (maxOn) ended${ago}`;
    case 'protect':
    case 'rule':
      return becauseOfRule(rule, slots, ago);
    case 'pulse':
      return `because a pulse (${by}) began${ago}`;
    case 'operator': {
      const { untilMs } = slots.operator ?? {};
      const left = untilMs === undefined ? '' : `, for ${spanOf(untilMs - nowMs)} more`;
      return `because the operator (${by}) said so${ago}${left}`;
    }
    case 'noContact':
      return `because contact with the platform was lost (noContact)${ago}`;
    case 'base':
      return rule === '' ? 'its state for the start' : `as rule ${rule} left it`;
    case 'none':
      return 'because a pulse ended or a sensor was lost, and nothing else says what it should be';
  }
}

function becauseOfRule(name: string, { rules }: Slots, ago: string): string {
  const rule = rules.find((one) => one.name === name);
  if (rule?.isLost === true) return `because rule ${name} has lost its sensor`;
  return rule?.phase === 'set' ? `because rule ${name} set it${ago}` : `because rule ${name} released it${ago}`;
}

function agoOf(atMs: number, nowMs: number): string {
  return `${spanOf(nowMs - atMs)} ago`;
}

/** Returns a time in its largest unit, or two: seconds up to two minutes, minutes up to two hours. */
function spanOf(ms: number): string {
  const s = Math.max(0, Math.round(ms / 1_000));
  if (s < 120) return `${s} s`;
  return s < 7_200 ? `${Math.floor(s / 60)} min` : formatDuration(Math.floor(s / 60) * 60_000);
}
