/** docs/outputs.md says what the priority array does: its slots in their order, and the worked examples row by row. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { Writer } from '../../../src/actuators/kind/actuator.ts';
import { arbitrate, filledSlots, reduce } from '../../../src/actuators/priority-array.ts';
import { EMPTY_SLOTS, type RuleWords, type SlotEvent, type Slots } from '../../../src/actuators/priority-slots.ts';

type Told = SlotEvent extends infer E ? (E extends SlotEvent ? Omit<E, 'atMs'> : never) : never;

const PAGE = readFileSync(join(import.meta.dirname, '../../../docs/outputs.md'), 'utf8');

/** Cells of the first table below a heading, without its head. */
function rowsBelow(heading: string): readonly (readonly string[])[] {
  const lines = PAGE.slice(PAGE.indexOf(`\n${heading}`))
    .split('\n')
    .slice(2);
  const from = lines.findIndex((line) => line.startsWith('|'));
  const table = lines.slice(
    from,
    lines.findIndex((line, at) => at > from && !line.startsWith('|')),
  );
  return table.slice(2).map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

const rule = (name: string, more: Partial<RuleWords> = {}): RuleWords => ({
  name,
  protect: false,
  set: true,
  version: '1',
  ...more,
});
const rules = (...words: readonly RuleWords[]): Told => ({ kind: 'configured', rules: words });
const read = (name: string, holds: boolean): Told => ({ kind: 'read', rule: name, holds });
const lost = (name: string): Told => ({ kind: 'sensorLost', rule: name });
const start: Told = { kind: 'started', start: false };
const say = (value: boolean, by: Writer = 'rpc'): Told => ({
  kind: 'commanded',
  operator: { value, by, until: 'ruleChange' },
});
const [silent, heard]: Told[] = [{ kind: 'silent', value: false }, { kind: 'heard' }];
/** Refused before it fills anything. */
const refused: Told[] = [];

/** By column: what was before, and the events of each row. */
const latch = rules(rule('fill'), rule('full', { set: false }));
const EXAMPLES: Readonly<
  Record<string, { readonly before: readonly Told[][]; readonly rows: readonly (readonly Told[])[] }>
> = {
  '### 1.': {
    before: [
      [
        rules(rule('heat', { otherwise: false }), rule('frost', { protect: true, sensorLost: false })),
        read('frost', false),
      ],
    ],
    rows: [
      [read('heat', true)],
      [say(false)],
      [read('frost', true)],
      refused,
      [read('frost', false)],
      [read('heat', false)],
      [read('heat', true)],
    ],
  },
  '### 3.': {
    before: [[rules(rule('empty'))], [rules(rule('empty', { sensorLost: true }))], [rules(rule('empty')), say(true)]],
    rows: [[read('empty', true)], [lost('empty')], [read('empty', true)]],
  },
  '### 4.': {
    before: [[rules(rule('r'))]],
    rows: [
      [read('r', true)],
      [say(false)],
      [{ kind: 'pulseBegan', by: 'rpc' }],
      [{ kind: 'pulseEnded' }],
      [{ kind: 'released', why: 'released' }],
      refused,
    ],
  },
  '### 5.': {
    before: [[rules(rule('a'), rule('b'))]],
    rows: [
      [read('a', true), read('b', true), say(true)],
      [{ kind: 'maxOnEnded' }],
      refused,
      [{ kind: 'minOffEnded' }],
      [read('b', false), read('b', true)],
    ],
  },
  '### 6.': {
    before: [
      [start, say(true)],
      [start, rules(rule('r')), read('r', true), say(true)],
      [start, say(true, 'local')],
    ],
    rows: [[silent as Told], [heard as Told], [say(true)]],
  },
  '### 7.': {
    before: [[start, latch, read('full', false)]],
    rows: [
      [read('fill', true)],
      [read('fill', false)],
      [start, { ...latch, isStart: true } as Told],
      [read('full', true)],
      [read('full', false)],
      [lost('fill'), lost('full')],
    ],
  },
};

it('has the slots in their order', () => {
  const all: Slots = {
    ...EMPTY_SLOTS,
    limit: 0,
    pulse: { by: 'rpc', sinceMs: 0 },
    noContact: { value: false, sinceMs: 0 },
    base: { value: false },
    operator: { value: true, by: 'rpc', sinceMs: 0, until: 'release' },
    rules: [rule('a'), rule('b', { protect: true })].map((one) => ({
      ...one,
      phase: 'set',
      isLost: false,
      isBarred: false,
      sinceMs: 0,
    })),
  };
  expect(rowsBelow('## Slots').map(([slot]) => slot)).toEqual(filledSlots(all).map(({ slot }) => `\`${slot}\``));
});

it.each(Object.keys(EXAMPLES))('tells what comes of each step of example %s', (heading) => {
  const { before, rows } = EXAMPLES[heading] ?? { before: [], rows: [] };
  const told = rowsBelow(heading);
  expect(told).toHaveLength(rows.length);
  for (const [column, events] of before.entries()) {
    let atMs = 0;
    const after = (slots: Slots, more: readonly Told[]): Slots =>
      more.reduce((now, event) => reduce(now, { ...event, atMs: atMs++ } as SlotEvent), slots);
    let slots = after(EMPTY_SLOTS, events);
    let value: unknown;
    for (const [at, row] of rows.entries()) {
      slots = after(slots, row);
      const winner = arbitrate(slots);
      // With nothing filled it stays as it is.
      value = winner?.value ?? value;
      const cells = told[at] ?? [];
      const said = before.length > 1 ? (cells[column + 1] ?? '') : `${cells[1]}, ${cells[2]}`;
      const slot =
        winner === undefined || winner.slot === 'none'
          ? '(none|nothing filled)'
          : `\`${winner.slot}\`${before.length > 1 || winner.rule === undefined ? '' : `.*${winner.rule === 'r' ? '' : winner.rule}`}`;
      expect(said, `row ${at + 1}, column ${column + 1}`).toMatch(
        new RegExp(`^${value === true ? 'on' : 'off'}, ${slot}`),
      );
    }
  }
});
