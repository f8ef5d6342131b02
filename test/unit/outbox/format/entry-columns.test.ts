/** Entries side by side: parts of them, their marks, and roughly what they take on the wire. */
import { describe, expect, it } from 'vitest';
import { EntryColumns, type ResolvedEntry } from '../../../../src/outbox/format/entry-columns.ts';
import type { TelemetryValue } from '../../../../src/outbox/format/telemetry-entry.ts';

const entry = (sequence: number, more: Partial<ResolvedEntry> = {}): ResolvedEntry => ({
  sequence,
  device: 'self',
  key: `k${sequence}`,
  value: sequence,
  ts: 1_000 + sequence,
  class: 'regular',
  ...more,
});
const all = [entry(1), entry(2, { class: 'alarm', device: 'other' }), entry(3, { ts: 5, value: 'x' })];

describe('columns', () => {
  it('give back the entries that they are of, and nothing beyond them', () => {
    const columns = EntryColumns.of(all);
    expect([...columns]).toEqual(all);
    expect([columns.length, columns.at(0), columns.at(2), columns.at(3), columns.at(-1)]).toEqual([
      3,
      all[0],
      all[2],
      undefined,
      undefined,
    ]);
    expect([...columns.part(1, 3)]).toEqual(all.slice(1));
    expect([...columns.where((row) => row !== 1)]).toEqual([all[0], all[2]]);
  });

  it('are joined in order', () => {
    const parts = [EntryColumns.of(all.slice(0, 1)), EntryColumns.of(all.slice(1))];
    expect([...EntryColumns.joined(parts)]).toEqual(all);
    expect([...EntryColumns.joined(parts.slice(1))]).toEqual(all.slice(1));
    expect(EntryColumns.joined([]).length).toBe(0);
  });

  it('tell marks from entries', () => {
    const columns = EntryColumns.of([entry(1), entry(1, { key: 'k1_timeUncertain', value: true }), entry(2)]);
    expect([0, 1, 2, 3].map((row) => columns.isMark(row))).toEqual([false, true, false, false]);
  });

  it('have no mark beyond their end, of nothing neither', () => {
    for (const columns of [EntryColumns.of([]), EntryColumns.of([entry(1)]), EntryColumns.of([entry(1), entry(1)])])
      for (const row of [columns.length, columns.length + 1, columns.length + 2, -1])
        expect(columns.isMark(row)).toBe(false);
  });

  /** The estimate decides about sizes of batches: near enough, and never far below. */
  it.each([
    ['numbers', [1, -5, 999_999, 0.25, 21.375, 1e21, 123_456_789]],
    ['texts', ['', 'short', 'x'.repeat(300)]],
    ['longs', [2n ** 63n, -1n, 10n ** 30n]],
    [
      'texts of more bytes than characters',
      ['温'.repeat(200), 'é'.repeat(200), '🔥'.repeat(200), '"'.repeat(200), '\\'.repeat(200), '\u0001'.repeat(200)],
    ],
    ['states', [true, false, null]],
    ['objects', [{ a: 1, b: [1, 2, 3] }, [], { long: 'y'.repeat(100) }]],
  ])('know roughly what they take as JSON: %s', (_name, values) => {
    const text = (value: unknown): string => (typeof value === 'bigint' ? value.toString() : JSON.stringify(value));
    for (const value of values) {
      const columns = EntryColumns.of([entry(1, { key: 'temperature', value })]);
      const real = Buffer.byteLength(`{"ts":1780000000000,"values":{"temperature":${text(value)}}},`);
      expect(columns.jsonBytes()).toBeGreaterThan(real * 0.8);
      expect(columns.jsonBytes()).toBeLessThan(real * 1.4 + 12);
    }
  });

  it('know it to the byte of long texts and keys, so that one post can be held against another', () => {
    for (const text of ['x', '温', 'é', '🔥', '"', '\u0001']) {
      const bytesOf = (length: number): number =>
        EntryColumns.of([entry(1, { key: text.repeat(length), value: text.repeat(length) })]).jsonBytes();
      expect(bytesOf(1_000) - bytesOf(0)).toBe(2 * (Buffer.byteLength(JSON.stringify(text.repeat(1_000))) - 2));
    }
  });

  it('counts no member that JSON leaves out, of an entry that was never written', () => {
    const sparse = { latitude: 48.2, altitude: undefined } as unknown as TelemetryValue;
    const bytes = EntryColumns.of([entry(1, { value: sparse })]).jsonBytes();
    expect(bytes).toBe(EntryColumns.of([entry(1, { value: { latitude: 48.2 } })]).jsonBytes());
  });

  it('count the frame of an instant once', () => {
    const one = EntryColumns.of([entry(1)]).jsonBytes();
    const sameInstant = EntryColumns.of([entry(1), entry(2, { ts: 1_001 })]).jsonBytes();
    const other = EntryColumns.of([entry(1), entry(2)]).jsonBytes();
    expect([other, other - sameInstant]).toEqual([2 * one, 34]);
    expect(EntryColumns.of([]).jsonBytes()).toBe(0);
  });
});
