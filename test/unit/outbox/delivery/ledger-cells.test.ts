/** What was delivered, per key and hour: added up entry by entry, taken back, merged, and written as lines. */
import { crc32 } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import {
  type LedgerCell,
  LedgerCells,
  ledgerLine,
  parseLedgerLine,
} from '../../../../src/outbox/delivery/delivery-ledger.ts';
import { EntryColumns } from '../../../../src/outbox/format/entry-columns.ts';
import type { TelemetryValue } from '../../../../src/outbox/format/telemetry-entry.ts';
import { sealJson } from '../../../../src/store/sealed-json.ts';

const HOUR_MS = 3_600_000;

function added(...entries: readonly [ts: number, value: TelemetryValue, key?: string, device?: string][]): LedgerCells {
  const cells = new LedgerCells();
  const columns = EntryColumns.of(
    entries.map(([ts, value, key = 'k', device = 'self'], sequence) => ({
      sequence,
      device,
      key,
      value,
      ts,
      class: 'regular' as const,
    })),
  );
  for (let row = 0; row < columns.length; row += 1) cells.add(columns, row);
  return cells;
}

const cell = (more: Partial<LedgerCell>): LedgerCell => ({
  device: 'self',
  key: 'k',
  hourMs: 0,
  count: 1,
  sum: 1,
  first: [1, 1],
  last: [1, 1],
  ...more,
});

describe('cells', () => {
  it('count by hour, key and device, however these take turns', () => {
    const cells = added(
      [0, 1],
      [HOUR_MS - 1, 2],
      [HOUR_MS, 4],
      [5, 8],
      [5, 16, 'other'],
      [6, 32, 'k', 'meter'],
      [7, 64],
      [-1, 128],
    );
    expect(cells.list().map(({ device, key, hourMs, count, sum }) => [device, key, hourMs, count, sum])).toEqual([
      ['self', 'k', 0, 4, 75],
      ['self', 'k', HOUR_MS, 1, 4],
      ['self', 'other', 0, 1, 16],
      ['meter', 'k', 0, 1, 32],
      ['self', 'k', -HOUR_MS, 1, 128],
    ]);
    expect(cells.size).toBe(5);
  });

  it('have the first and the last in time, and of two at one time the one that came last', () => {
    const [one] = added([50, 'b'], [20, 'a'], [90, 'c'], [90, 'd'], [20, 'e'], [60, 'f']).list();
    expect([one?.first, one?.last, one?.count]).toEqual([[20, 'a'], [90, 'd'], 6]);
  });

  it('keep the ends without their values when these are long', () => {
    const [one] = added([1, 'x'.repeat(200)], [2, 'x'.repeat(201)]).list();
    expect([one?.first, one?.last]).toEqual([[1, 'x'.repeat(200)], [2]]);
    const parts = Array.from({ length: 200 }, (_none, at) => at);
    const [other] = added([1, parts], [2, { parts: [1, 2] }]).list();
    expect([other?.first, other?.last]).toEqual([[1], [2, { parts: [1, 2] }]]);
    expect(parseLedgerLine(ledgerLine({ flush: 1, cell: cell({ first: [1], last: [2] }) }))?.cell).toEqual(
      cell({ first: [1], last: [2] }),
    );
  });

  it('sum numbers, and nothing else', () => {
    expect(added([1, 2], [2, Number.NaN], [3, Number.POSITIVE_INFINITY]).list()[0]).toMatchObject({ count: 3, sum: 2 });
    expect(added([1, 1.5], [2, 'x'], [3, true], [4, 5n], [5, null], [6, 2]).list()[0]).toMatchObject({
      count: 6,
      sum: 3.5,
    });
  });

  it('count what is taken back no longer, also before it was counted here', () => {
    const cells = added([1, 10], [2, 20]);
    cells.take({ device: 'self', key: 'k', ts: 2, value: 20 });
    cells.take({ device: 'self', key: 'k', ts: 1, value: 'text' });
    cells.take({ device: 'self', key: 'k', ts: HOUR_MS + 1, value: 3 });
    expect(cells.list().map(({ hourMs, count, sum }) => [hourMs, count, sum])).toEqual([
      [0, 0, 10],
      [HOUR_MS, -1, -3],
    ]);
  });

  it('go, those of the oldest hours first, beyond a number; what comes for one that went begins it anew', () => {
    const cells = added([2 * HOUR_MS, 1], [1, 2], [HOUR_MS, 3]);
    expect([cells.forgetOldest(3), cells.size]).toEqual([0, 3]);
    expect([cells.forgetOldest(2), cells.list().map(({ hourMs }) => hourMs)]).toEqual([1, [2 * HOUR_MS, HOUR_MS]]);
    expect([cells.forgetOldest(0), cells.size]).toEqual([2, 0]);
    for (const value of [2, 4]) {
      cells.add(EntryColumns.of([{ sequence: 1, device: 'self', key: 'k', value, ts: 6, class: 'regular' }]), 0);
      expect(cells.list().map(({ count, sum }) => [count, sum])).toEqual([[1, value]]);
      cells.forgetOldest(0);
    }
  });

  it('merge with those of others, whose own stay as they are', () => {
    const other = cell({ count: 2, sum: 5, first: [10, 1], last: [20, 4] });
    const cells = new LedgerCells([
      other,
      cell({ count: 1, sum: 7, first: [5, 7], last: [20, 8] }),
      cell({ first: [15, 9], last: [15, 9] }),
    ]);
    expect(cells.list()).toEqual([cell({ count: 4, sum: 13, first: [5, 7], last: [20, 8] })]);
    expect(other.count).toBe(2);
  });

  it('begin anew when they are cleared', () => {
    const cells = added([1, 1], [2, 2]);
    cells.clear();
    expect([cells.size, cells.list()]).toEqual([0, []]);
    cells.add(EntryColumns.of([{ sequence: 1, device: 'self', key: 'k', value: 5, ts: 3, class: 'regular' }]), 0);
    expect(cells.list()).toEqual([cell({ sum: 5, first: [3, 5], last: [3, 5] })]);
  });
});

describe('lines', () => {
  it('are read as they were written, longs included', () => {
    const cells = [cell({}), cell({ key: 'long', first: [1, 2n ** 60n] })];
    const lines = cells.map((one) => ledgerLine({ flush: 7, cell: one }));
    expect(lines.map(parseLedgerLine)).toEqual(cells.map((one) => ({ flush: 7, cell: one })));
    const text = '{"flush":7,"device":"self","key":"k","hourMs":0,"count":1,"sum":1,"first":[1,1],"last":[1,1]';
    expect(lines[0]).toBe(`${text},"crc32":"${crc32(text).toString(16).padStart(8, '0')}"}`);
  });

  it.each(['flush', 'key', 'hourMs', 'count', 'last'])('without %s are none', (field) => {
    const { [field]: _gone, ...rest } = { flush: 1, ...cell({}) } as unknown as Record<string, number>;
    expect(parseLedgerLine(sealJson(rest))).toBeUndefined();
    expect(parseLedgerLine(sealJson({ ...rest, [field]: false }))).toBeUndefined();
  });
});
