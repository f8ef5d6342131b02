/** Reads that fail: what is tried again and when, what is given up, and what can still be had; on a disk in memory. */
import { beforeEach, describe, expect, it } from 'vitest';
import { isLost } from '../../../../src/host/files.ts';
import { silentLog } from '../../../../src/host/log.ts';
import { ReadingTurns } from '../../../../src/outbox/segments/reading-turns.ts';
import { type ReadableSegment, SegmentReader } from '../../../../src/outbox/segments/segment-reader.ts';
import { readSmallFile, UnreadFiles } from '../../../../src/outbox/segments/small-file.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { MemoryFiles } from '../../../support/memory-files.ts';

let files: MemoryFiles;
let setAside: string[];

beforeEach(async () => {
  files = new MemoryFiles();
  await files.makeFolder('/outbox');
  setAside = [];
});

/** The first so many reads fail. */
function failing(times: number, code: string): void {
  let reads = 0;
  files.faults = { fail: (operation) => (operation === 'read' && ++reads <= times ? { code } : undefined) };
}

describe('a small file', () => {
  const clock = new FakeClock();
  let unread: UnreadFiles;
  beforeEach(() => {
    unread = new UnreadFiles(clock);
  });
  const read = (): Promise<Buffer | undefined> =>
    readSmallFile({ files, folder: '/outbox', unread, setAside: async (name) => void setAside.push(name) }, 'small');

  it.each(['EIO', 'EUCLEAN', 'EBADMSG'])(
    'is read a third time at once for %s, then again for ten minutes, and only then set aside',
    async (code) => {
      files.put('/outbox/small', 'text');
      failing(2, code);
      expect([(await read())?.toString(), setAside]).toEqual(['text', []]);
      failing(Number.POSITIVE_INFINITY, code);
      await expect(read()).rejects.toMatchObject({ code: 'host/read-failed' });
      await clock.advance(599_999);
      await expect(read()).rejects.toMatchObject({ code: 'host/read-failed' });
      expect(setAside).toEqual([]);
      await clock.advance(1);
      expect([await read(), setAside]).toEqual([undefined, ['small']]);
    },
  );

  it('that was read between has its ten minutes anew, and has them for itself', async () => {
    files.put('/outbox/small', 'text');
    failing(3, 'EIO');
    await expect(read()).rejects.toThrow();
    await clock.advance(599_000);
    expect((await read())?.toString()).toBe('text');
    failing(3, 'EIO');
    await clock.advance(2_000);
    await expect(read()).rejects.toThrow();
    expect([unread.wasRefused('another'), setAside]).toEqual([false, []]);
  });

  it('stays where it is when the fault says nothing about it', async () => {
    files.put('/outbox/small', 'text');
    failing(1, 'EMFILE');
    await expect(read()).rejects.toThrow();
    expect(setAside).toEqual([]);
  });

  it('that is missing is nothing, and one that is none of ours is set aside', async () => {
    expect([await read(), setAside]).toEqual([undefined, []]);
    files.put('/outbox/small', Buffer.alloc(16 * 1024 * 1024));
    expect((await read())?.length).toBe(16 * 1024 * 1024);
    files.put('/outbox/small', Buffer.alloc(16 * 1024 * 1024 + 1));
    expect([await read(), setAside]).toEqual([undefined, ['small']]);
  });

  it('is lost by faults of the disk only', () => {
    const lost = (code: string): boolean => isLost(Object.assign(new Error(code), { code }));
    expect(['EIO', 'EUCLEAN', 'EBADMSG', 'EMFILE', 'ENOENT'].map(lost)).toEqual([true, true, true, false, false]);
  });
});

describe('a segment', () => {
  const PAGE = 4_096;
  let clock: FakeClock;
  let reader: SegmentReader;
  let segment: ReadableSegment;

  beforeEach(() => {
    clock = new FakeClock();
    reader = new SegmentReader({ files, folder: '/outbox', clock, log: silentLog, reading: new ReadingTurns(clock) });
    segment = { name: 'a.seg' };
    files.put('/outbox/a.seg', Buffer.alloc(3 * PAGE, 7));
  });

  it('that cannot be read is left alone for a minute, and as good as ever when it can be', async () => {
    failing(1, 'EIO');
    await expect(reader.read(segment, 0, 10)).rejects.toMatchObject({ code: 'outbox/unreadable', recovery: 'retry' });
    const nowMs = clock.monotonicMs();
    expect(segment.unreadable).toEqual({
      untilMs: nowMs + 60_000,
      nothingSinceMs: nowMs,
      pages: new Map([[0, { sinceMs: nowMs, tries: 1 }]]),
    });
    await clock.advance(59_999);
    expect(reader.isReadable(segment)).toBe(false);
    await clock.advance(1);
    expect(reader.isReadable(segment)).toBe(true);
    expect([...(await reader.read(segment, 0, 2))]).toEqual([7, 7]);
    expect(segment.unreadable).toBeUndefined();
  });

  /** The disk does not give these pages. */
  const refuse = (...pages: readonly number[]): void => {
    files.faults = {
      fail: (operation, _path, span) =>
        operation === 'read' &&
        pages.some((page) => span !== undefined && span.from < (page + 1) * PAGE && span.to > page * PAGE)
          ? { code: 'EIO' }
          : undefined,
    };
  };

  /** Asks for bytes once a minute, for so many minutes; the disk gives none of them. */
  async function refused(minutes: number, from = 0, length = 3 * PAGE): Promise<void> {
    for (let minute = 0; minute < minutes; minute += 1) {
      await expect(reader.read(segment, from, length)).rejects.toMatchObject({ code: 'outbox/unreadable' });
      await clock.advance(60_000);
    }
  }

  it('that failed for three quarters of an hour gives what its pages give alone at the second time, and zeros for the rest', async () => {
    const sinceMs = clock.monotonicMs();
    failing(Number.POSITIVE_INFINITY, 'EIO');
    await refused(45, 100, 2 * PAGE);
    expect([...(segment.unreadable?.pages ?? [])].map(([page, tried]) => [page, tried.sinceMs, tried.tries])).toEqual(
      [0, 1, 2].map((page) => [page, sinceMs, 45]),
    );
    refuse(1);
    await refused(1, 100, 2 * PAGE);
    const bytes = await reader.read(segment, 100, 2 * PAGE);
    expect(bytes.length).toBe(2 * PAGE);
    expect(bytes.subarray(0, PAGE - 100).every((byte) => byte === 7)).toBe(true);
    expect(bytes.subarray(PAGE - 100, 2 * PAGE - 100).every((byte) => byte === 0)).toBe(true);
    expect(bytes.subarray(2 * PAGE - 100).every((byte) => byte === 7)).toBe(true);
    expect([...(segment.unreadable?.pages.keys() ?? [])]).toEqual([1]);
  });

  it('is not given up at the second fault ever, however late it comes, but when it was tried two dozen times', async () => {
    failing(1, 'EIO');
    await expect(reader.read(segment, 0, 3 * PAGE)).rejects.toThrow();
    await clock.advance(25 * 3_600_000);
    refuse(1);
    for (let tries = 1; tries < 24 + 1; tries += 1) {
      await expect(reader.read(segment, 0, 3 * PAGE)).rejects.toThrow();
      await clock.advance((segment.unreadable?.untilMs ?? 0) - clock.monotonicMs());
    }
    const bytes = await reader.read(segment, 0, 3 * PAGE);
    expect([bytes[0], bytes[PAGE], bytes[2 * PAGE]]).toEqual([7, 0, 7]);
  });

  it('is not given up for what says nothing of the disk, and is left alone for a minute all the same', async () => {
    files.faults = { fail: (operation) => (operation === 'open' ? { code: 'EMFILE' } : undefined) };
    await refused(26 * 60);
    expect(segment.unreadable).toEqual({ untilMs: clock.monotonicMs(), pages: new Map() });
    refuse(1);
    await refused(45 + 1);
    expect((await reader.read(segment, 0, 3 * PAGE))[PAGE]).toBe(0);
    files.faults = {};
    expect((await reader.read(segment, 0, 3 * PAGE))[PAGE]).toBe(7);
    expect(segment.unreadable).toBeUndefined();
  });

  it('loses no page that fails alone for the first time, once it is tried so', async () => {
    refuse(1);
    await refused(45);
    refuse(1, 2);
    await refused(1);
    refuse(1);
    const bytes = await reader.read(segment, 0, 3 * PAGE);
    expect([bytes[0], bytes[PAGE], bytes[2 * PAGE]]).toEqual([7, 0, 7]);
  });

  it.each([
    [[0, 2], PAGE, 2],
    [[0, 1], PAGE, 1],
    [[1, 2], PAGE, 2],
  ] as const)(
    'gives zeros for its bad pages %j when the disk gives its first page, or an end of what is wanted',
    async (bad, from, zero) => {
      refuse(...bad);
      await refused(45 + 1, from, 2 * PAGE);
      expect((await reader.read(segment, from, 2 * PAGE))[(zero - 1) * PAGE]).toBe(0);
    },
  );

  it('gives zeros for each page that failed for three quarters of an hour, whatever else of it is read well meanwhile, and for no other', async () => {
    refuse(1);
    for (let minute = 0; minute < 45; minute += 1) {
      await expect(reader.read(segment, PAGE, 10)).rejects.toThrow();
      expect([...(await reader.read(segment, 2 * PAGE, 1))]).toEqual([7]);
      await clock.advance(60_000);
    }
    await refused(1, PAGE, 10);
    expect([...(await reader.read(segment, PAGE, 2))]).toEqual([0, 0]);
    refuse(1, 2);
    // Its time begins now.
    for (let minute = 0; minute < 45 + 1; minute += 1) {
      await expect(reader.read(segment, PAGE, 2 * PAGE)).rejects.toMatchObject({ code: 'outbox/unreadable' });
      expect(segment.unreadable?.untilMs).toBe(clock.monotonicMs() + 60_000);
      await clock.advance(60_000);
    }
    const bytes = await reader.read(segment, 0, 3 * PAGE);
    expect([bytes[0], bytes[PAGE], bytes[2 * PAGE]]).toEqual([7, 0, 0]);
    refuse(2);
    expect([...(await reader.read(segment, PAGE, 1))]).toEqual([7]);
    refuse(1, 2);
    await expect(reader.read(segment, PAGE, 1)).rejects.toThrow();
  });

  it('has its day anew when the disk gave anything of it between', async () => {
    refuse(0, 1, 2);
    await expect(reader.read(segment, 0, 3 * PAGE)).rejects.toThrow();
    await clock.advance(23 * 3_600_000);
    refuse(0, 1);
    expect([...(await reader.read(segment, 2 * PAGE, 1))]).toEqual([7]);
    refuse(0, 1, 2);
    await refused(45, 0, PAGE);
    await clock.advance(24 * 3_600_000 - 45 * 60_000 - 1);
    await expect(reader.read(segment, 0, PAGE)).rejects.toThrow();
    await clock.advance(1);
    expect([...(await reader.read(segment, 0, 1))]).toEqual([0]);
  });

  it('of which the disk gives nothing is tried for a day, more seldom by and by, and is as good as ever when it can be read through', async () => {
    const sinceMs = clock.monotonicMs();
    failing(Number.POSITIVE_INFINITY, 'EIO');
    let tries = 0;
    for (; clock.monotonicMs() - sinceMs < 23.5 * 3_600_000; tries += 1) {
      await expect(reader.read(segment, 0, 3 * PAGE)).rejects.toMatchObject({ code: 'outbox/unreadable' });
      await clock.advance((segment.unreadable?.untilMs ?? 0) - clock.monotonicMs());
    }
    expect(tries).toBeLessThan(45 + 6 * 24);
    const inTime = structuredClone(segment);
    files.faults = {};
    expect((await reader.read(segment, 0, 3 * PAGE)).every((byte) => byte === 7)).toBe(true);
    expect(segment.unreadable).toBeUndefined();
    failing(Number.POSITIVE_INFINITY, 'EIO');
    await clock.advance(3_600_000);
    expect((await reader.read(inTime, 0, 3 * PAGE)).every((byte) => byte === 0)).toBe(true);
    expect(inTime.unreadable?.nothingSinceMs).toBe(sinceMs);
  });

  it('is opened anew after a failure: the file may be another by then', async () => {
    await reader.read(segment, 0, 1);
    failing(1, 'EIO');
    await expect(reader.read(segment, 0, 1)).rejects.toThrow();
    let opened = 0;
    files.faults = {
      fail: (operation) => {
        if (operation === 'open') opened += 1;
        return undefined;
      },
    };
    await reader.read(segment, 0, 1);
    expect(opened).toBe(1);
  });

  it('stays open while it is read, and is opened again after it was forgotten', async () => {
    let opened = 0;
    files.faults = {
      fail: (operation) => {
        if (operation === 'open') opened += 1;
        return undefined;
      },
    };
    await reader.read(segment, 0, 1);
    await reader.read(segment, 1, 1);
    await reader.forget({ name: 'b.seg' });
    await reader.read(segment, 2, 1);
    expect(opened).toBe(1);
    await reader.forget(segment);
    await reader.read(segment, 2, 1);
    expect(opened).toBe(2);
    expect((await reader.read(segment, 3 * PAGE - 1, 10)).length).toBe(1);
  });
});
