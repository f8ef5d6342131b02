/** Tells in words why an output is as it is: the array of its slots, which of them wins, what it waits for, and the operator's last word. */
import type { Sentence, Told } from '../errors/sentence.ts';
import { english, sentence } from '../names/sentences.ts';
import type { ActuatorValue } from './kind/actuator.ts';
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
  /** The same, of which a door makes words in its own language. */
  readonly sentence: Sentence;
  /** Filled slots, the highest first. */
  readonly slots: readonly ShownSlot[];
  /** Rules that have no say just now. */
  readonly silent?: readonly SilentRule[];
}

interface ReasonFacts {
  /** Time since boot. */
  readonly nowMs: number;
  /** Gate or hardware that keeps the winner from being so. */
  readonly waitsFor: Told | undefined;
  /** True while what wins was said before the start, and is not written again. */
  readonly isUnwritten?: boolean;
  /** Value that somebody has set at the device, in place of what was written. */
  readonly atDevice?: ActuatorValue | undefined;
  /** True while nobody proves that it moved. */
  readonly isUnproven?: boolean;
  /** True while nothing was written or read since the hardware was away. */
  readonly wasAway?: boolean;
}

export function outputReason(
  slots: Slots,
  { nowMs, waitsFor, isUnwritten = false, atDevice, isUnproven = false, wasAway = false }: ReasonFacts,
): OutputReason {
  const winner = arbitrate(slots);
  const { ended } = slots;
  const sentences = [
    winnerSentence(slots, nowMs),
    waitsFor === undefined ? undefined : sentence('outputNotYet', { why: waitsFor }),
    winner === undefined || !isUnwritten ? undefined : unwritten(winner),
    atDevice === undefined ? undefined : sentence('outputAtDevice', { value: atDevice }),
    isUnproven ? sentence('outputUnproven') : undefined,
    wasAway ? sentence('outputWasAway') : undefined,
    // A command that another one has replaced is no news.
    ended === undefined || slots.operator !== undefined
      ? undefined
      : sentence('operatorEnded', {
          value: ended.value,
          by: ended.by,
          end: ended.why,
          agoMs: nowMs - ended.atMs,
        }),
  ].filter((one) => one !== undefined);
  const whole = sentence('several', { all: sentences });
  return {
    why: english(whole),
    sentence: whole,
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
export function winnerSentence(slots: Slots, nowMs: number): Sentence {
  const winner = arbitrate(slots);
  if (winner === undefined) return sentence('outputAsItWas');
  const { slot, value, rule = '', by = 'safe-state', sinceMs } = winner;
  const agoMs = sinceMs === undefined ? undefined : nowMs - sinceMs;
  switch (slot) {
    case 'limit':
      return sentence('outputLimit', { value, agoMs });
    case 'protect':
    case 'rule':
      return ruleSentence(winner, slots, agoMs);
    case 'pulse':
      return sentence('outputPulse', { value, by, agoMs });
    case 'operator': {
      const { untilMs } = slots.operator ?? {};
      return sentence('outputOperator', {
        value,
        by,
        agoMs,
        leftMs: untilMs === undefined ? undefined : untilMs - nowMs,
      });
    }
    case 'noContact':
      return sentence('outputNoContact', { value, agoMs });
    case 'base':
      return rule === '' ? sentence('outputStart', { value }) : sentence('outputLeft', { value, rule });
    case 'none':
      return sentence('outputNothing', { value });
  }
}

function ruleSentence({ value, rule: name = '' }: Winner, { rules }: Slots, agoMs: number | undefined): Sentence {
  const rule = rules.find((one) => one.name === name);
  if (rule?.isLost === true) return sentence('outputRuleLost', { value, rule: name });
  return sentence(rule?.phase === 'set' ? 'outputRuleSet' : 'outputRuleReleased', { value, rule: name, agoMs });
}

function unwritten({ slot, value }: Winner): Sentence {
  return slot === 'operator' ? sentence('outputLastWritten', { value }) : sentence('outputUnwritten');
}
