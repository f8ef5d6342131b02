/** Words for why an output is as it is: one sentence for each slot, what it waits for, and how the operator's last word ended. */
import { describe, expect, it } from 'vitest';
import { outputReason } from '../../../src/actuators/output-reason.ts';
import { reduce } from '../../../src/actuators/priority-array.ts';
import { EMPTY_SLOTS, type RuleWords, type SlotEvent, type Slots } from '../../../src/actuators/priority-slots.ts';

const MINUTE_MS = 60_000;
const frost: RuleWords = { name: 'frost', protect: false, set: true, otherwise: false, version: '1' };

function slotsAfter(...events: readonly SlotEvent[]): Slots {
  return events.reduce<Slots>(reduce, EMPTY_SLOTS);
}
const why = (slots: Slots, nowMs: number, waitsFor?: string): string => outputReason(slots, { nowMs, waitsFor }).why;

const ruled = slotsAfter(
  { kind: 'configured', rules: [frost], atMs: 0 },
  { kind: 'read', rule: 'frost', holds: true, atMs: 0 },
  { kind: 'commanded', operator: { value: true, by: 'rpc', until: 'release' }, atMs: MINUTE_MS },
  { kind: 'read', rule: 'frost', holds: false, atMs: 2 * MINUTE_MS },
  { kind: 'maxOnEnded', atMs: 3 * MINUTE_MS },
  { kind: 'minOffEnded', atMs: 4 * MINUTE_MS },
);

it('names the rule that released the output, and what ended the operator', () => {
  expect(why(ruled, 5 * MINUTE_MS)).toBe(
    "off, because rule frost released it 3 min ago; operator's on (rpc) ended by maxOn 2 min ago",
  );
});

describe.each<[string, readonly SlotEvent[], string]>([
  ['nothing', [], 'as it was: nothing says what it should be'],
  ['the limit', [{ kind: 'maxOnEnded', atMs: 50_000 }], 'off, because its longest time on (maxOn) ended 50 s ago'],
  ['a pulse', [{ kind: 'pulseBegan', by: 'local', atMs: 90_000 }], 'on, because a pulse (local) began 10 s ago'],
  [
    'the end of a pulse',
    [{ kind: 'pulseEnded', atMs: 0 }],
    'off, because a pulse ended or a sensor was lost, and nothing else says what it should be',
  ],
  [
    'an operator with a time',
    [
      {
        kind: 'commanded',
        operator: { value: 60, by: 'shared', until: 'ruleChange', untilMs: 3 * 3_600_000 },
        atMs: 0,
      },
    ],
    '60, because the operator (shared) said so 100 s ago, for 2h58m more',
  ],
  [
    'silence',
    [
      { kind: 'commanded', operator: { value: true, by: 'rpc', until: 'ruleChange' }, atMs: 0 },
      { kind: 'silent', value: false, atMs: 99_000 },
    ],
    "off, because contact with the platform was lost (noContact) 1 s ago; operator's on (rpc) ended by no contact with the platform 1 s ago",
  ],
  ['the state for the start', [{ kind: 'started', start: false, atMs: 0 }], 'off, its state for the start'],
  [
    'a lost sensor',
    [
      { kind: 'configured', rules: [{ ...frost, sensorLost: true }], atMs: 0 },
      { kind: 'sensorLost', rule: 'frost', atMs: 0 },
    ],
    'on, because rule frost has lost its sensor',
  ],
  [
    'a latch',
    [
      { kind: 'configured', rules: [{ ...frost, otherwise: undefined }], atMs: 0 },
      { kind: 'read', rule: 'frost', holds: true, atMs: 0 },
      { kind: 'read', rule: 'frost', holds: false, atMs: 0 },
    ],
    'on, as rule frost left it',
  ],
])('%s', (_name, events, words) => {
  it('is told', () => {
    expect(why(slotsAfter(...events), 100_000)).toBe(words);
  });
});

it('says what keeps the output from being so', () => {
  expect(
    why(slotsAfter({ kind: 'started', start: true, atMs: 0 }), 0, 'fan is not moved: the machine is locked out'),
  ).toBe('on, its state for the start; not yet: fan is not moved: the machine is locked out');
});

it('lists the filled slots, the highest first', () => {
  const command: SlotEvent = {
    kind: 'commanded',
    operator: { value: true, by: 'rpc', until: 'release' },
    atMs: 4 * MINUTE_MS,
  };
  expect(outputReason(reduce(ruled, command), { nowMs: 5 * MINUTE_MS, waitsFor: undefined }).slots).toEqual([
    { slot: 'operator', value: true, by: 'rpc', sinceS: 60 },
    { slot: 'rule', value: false, rule: 'frost', by: 'rule', sinceS: 180 },
  ]);
});
