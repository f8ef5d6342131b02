/** Commits on their way into segments: where they go, what is taken ahead for them, and what a failed write leaves; on a disk in memory. */
import { beforeEach, describe, expect, it } from 'vitest';
import { silentLog } from '../../../../src/host/log.ts';
import { type FramedBlock, frameBlock } from '../../../../src/outbox/format/block-frame.ts';
import { PayloadEncoder } from '../../../../src/outbox/format/block-payload.ts';
import { SEGMENT_HEADER_BYTES, scanSegment } from '../../../../src/outbox/format/segment-file.ts';
import { ReadingTurns } from '../../../../src/outbox/segments/reading-turns.ts';
import { SegmentShelf } from '../../../../src/outbox/segments/segment-shelf.ts';
import { SegmentWriter } from '../../../../src/outbox/segments/segment-writer.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { MemoryFiles } from '../../../support/memory-files.ts';

const PAGE = 4_096;
const AHEAD = 4 * PAGE;
const SEGMENT = 8 * PAGE;
const OLDEST = { isOldest: true };
const LATER = { isOldest: false };

let files: MemoryFiles;
let clock: FakeClock;
let shelf: SegmentShelf;
let writer: SegmentWriter;
let toDisk: number[];
let nextSequence: number;

beforeEach(async () => {
  files = new MemoryFiles();
  await files.makeFolder('/outbox');
  clock = new FakeClock();
  toDisk = [];
  nextSequence = 1;
  shelf = new SegmentShelf({
    files,
    folder: '/outbox',
    clock,
    log: silentLog,
    reading: new ReadingTurns(clock),
    onScanned: () => {},
  });
  writer = opened();
});

const opened = (): SegmentWriter =>
  new SegmentWriter({
    files,
    folder: '/outbox',
    shelf,
    clock,
    segmentBytes: SEGMENT,
    preallocationBytes: AHEAD,
    onWritten: (bytes) => void toDisk.push(bytes),
  });

/** A block of just so many bytes: what is missing has a long name of a boot, which is never packed. */
function block(bytes: number, more: { readonly takenAtMs?: number[] } = {}): FramedBlock {
  const framed = (bootId: string): FramedBlock =>
    frameBlock(
      new PayloadEncoder(),
      { devices: ['self'], keys: ['k'], values: [1], monotonicMs: [1_000 + nextSequence], ...more },
      { alarm: false, bootId, firstSequence: nextSequence },
    );
  const found = framed('b'.repeat(bytes - framed('').bytes.length));
  nextSequence += 1;
  return found;
}

async function write(...blocks: readonly FramedBlock[]): Promise<void> {
  await (await writer.begin(blocks, OLDEST)).written;
}

const paths = (): string[] => files.paths.map((path) => path.slice('/outbox/'.length));
const size = (at = 0): number => files.contentOf(files.paths[at] ?? '').length;
const sequencesIn = (at = 0): number[] =>
  scanSegment(files.contentOf(files.paths[at] ?? '')).blocks.map(({ firstSequence }) => firstSequence);
const NAME = (first: number, generation = 0): string => `${String(first).padStart(16, '0')}-${generation}.seg`;

describe('a first commit', () => {
  it('begins a segment that is named after it, with space taken ahead, and is known when the folder is synced', async () => {
    const own = block(300);
    expect(writer.growthOf(300)).toBe(AHEAD);
    await write(own);
    expect([paths(), size(), sequencesIn()]).toEqual([[NAME(1)], AHEAD, [1]]);
    expect(files.changes.at(-1)).toBe('sync-folder /outbox');
    const [segment] = shelf.segments;
    expect(segment).toMatchObject({
      firstSequence: 1,
      lastSequence: 1,
      bytes: AHEAD,
      count: 1,
      first: { bootId: own.info.bootId, ms: 1_001, ownTime: false },
    });
    expect([shelf.active, shelf.bytes, segment && shelf.usedBytes(segment)]).toEqual([
      segment,
      AHEAD,
      SEGMENT_HEADER_BYTES + 300,
    ]);
    files.cutPower(() => false);
    expect(sequencesIn()).toEqual([1]);
  });

  it('has the time that its entries bring', async () => {
    await write(block(300, { takenAtMs: [77] }));
    expect(shelf.segments[0]?.first).toMatchObject({ ms: 77, ownTime: true });
  });

  it('takes another name where an earlier try is in the way', async () => {
    files.put(`/outbox/${NAME(1)}`, 'x');
    files.put(`/outbox/${NAME(1, 1)}`, 'x');
    await write(block(300));
    expect(paths()).toEqual([NAME(1), NAME(1, 1), NAME(1, 2)]);
    expect(sequencesIn(2)).toEqual([1]);
  });
});

describe('space', () => {
  it('is taken page by page when nobody waits, with one sync, and else together with the commit', async () => {
    await write(block(300));
    // Four pages, then the commit in the first of them.
    expect(toDisk).toEqual([AHEAD, PAGE]);
    expect(files.changes.filter((change) => change.startsWith('write'))).toHaveLength(5);
    expect(files.changes.filter((change) => change.startsWith('sync /'))).toHaveLength(1);
    toDisk.splice(0);
    files.changes.splice(0);
    await clock.advance(10_000);
    await write(block(AHEAD));
    expect([size(), toDisk, files.changes]).toEqual([2 * AHEAD, [2 * AHEAD], [`write /outbox/${NAME(1)}`]]);
    expect(sequencesIn()).toEqual([1, 2]);
  });

  it('is taken by pages again after a quiet while', async () => {
    await write(block(300));
    await clock.advance(10_001);
    toDisk.splice(0);
    await write(block(AHEAD));
    // From the first byte of the block to the last: a page more than it has.
    expect([size(), toDisk]).toEqual([2 * AHEAD, [AHEAD, AHEAD + PAGE]]);
  });

  it('is filled by later commits to its last byte before more is taken', async () => {
    await write(block(300));
    const left = AHEAD - SEGMENT_HEADER_BYTES - 300;
    expect([writer.growthOf(left), writer.growthOf(left + 1)]).toEqual([0, AHEAD]);
    await write(block(left));
    expect([size(), shelf.segments.length]).toEqual([AHEAD, 1]);
    expect(writer.growthOf(1)).toBe(AHEAD);
    expect(sequencesIn()).toEqual([1, 2]);
  });

  it('behind the last block goes back when a segment is full, and the next one begins', async () => {
    await write(block(300));
    const left = SEGMENT - SEGMENT_HEADER_BYTES - 300;
    expect([writer.growthOf(left), writer.growthOf(left + 1)]).toEqual([
      SEGMENT - AHEAD,
      Math.ceil((SEGMENT_HEADER_BYTES + left + 1) / AHEAD) * AHEAD,
    ]);
    await write(block(left - 200));
    expect([paths(), size()]).toEqual([[NAME(1)], SEGMENT]);
    // Less than a page is left: that is not worth a call.
    await write(block(300));
    expect([paths(), size(), size(1)]).toEqual([[NAME(1), NAME(3)], SEGMENT, AHEAD]);
    await write(block(SEGMENT - 300));
    expect([paths(), size(1)]).toEqual([[NAME(1), NAME(3), NAME(4)], SEGMENT_HEADER_BYTES + 300]);
    expect(shelf.segments.map(({ bytes }) => bytes)).toEqual([SEGMENT, SEGMENT_HEADER_BYTES + 300, SEGMENT]);
    expect(shelf.active?.name).toBe(NAME(4));
  });

  it('may go to the last byte of a segment', async () => {
    await write(block(300));
    await write(block(SEGMENT - SEGMENT_HEADER_BYTES - 300));
    expect([paths(), size(), sequencesIn()]).toEqual([[NAME(1)], SEGMENT, [1, 2]]);
  });
});

describe('two commits on their way', () => {
  async function bothBegun(): Promise<{ readonly gates: PromiseWithResolvers<void>[]; readonly settled: string[] }> {
    await write(block(300));
    const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const settled: string[] = [];
    let writes = 0;
    files.faults = { delay: (operation) => (operation === 'write' ? gates[writes++]?.promise : undefined) };
    for (const [name, options] of [
      ['first', OLDEST],
      ['second', LATER],
    ] as const) {
      const { written } = await writer.begin([block(300)], options);
      written.then(
        () => settled.push(name),
        () => settled.push(`${name} failed`),
      );
    }
    await clock.advance(0);
    expect(writes).toBe(2);
    return { gates, settled };
  }

  it('are durable in their order, whichever the disk finishes first', async () => {
    const { gates, settled } = await bothBegun();
    gates[1]?.resolve();
    await clock.advance(0);
    expect([settled, shelf.segments[0]?.lastSequence]).toEqual([[], 1]);
    gates[0]?.resolve();
    await clock.advance(0);
    expect([settled, shelf.segments[0]?.lastSequence, shelf.segments[0]?.count]).toEqual([['first', 'second'], 3, 3]);
    expect(sequencesIn()).toEqual([1, 2, 3]);
  });

  it('fail together when the first does, and only the oldest may begin again, in another segment', async () => {
    const { gates, settled } = await bothBegun();
    gates[1]?.resolve();
    gates[0]?.reject(new Error('EIO'));
    await clock.advance(0);
    expect([settled, shelf.segments[0]?.lastSequence, shelf.active]).toEqual([
      ['first failed', 'second failed'],
      1,
      undefined,
    ]);
    files.faults = {};
    nextSequence = 2;
    const [again, then] = [block(300), block(300)];
    await expect(writer.begin([then], LATER)).rejects.toThrow('before this one failed');
    await (await writer.begin([again], OLDEST)).written;
    await (await writer.begin([then], LATER)).written;
    expect([paths(), sequencesIn(1)]).toEqual([
      [NAME(1), NAME(2)],
      [2, 3],
    ]);
  });

  it('leave the first durable when only the second fails', async () => {
    const { gates, settled } = await bothBegun();
    gates[1]?.reject(new Error('EIO'));
    gates[0]?.resolve();
    await clock.advance(0);
    expect([settled, shelf.segments[0]?.lastSequence]).toEqual([['first', 'second failed'], 2]);
  });

  it('let one that needs more space wait for both', async () => {
    const { gates } = await bothBegun();
    let isBegun = false;
    const third = writer.begin([block(AHEAD)], LATER).then(({ written }) => {
      isBegun = true;
      return written;
    });
    await clock.advance(0);
    gates[0]?.resolve();
    await clock.advance(0);
    expect([isBegun, size()]).toEqual([false, AHEAD]);
    gates[1]?.resolve();
    await third;
    expect(sequencesIn()).toEqual([1, 2, 3, 4]);
  });
});

describe('a failed write', () => {
  const failing = (operation: string, at = 1): void => {
    let count = 0;
    files.faults = { fail: (asked) => (asked === operation && ++count === at ? { code: 'ENOSPC' } : undefined) };
  };

  it.each([
    ['of the space ahead', 'write', 2],
    ['of its sync', 'sync', 1],
    ['of the commit', 'write', 5],
    ['of the folder', 'sync-folder', 1],
  ])('%s leaves no empty segment behind, and the same numbers begin again', async (_name, operation, at) => {
    failing(operation, at);
    await expect(write(block(300))).rejects.toThrow('ENOSPC');
    await clock.advance(0);
    expect([paths(), shelf.segments]).toEqual([[], []]);
    await expect(writer.begin([block(300)], LATER)).rejects.toThrow('before this one failed');
    nextSequence = 1;
    await write(block(300));
    expect([paths(), sequencesIn()]).toEqual([[NAME(1)], [1]]);
  });

  it('in a segment that holds something leaves that, and is gone on with in another', async () => {
    await write(block(300));
    failing('write');
    await expect(write(block(300))).rejects.toThrow('ENOSPC');
    nextSequence = 2;
    await write(block(300));
    expect([paths(), sequencesIn(1)]).toEqual([[NAME(1), NAME(2)], [2]]);
    expect(shelf.segments.map(({ lastSequence }) => lastSequence)).toEqual([1, 2]);
  });
});

describe('an earlier segment', () => {
  it('is gone on with where its blocks end', async () => {
    await write(block(300));
    const { blocks, end } = scanSegment(files.contentOf(files.paths[0] ?? ''));
    const [segment] = shelf.segments;
    await writer.close();
    await writer.close();
    writer = opened();
    if (segment !== undefined) await writer.resume(segment, blocks, end);
    expect([writer.growthOf(300), shelf.active]).toEqual([0, segment]);
    await write(block(300));
    expect([paths(), size(), sequencesIn(), segment?.lastSequence]).toEqual([[NAME(1)], AHEAD, [1, 2], 2]);
    expect((segment && (await shelf.blocksOf(segment)))?.map(({ firstSequence }) => firstSequence)).toEqual([1, 2]);
  });
});
