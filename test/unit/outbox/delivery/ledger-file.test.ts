/** The ledger's files: flushes that the delivery state does not know are cut off, and the oldest files go. */
import { beforeEach, expect, it } from 'vitest';
import { type LedgerCell, LedgerCells, ledgerLine } from '../../../../src/outbox/delivery/delivery-ledger.ts';
import { LedgerFile } from '../../../../src/outbox/delivery/ledger-file.ts';
import { MemoryFiles } from '../../../support/memory-files.ts';

let files: MemoryFiles;
let ledger: LedgerFile;

beforeEach(async () => {
  files = new MemoryFiles();
  await files.makeFolder('/outbox');
  ledger = new LedgerFile({ files, folder: '/outbox', maxBytes: 500 });
});

const cell = (hourMs: number, count: number): LedgerCell => ({
  device: 'self',
  key: 'k',
  hourMs,
  count,
  sum: count,
  first: [hourMs, 1],
  last: [hourMs, 1],
});

async function counts(): Promise<number[]> {
  const cells = await ledger.read({}, new LedgerCells());
  return cells.list().map(({ count }) => count);
}

it('adds up the lines of a cell, over a power cut', async () => {
  await ledger.add(1, [cell(0, 2), cell(3_600_000, 5)]);
  await ledger.add(2, [cell(0, 3)]);
  files.cutPower(() => false);
  expect(await counts()).toEqual([5, 5]);
});

it('adds up cells whose values are nested as deep as the platform takes them', async () => {
  const deep = JSON.parse(`${'['.repeat(240)}${']'.repeat(240)}`) as readonly [];
  await ledger.add(1, [{ ...cell(0, 2), last: [0, deep] }]);
  expect(await counts()).toEqual([2]);
});

it('cuts off the flushes that the delivery state does not know, and keeps all when it knows them', async () => {
  for (const flush of [1, 2, 3]) await ledger.add(flush, [cell(0, flush)]);
  const [path = ''] = files.paths;
  const whole = files.contentOf(path);
  await ledger.open(3);
  expect(files.contentOf(path)).toEqual(whole);
  await ledger.open(1);
  expect(await counts()).toEqual([1]);
  await ledger.add(2, [cell(0, 10)]);
  expect(await counts()).toEqual([11]);
});

it.each([
  ['a key', { key: 'Außentemperatur' }],
  ['a device', { device: 'Kühlraum 🧊' }],
  ['a value', { last: [0, 'geöffnet'] }],
] as const)(
  'cuts off at its very byte a flush that the delivery state does not know, with %s that is not ASCII',
  async (_what, more) => {
    const written = [1, 2, 3].map((flush) => ({ ...cell(0, flush), ...more }));
    await ledger.add(1, [written[0] as LedgerCell, { ...cell(3_600_000, 1), ...more }]);
    const [path = ''] = files.paths;
    const known = files.contentOf(path);
    await ledger.add(2, [written[1] as LedgerCell]);
    await ledger.add(3, [written[2] as LedgerCell]);
    ledger = new LedgerFile({ files, folder: '/outbox', maxBytes: 500 });
    await ledger.open(1);
    expect([files.contentOf(path).toString().trimEnd(), await counts()]).toEqual([known.toString().trimEnd(), [1, 1]]);
  },
);

it('adds up flushes whose numbers come again, as where the delivery state was lost', async () => {
  for (const flush of [1, 2, 1, 2]) await ledger.add(flush, [cell(0, flush)]);
  expect(await counts()).toEqual([6]);
});

it.each([
  ['write', 'ENOSPC', [1, 2]],
  ['sync', 'EIO', [1, 2]],
  ['sync-folder', 'EIO', [1]],
] as const)(
  'counts once what is added again after a failed %s, and nothing of the failed try',
  async (operation, code, flushes) => {
    for (const flush of flushes) {
      const before = await counts();
      let alsoFails: string = 'nothing';
      files.faults = { fail: (one) => (one === operation || one === alsoFails ? { code, short: true } : undefined) };
      await expect(ledger.add(flush, [cell(0, 2), cell(3_600_000, 5)])).rejects.toThrow();
      expect(await counts()).toEqual(before);
      // What cannot be cut off is not written behind either.
      alsoFails = 'truncate';
      await expect(ledger.add(flush, [cell(0, 2), cell(3_600_000, 5)])).rejects.toThrow();
      expect(await counts()).toEqual(before);
      files.faults = {};
      await ledger.add(flush, [cell(0, 3), cell(3_600_000, 5), cell(7_200_000, 1)]);
      expect(await counts()).toEqual([3 * flush, 5 * flush, flush]);
    }
    files.cutPower(() => false);
    ledger = new LedgerFile({ files, folder: '/outbox', maxBytes: 500 });
    await ledger.open(flushes.length);
    expect(await counts()).toEqual([3, 5, 1].map((count) => count * flushes.length));
  },
);

it('begins another file at the bound, named after its first flush, and keeps eight', async () => {
  for (let flush = 1; flush <= 60; flush += 1) await ledger.add(flush, [cell(flush * 3_600_000, 1)]);
  expect(files.paths).toHaveLength(8);
  expect(files.paths.every((path) => /\/ledger-\d{10}\.jsonl$/.test(path))).toBe(true);
  for (const path of files.paths) {
    expect(files.contentOf(path).length).toBeLessThan(700);
    expect(files.contentOf(path).toString()).toMatch(/^\{"format":"turnstone-outbox-ledger"/);
  }
  const kept = await counts();
  expect(kept.length).toBeGreaterThan(16);
  expect(kept.length).toBeLessThan(40);
});

it('opens where there is none', async () => {
  await ledger.open(5);
  expect([await counts(), files.paths]).toEqual([[], []]);
});

it('is cut where the delivery state ends, in its newest file only', async () => {
  const header = '{"format":"turnstone-outbox-ledger","version":1}\n';
  const line = (flush: number): string => `${ledgerLine({ flush, cell: cell(0, flush) })}\n`;
  files.put('/outbox/ledger-0000000001.jsonl', header + line(1) + line(9));
  files.put('/outbox/ledger-0000000003.jsonl', header + line(3) + line(4) + line(5));
  files.put('/outbox/ledger-3.jsonl', line(1_000));
  await ledger.open(4);
  expect(files.contentOf('/outbox/ledger-0000000003.jsonl').toString()).toBe(header + line(3) + line(4));
  expect(await counts()).toEqual([1 + 9 + 3 + 4]);
  await ledger.add(5, [cell(0, 5)]);
  expect(files.contentOf('/outbox/ledger-0000000003.jsonl').toString()).toBe(header + line(3) + line(4) + line(5));
  files.changes.splice(0);
  await ledger.open(5);
  expect(files.changes).toEqual([]);
});

it('goes on with a file up to its bound, and begins the next one behind it', async () => {
  await ledger.add(1, [cell(0, 1)]);
  const [path = ''] = files.paths;
  const size = files.contentOf(path).length;
  for (const [maxBytes, others] of [
    [size, 1],
    [size - 1, 2],
  ] as const) {
    files = new MemoryFiles();
    await files.makeFolder('/outbox');
    ledger = new LedgerFile({ files, folder: '/outbox', maxBytes });
    await ledger.add(1, [cell(0, 1)]);
    await ledger.add(2, [cell(0, 1)]);
    expect(files.paths).toHaveLength(others);
  }
  expect(files.paths.at(-1)).toBe('/outbox/ledger-0000000002.jsonl');
  files.cutPower(() => false);
  expect(await counts()).toEqual([2]);
});

it('keeps what came after the count of flushes was lost as long as anything else', async () => {
  for (let flush = 100; flush < 130; flush += 1) await ledger.add(flush, [cell(flush, 1)]);
  await ledger.open(0);
  for (let flush = 1; flush < 60; flush += 1) await ledger.add(flush, [cell(1_000 + flush, 1)]);
  const hours = (await ledger.read({}, new LedgerCells())).list().map(({ hourMs }) => hourMs);
  expect(files.paths.length).toBeLessThanOrEqual(8);
  expect(hours.slice(-20)).toEqual(Array.from({ length: 20 }, (_none, at) => 1_040 + at));
});
