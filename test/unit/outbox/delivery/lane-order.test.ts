/** Which blocks each lane gives next, of segments that lie on a disk in memory. */
import { beforeEach, describe, expect, it } from 'vitest';
import { silentLog } from '../../../../src/host/log.ts';
import { Lanes } from '../../../../src/outbox/delivery/lanes.ts';
import type { Lane } from '../../../../src/outbox/delivery/outbox-batch.ts';
import { type SequenceRange, SequenceRanges } from '../../../../src/outbox/delivery/sequence-ranges.ts';
import { type BlockInfo, frameBlock } from '../../../../src/outbox/format/block-frame.ts';
import { PayloadEncoder } from '../../../../src/outbox/format/block-payload.ts';
import { segmentFileName, segmentHeader } from '../../../../src/outbox/format/segment-file.ts';
import { ReadingTurns } from '../../../../src/outbox/segments/reading-turns.ts';
import { type Segment, SegmentShelf } from '../../../../src/outbox/segments/segment-shelf.ts';
import { UnreadFiles } from '../../../../src/outbox/segments/small-file.ts';
import { BootTimes } from '../../../../src/outbox/times/boot-times.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { MemoryFiles } from '../../../support/memory-files.ts';
import { FakeTimeSync } from '../../../support/outbox-fixture.ts';
import { DEFAULT_OUTBOX_SETTINGS } from '../../../support/outbox-settings.ts';

const ALL = 1_000_000;

let files: MemoryFiles;
let clock: FakeClock;
let shelf: SegmentShelf;
let boots: BootTimes;
let acknowledged: SequenceRanges;
let quarantined: SequenceRanges;
let nextSequence: number;
let reads: string[];

beforeEach(async () => {
  files = new MemoryFiles();
  await files.makeFolder('/outbox');
  reads = [];
  files.faults = {
    fail: (operation, path) => {
      if (operation === 'open' && path.endsWith('.seg')) reads.push(path);
      return undefined;
    },
  };
  clock = new FakeClock({ bootId: 'now' });
  const deps = { files, folder: '/outbox', clock, log: silentLog };
  shelf = new SegmentShelf({ ...deps, reading: new ReadingTurns(clock), onScanned: () => {} });
  const small = { unread: new UnreadFiles(clock), setAside: async () => {} };
  boots = await BootTimes.open({ ...deps, ...small, timeSync: new FakeTimeSync(), settings: DEFAULT_OUTBOX_SETTINGS });
  boots.refresh();
  [acknowledged, quarantined] = [new SequenceRanges(), new SequenceRanges()];
  nextSequence = 1;
});

interface Block {
  readonly count: number;
  readonly alarm?: boolean;
  readonly bootId?: string;
  readonly ownTime?: boolean;
}

/** Puts a segment of such blocks on the disk and the shelf. */
function segment(...blocks: readonly Block[]): { readonly segment: Segment; readonly infos: readonly BlockInfo[] } {
  const firstSequence = nextSequence;
  const infos: BlockInfo[] = [];
  const parts = [segmentHeader()];
  let at = segmentHeader().length;
  for (const { count, alarm = false, bootId = 'now', ownTime = false } of blocks) {
    const column = Array.from({ length: count }, (_none, row) => 1_000 + row);
    const { bytes, info } = frameBlock(
      new PayloadEncoder(),
      {
        devices: column.map(() => 'self'),
        keys: column.map(() => 'k'),
        values: column,
        monotonicMs: column,
        ...(ownTime ? { takenAtMs: column } : {}),
      },
      { alarm, bootId, firstSequence: nextSequence },
    );
    parts.push(bytes);
    infos.push({ ...info, offset: at });
    at += bytes.length;
    nextSequence += count;
  }
  const name = segmentFileName({ firstSequence, generation: 0 });
  const bytes = Buffer.concat(parts);
  files.put(`/outbox/${name}`, bytes);
  const placed: Segment = {
    name,
    firstSequence,
    lastSequence: nextSequence - 1,
    bytes: bytes.length,
    thinned: 0,
    count: 0,
    damagedBytes: 0,
  };
  shelf.add(placed);
  return { segment: placed, infos };
}

const lanesOf = (order: 'newest-first' | 'oldest-first' = 'newest-first', commitAgeMs = 5_000): Lanes =>
  new Lanes({
    clock,
    shelf,
    acknowledged,
    quarantined,
    boots,
    settings: { ...DEFAULT_OUTBOX_SETTINGS, order, commitAgeMs },
  });

async function given(
  lanes: Lanes,
  lane: Lane,
  maxEntries = ALL,
  beyond: readonly SequenceRange[] = [],
): Promise<string[]> {
  return (await lanes.select(lane, maxEntries, beyond)).map(({ info }) => `${info.firstSequence}-${info.lastSequence}`);
}

const TEN = { count: 10 };

describe('the backlog', () => {
  beforeEach(() => {
    segment(TEN, TEN);
    segment(TEN, TEN);
  });

  it.each([
    ['newest-first', ['31-40'], ['21-30', '31-40'], ['11-20', '21-30', '31-40']],
    ['oldest-first', ['1-10'], ['1-10', '11-20'], ['1-10', '11-20', '21-30']],
  ] as const)('gives whole blocks, at least one, in the order of their numbers: %s', async (order, one, two, three) => {
    const lanes = lanesOf(order);
    for (const most of [1, 10, 19]) expect(await given(lanes, 'backlog', most)).toEqual(one);
    expect(await given(lanes, 'backlog', 20)).toEqual(two);
    expect(await given(lanes, 'backlog', 39)).toEqual(three);
    expect(await given(lanes, 'backlog')).toEqual(['1-10', '11-20', '21-30', '31-40']);
  });

  it.each(['newest-first', 'oldest-first'] as const)(
    'passes over what is on its way, delivered or quarantined: %s',
    async (order) => {
      const lanes = lanesOf(order);
      expect(
        await given(lanes, 'backlog', ALL, [
          [31, 40],
          [1, 10],
        ]),
      ).toEqual(['11-20', '21-30']);
      // Of a block that is on its way in part, all is given.
      expect(await given(lanes, 'backlog', ALL, [[31, 39]])).toHaveLength(4);
      acknowledged.add(15, 30);
      expect(await given(lanes, 'backlog')).toEqual(['1-10', '11-20', '31-40']);
      quarantined.add(11, 14);
      expect(await given(lanes, 'backlog')).toEqual(['1-10', '31-40']);
      acknowledged.add(1, 1);
      acknowledged.add(32, 40);
      expect(await given(lanes, 'backlog')).toEqual(['1-10', '31-40']);
      acknowledged.add(1, 40);
      expect(await given(lanes, 'backlog')).toEqual([]);
    },
  );

  it('reads no segment of which nothing is left', async () => {
    acknowledged.add(1, 20);
    await given(lanesOf(), 'backlog');
    expect(reads).toEqual([expect.stringContaining('21-0.seg')]);
  });

  it('leaves a segment alone that cannot be read now', async () => {
    const [, newest] = shelf.segments;
    if (newest !== undefined) newest.unreadable = { untilMs: clock.monotonicMs() + 1_000, pages: new Map() };
    expect(await given(lanesOf(), 'backlog')).toEqual(['1-10', '11-20']);
    await clock.advance(1_000);
    expect(await given(lanesOf(), 'backlog')).toHaveLength(4);
  });

  it('keeps entries whose time is not known, unless they bring their own', async () => {
    segment({ count: 1, bootId: 'lost' }, { count: 1, bootId: 'lost', ownTime: true }, TEN);
    segment({ count: 2, bootId: 'lost' });
    const lanes = lanesOf();
    const due = ['1-10', '11-20', '21-30', '31-40', '42-42', '43-52'];
    expect(await given(lanes, 'backlog')).toEqual(due);
    expect(await given(lanes, 'backlog')).toEqual(due);
    // What is known to hold nothing else is not looked through again.
    reads.splice(0);
    await given(lanes, 'backlog');
    expect(reads.filter((path) => path.includes('53-0.seg'))).toEqual([]);
  });
});

describe('the present', () => {
  it('is what was committed within half a minute, the newest first, and no longer', async () => {
    segment(TEN);
    const lanes = lanesOf();
    expect([lanes.mayHold('live'), lanes.mayHold('backlog')]).toEqual([false, true]);
    const { infos } = segment(TEN, TEN);
    lanes.committed(infos.slice(0, 1));
    await clock.advance(10_000);
    lanes.committed(infos.slice(1));
    expect([lanes.mayHold('live'), lanes.counts()]).toEqual([true, { alarm: 0, live: 20 }]);
    expect(await given(lanes, 'live', 10)).toEqual(['21-30']);
    expect(await given(lanes, 'live')).toEqual(['11-20', '21-30']);
    expect(await given(lanes, 'backlog')).toEqual(['1-10']);
    await clock.advance(20_000);
    expect(await given(lanes, 'live')).toEqual(['11-20', '21-30']);
    await clock.advance(1);
    expect([await given(lanes, 'live'), await given(lanes, 'backlog')]).toEqual([['21-30'], ['1-10', '11-20']]);
    await clock.advance(10_000);
    expect([await given(lanes, 'live'), lanes.mayHold('live'), lanes.counts().live]).toEqual([[], false, 0]);
    expect(await given(lanes, 'backlog')).toHaveLength(3);
  });

  it('lasts two commits where those are rare', async () => {
    const lanes = lanesOf('newest-first', 60_000);
    lanes.committed(segment(TEN).infos);
    await clock.advance(120_000);
    expect(await given(lanes, 'live')).toEqual(['1-10']);
    await clock.advance(1);
    expect(await given(lanes, 'live')).toEqual([]);
  });

  it('gives a block once that thinning has made of several commits', async () => {
    const lanes = lanesOf();
    lanes.committed(segment(TEN).infos);
    await clock.advance(600);
    const [block] = segment({ count: 20 }).infos;
    if (block === undefined) expect.fail('there is no block');
    lanes.committed([{ ...block, lastSequence: 20 }]);
    await clock.advance(600);
    lanes.committed([{ ...block, firstSequence: 21 }]);
    expect(await given(lanes, 'live')).toEqual(['1-10', '11-30']);
  });

  it('ends where it was delivered; what is half delivered counts by the rest', async () => {
    const { infos } = segment(TEN, TEN);
    const lanes = lanesOf();
    lanes.committed(infos.slice(0, 1));
    await clock.advance(600);
    lanes.committed(infos.slice(1));
    acknowledged.add(1, 4);
    expect(lanes.counts()).toEqual({ alarm: 0, live: 16 });
    acknowledged.add(1, 10);
    expect(lanes.counts()).toEqual({ alarm: 0, live: 10 });
    expect(await given(lanes, 'live')).toEqual(['11-20']);
    acknowledged.add(11, 20);
    expect([lanes.counts().live, lanes.mayHold('live')]).toEqual([0, false]);
  });

  it('grows old together when commits follow each other quickly, and in a row', async () => {
    const { infos } = segment(TEN, TEN, TEN);
    const lanes = lanesOf();
    lanes.committed(infos.slice(0, 1));
    await clock.advance(499);
    lanes.committed(infos.slice(1, 2));
    await clock.advance(500);
    lanes.committed(infos.slice(2));
    await clock.advance(29_100);
    // The second is as old as the first.
    expect(await given(lanes, 'live')).toEqual(['21-30']);
  });

  it('goes before no backlog in the order of time', async () => {
    segment(TEN);
    const lanes = lanesOf('oldest-first');
    const { infos } = segment(TEN, TEN);
    lanes.committed(infos.slice(0, 1));
    await clock.advance(1_000);
    lanes.committed(infos.slice(1));
    expect(await given(lanes, 'live')).toEqual([]);
    acknowledged.add(1, 10);
    expect(await given(lanes, 'live', 10)).toEqual(['11-20']);
    expect(await given(lanes, 'live')).toEqual(['11-20', '21-30']);
  });

  it('holds no alarms', async () => {
    const lanes = lanesOf();
    lanes.committed(segment({ count: 3, alarm: true }).infos);
    expect([await given(lanes, 'live'), lanes.mayHold('live'), lanes.counts()]).toEqual([
      [],
      false,
      { alarm: 3, live: 0 },
    ]);
  });
});

describe('alarms', () => {
  const ALARM = { count: 2, alarm: true };

  it('of a segment that is gone keep no later ones back, and nothing is read for them', async () => {
    const lanes = lanesOf();
    const gone = segment(ALARM);
    segment(TEN);
    const later = segment(ALARM);
    const last = segment(ALARM);
    for (const { infos } of [gone, later, last]) lanes.committed(infos);
    for (const one of [gone, last]) await shelf.forget(one.segment);
    expect([await given(lanes, 'alarm'), reads]).toEqual([['13-14'], [`/outbox/${later.segment.name}`]]);
  });

  it('go wherever they lie, the oldest first, until they are delivered or are in quarantine', async () => {
    const lanes = lanesOf();
    expect(lanes.mayHold('alarm')).toBe(false);
    lanes.committed(segment(TEN, ALARM, TEN, ALARM).infos);
    expect(lanes.mayHold('alarm')).toBe(true);
    expect(await given(lanes, 'alarm')).toEqual(['11-12', '23-24']);
    expect(await given(lanes, 'alarm', 2)).toEqual(['11-12']);
    expect(await given(lanes, 'alarm', ALL, [[11, 12]])).toEqual(['23-24']);
    quarantined.add(11, 11);
    expect([await given(lanes, 'alarm'), lanes.counts().alarm]).toEqual([['11-12', '23-24'], 4]);
    acknowledged.add(12, 12);
    expect([await given(lanes, 'alarm'), lanes.counts().alarm]).toEqual([['23-24'], 3]);
  });

  it('of an earlier run are found in four segments at a look, the newest first', async () => {
    for (let at = 0; at < 6; at += 1) segment(ALARM, TEN);
    const lanes = lanesOf();
    expect(lanes.mayHold('alarm')).toBe(true);
    expect(await given(lanes, 'alarm')).toEqual(['25-26', '37-38', '49-50', '61-62']);
    expect(await given(lanes, 'alarm')).toHaveLength(6);
  });

  it('are not looked for in what was delivered, in what is gone, and never twice', async () => {
    const all = Array.from({ length: 7 }, () => segment(ALARM, TEN).segment);
    const lanes = lanesOf();
    acknowledged.add(73, 84);
    await shelf.forget(all[5] as Segment);
    expect(await given(lanes, 'alarm')).toEqual(['13-14', '25-26', '37-38', '49-50']);
    expect(await given(lanes, 'alarm')).toEqual(['1-2', '13-14', '25-26', '37-38', '49-50']);
    acknowledged.add(1, 100);
    expect(await given(lanes, 'alarm')).toEqual([]);
  });

  it('that lay in segments that are gone are forgotten', async () => {
    const lanes = lanesOf();
    const old = segment(ALARM);
    lanes.committed([...old.infos, ...segment(ALARM).infos]);
    await shelf.forget(old.segment);
    expect(await given(lanes, 'alarm')).toEqual(['3-4']);
    expect(lanes.counts().alarm).toBe(2);
  });

  it('are looked for again where the disk could not be read', async () => {
    const { segment: broken } = segment(ALARM);
    const lanes = lanesOf();
    files.faults = { fail: (operation) => (operation === 'read' ? { code: 'EIO' } : undefined) };
    await expect(given(lanes, 'alarm')).rejects.toMatchObject({ code: 'outbox/unreadable' });
    files.faults = {};
    expect([await given(lanes, 'alarm'), lanes.mayHold('alarm')]).toEqual([[], true]);
    await clock.advance(60_000);
    expect(shelf.isReadable(broken)).toBe(true);
    expect(await given(lanes, 'alarm')).toEqual(['1-2']);
  });

  it('wait while their time is not known', async () => {
    const lanes = lanesOf();
    lanes.committed(segment({ ...ALARM, bootId: 'lost' }, ALARM, { ...ALARM, bootId: 'lost', ownTime: true }).infos);
    expect(await given(lanes, 'alarm')).toEqual(['3-4', '5-6']);
  });
});
