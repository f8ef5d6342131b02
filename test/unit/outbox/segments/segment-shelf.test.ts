/** Memory of the shelf about segments, so that a drain does not read each through again and again; on a disk in memory. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { silentLog } from '../../../../src/host/log.ts';
import { OutboxFolder } from '../../../../src/outbox/segments/outbox-folder.ts';
import { ReadingTurns } from '../../../../src/outbox/segments/reading-turns.ts';
import { type Segment, SegmentShelf } from '../../../../src/outbox/segments/segment-shelf.ts';
import { UnreadFiles } from '../../../../src/outbox/segments/small-file.ts';
import { MemoryFiles } from '../../../support/memory-files.ts';
import { OutboxFixture } from '../../../support/outbox-fixture.ts';

let fixture: OutboxFixture;
let files: MemoryFiles;
let shelf: SegmentShelf;
let reads: number[];

beforeEach(async () => {
  fixture = await OutboxFixture.make({ maxBytes: 64 * 1024, commitAgeMs: 100 });
  files = new MemoryFiles();
  fixture.files = files;
  const outbox = await fixture.open();
  for (let block = 0; block < 30; block += 1) await fixture.commit(outbox, fixture.noise(100, block * 100));
  await fixture.until(outbox.close());
  const deps = { files, folder: fixture.folder, log: silentLog };
  shelf = new SegmentShelf({
    ...deps,
    clock: fixture.clock,
    reading: new ReadingTurns(fixture.clock),
    onScanned: () => {},
  });
  await new OutboxFolder({
    ...deps,
    unread: new UnreadFiles(fixture.clock),
    setAsideBytes: 1,
    onSetAside: () => {},
  }).load(shelf);
  files.faults = {
    fail: (operation) => {
      if (operation === 'read') reads.push(1);
      return undefined;
    },
  };
});
afterEach(() => fixture.remove());

async function readsFor(...segments: readonly (Segment | undefined)[]): Promise<number> {
  reads = [];
  for (const segment of segments) if (segment !== undefined) await shelf.blocksOf(segment);
  return reads.length;
}

it('knows where the blocks lie of the two segments that were used last', async () => {
  const [a, b, c] = shelf.segments;
  expect(await readsFor(a, a, b, a, b)).toBe(2);
  expect(await readsFor(c)).toBe(1);
  // Before c it was b that was used.
  expect(await readsFor(b, c)).toBe(0);
  expect(await readsFor(a)).toBe(1);
  expect(await readsFor(c)).toBe(0);
});

it('reads blocks that lie side by side at once, and those that do not by themselves', async () => {
  const [a, b] = shelf.segments as [Segment, Segment];
  const inA = (await shelf.blocksOf(a)).map((info) => ({ segment: a, info }));
  const inB = (await shelf.blocksOf(b)).map((info) => ({ segment: b, info }));
  expect(inA.length).toBeGreaterThan(3);
  const count = async (placed: typeof inA): Promise<number> => {
    reads = [];
    const entries = await shelf.read(placed);
    expect(entries.map((one) => one?.keys.length)).toEqual(placed.map(({ info }) => info.count));
    return reads.length;
  };
  expect(await count(inA)).toBe(1);
  expect(await count([...inA, ...inB])).toBe(2);
  expect(await count([inA[0], inA[2], inA[3]] as typeof inA)).toBe(2);
});

it('reads no more than 256 kB at once, however many blocks lie side by side', async () => {
  const big = await OutboxFixture.make({ commitAgeMs: 100 });
  big.files = files = new MemoryFiles();
  const outbox = await big.open();
  for (let block = 0; block < 100; block += 1) await big.commit(outbox, big.noise(1_000, block * 1_000));
  await big.clock.advance(120_000);
  const spans: number[] = [];
  files.faults = {
    fail: (operation, _path, span) => {
      if (operation === 'read' && span !== undefined) spans.push(span.to - span.from);
      return undefined;
    },
  };
  expect((await outbox.peek('backlog', { maxEntries: 100_000, maxBytes: 1e9 }))?.entries.length).toBe(100_000);
  expect(spans.length).toBeGreaterThan(1);
  expect([Math.max(...spans) <= 256 * 1024, Math.max(...spans) > 240 * 1024]).toEqual([true, true]);
  await big.remove();
});

it('forgets what it knew of a segment whose file is another one now', async () => {
  const [a] = shelf.segments as [Segment];
  await shelf.blocksOf(a);
  await shelf.refresh(a);
  expect(shelf.knownBlocksOf(a)).toBeUndefined();
  expect(await readsFor(a)).toBe(1);
});
