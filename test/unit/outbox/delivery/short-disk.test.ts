/** A disk that others fill, or that takes no more: what the outbox gives up is bounded to what it needs itself; on a disk in memory. */
import { afterEach, describe, expect, it } from 'vitest';
import type { OutboxConfig } from '../../../../src/config/schema/agent-config.ts';
import type { Outbox } from '../../../../src/outbox/outbox.ts';
import { MemoryFiles, type Operation } from '../../../support/memory-files.ts';
import { drain, OutboxFixture } from '../../../support/outbox-fixture.ts';

/** Segments of 64 kB, of which a hundred blocks fill some seven. */
const SETTINGS = {
  maxBytes: 2 ** 20,
  commitAgeMs: 100,
  minFreeBytes: 10_000_000,
  retain: { forMs: 86_400_000, bytes: 2 ** 20 },
};
const BLOCKS = 100;
const ENTRIES = 1_000;
const SEGMENT_BYTES = 64 * 1024;
let fixture: OutboxFixture;
let files: MemoryFiles;

afterEach(() => fixture.remove());

/** An outage's backlog on a disk with room for it. */
async function backlog(settings: Partial<OutboxConfig> = {}, blocks = BLOCKS): Promise<Outbox> {
  fixture = await OutboxFixture.make({ ...SETTINGS, ...settings });
  files = new MemoryFiles();
  fixture.files = files;
  files.capacityBytes = 100_000_000;
  const outbox = await fixture.open();
  await fill(outbox, blocks);
  return outbox;
}

async function fill(outbox: Outbox, blocks: number, from = 0): Promise<void> {
  for (let block = from; block < from + blocks; block += 1)
    await fixture.commit(outbox, fixture.noise(ENTRIES, block * ENTRIES));
}

/** Another program takes the disk, but for so many bytes; the outbox notices within a few seconds. */
async function othersLeave(bytes: number): Promise<void> {
  files.foreignBytes = files.capacityBytes - files.usedBytes - bytes;
  await fixture.clock.advance(11_000);
}

function failing(operation: Operation, path: RegExp, code: string): void {
  files.faults = { fail: (asked, where) => (asked === operation && path.test(where) ? { code } : undefined) };
}

describe.each(['thin', 'drop-oldest'] as const)('below minFreeBytes, when full: %s', (whenFull) => {
  it('costs a backlog nothing while commits fit into space that was taken before', async () => {
    const outbox = await backlog({ whenFull });
    await othersLeave(9_900_000);
    for (let at = 0; at < 60; at += 1) await fixture.commit(outbox, [fixture.entry('tiny', at)]);
    expect(outbox.status()).toMatchObject({ thinned: 0, dropped: 0, heldEntries: BLOCKS * ENTRIES + 60 });
  });

  it('gives up the oldest in proportion to what is new, and grows no more', async () => {
    const outbox = await backlog({ whenFull });
    const { bytes, heldEntries } = outbox.status();
    await othersLeave(5_000_000);
    await fill(outbox, 20, BLOCKS);
    const after = outbox.status();
    expect(after.bytes).toBeLessThanOrEqual(bytes);
    const lost = after.thinned + after.dropped;
    expect(after.heldEntries).toBe(heldEntries + 20 * ENTRIES - lost);
    expect(lost).toBeGreaterThan(0);
    // As many as came, and what the last segment that went had more than was needed.
    const inSegment = (SEGMENT_BYTES / bytes) * heldEntries;
    expect(lost).toBeLessThan(20 * ENTRIES + 2 * inSegment);
    if (whenFull === 'thin') expect(after.dropped).toBe(0);
  });

  it('gives up nothing for what others take meanwhile', async () => {
    const outbox = await backlog({ whenFull });
    for (let left = 9_000_000; left > 0; left -= 1_000_000) {
      await othersLeave(left);
      await fixture.commit(outbox, [fixture.entry('tiny', left)]);
    }
    expect(outbox.status()).toMatchObject({ thinned: 0, dropped: 0 });
  });
});

describe('below minFreeBytes', () => {
  it('what was delivered goes first, as far as space is missing, and no undelivered entry', async () => {
    const outbox = await backlog();
    await drain(outbox);
    await fill(outbox, 20, BLOCKS);
    const { bytes } = outbox.status();
    await othersLeave(SETTINGS.minFreeBytes - 3 * SEGMENT_BYTES);
    await fixture.commit(outbox, [fixture.entry('tiny', 1)]);
    expect(bytes - outbox.status().bytes).toBeGreaterThan(2 * SEGMENT_BYTES);
    expect(bytes - outbox.status().bytes).toBeLessThan(5 * SEGMENT_BYTES);
    expect(outbox.status()).toMatchObject({ thinned: 0, dropped: 0, heldEntries: 20 * ENTRIES + 1 });
  });

  it('what was given to others is not taken again while they lack it', async () => {
    const outbox = await backlog();
    await drain(outbox);
    await fill(outbox, 20, BLOCKS);
    await othersLeave(1_000_000);
    await fixture.commit(outbox, [fixture.entry('tiny', 1)]);
    const { bytes } = outbox.status();
    for (let round = 0; round < 3; round += 1) await fill(outbox, 20, BLOCKS + 20 * (round + 1));
    expect(outbox.status().bytes).toBeLessThanOrEqual(bytes + SEGMENT_BYTES);
    expect(outbox.status().thinned).toBeGreaterThan(0);
  });

  it('is said in the status, and what is lost by it is telemetry', async () => {
    const outbox = await backlog({ whenFull: 'drop-oldest' });
    expect(outbox.status().missingBytes).toBeUndefined();
    await othersLeave(4_000_000);
    await fill(outbox, 20, BLOCKS);
    expect(outbox.status().missingBytes).toBeGreaterThan(5_000_000);
    await fixture.clock.advance(70_000);
    const [told] = (await drain(outbox)).filter(({ key }) => key === 'outboxDropped');
    expect(told?.value).toBe(outbox.status().dropped);
  });

  it('lets the outbox grow again once there is space', async () => {
    const outbox = await backlog();
    await othersLeave(5_000_000);
    await fill(outbox, 5, BLOCKS);
    const { bytes, thinned } = outbox.status();
    files.foreignBytes = 0;
    await fixture.clock.advance(11_000);
    await fill(outbox, 20, BLOCKS + 5);
    expect(outbox.status()).toMatchObject({ thinned, dropped: 0 });
    expect(outbox.status().bytes).toBeGreaterThan(bytes);
  });

  it('takes commits on while the free space cannot be read', async () => {
    const outbox = await backlog();
    failing('statfs', /./, 'EMFILE');
    await fixture.clock.advance(11_000);
    await fill(outbox, 5, BLOCKS);
    expect(outbox.status()).toMatchObject({ heldEntries: (BLOCKS + 5) * ENTRIES, inMemoryEntries: 0 });
  });
});

describe('a disk that takes no more', () => {
  it.each([0, SETTINGS.minFreeBytes])('thins all but one segment, with minFreeBytes %i', async (minFreeBytes) => {
    const outbox = await backlog({ minFreeBytes, whenFull: 'thin' });
    const inSegment = (SEGMENT_BYTES / outbox.status().bytes) * BLOCKS * ENTRIES;
    files.foreignBytes = files.capacityBytes - files.usedBytes;
    await fixture.until(fill(outbox, 60, BLOCKS));
    const { dropped, thinned, heldEntries } = outbox.status();
    expect(thinned).toBeGreaterThan(inSegment);
    expect(dropped).toBeLessThan(1.5 * inSegment);
    expect(heldEntries).toBe((BLOCKS + 60) * ENTRIES - dropped - thinned);
  });

  it('thins where the quota of this user is full, as well', async () => {
    const outbox = await backlog({ minFreeBytes: 0, whenFull: 'thin' });
    const inSegment = (SEGMENT_BYTES / outbox.status().bytes) * BLOCKS * ENTRIES;
    const quotaBytes = files.usedBytes;
    files.faults = {
      fail: (operation, path, span) =>
        operation === 'write' &&
        /\.seg(\.tmp)?$/.test(path) &&
        files.usedBytes + ((span?.to ?? 0) - (span?.from ?? 0)) > quotaBytes
          ? { code: 'EDQUOT' }
          : undefined,
    };
    await fixture.until(fill(outbox, 60, BLOCKS));
    const { dropped, thinned } = outbox.status();
    expect(thinned).toBeGreaterThan(inSegment);
    expect(dropped).toBeLessThan(1.5 * inSegment);
  });

  it('costs a backlog nothing for want of room for times, while commits fit into space that was taken before', async () => {
    const outbox = await backlog({ minFreeBytes: 0, whenFull: 'drop-oldest' });
    const { heldEntries } = outbox.status();
    failing('write', /boots.*\.tmp$/, 'ENOSPC');
    fixture.clock.stepWall(5_000);
    const appended = outbox.append([fixture.entry('tiny', 1)]);
    await fixture.clock.advance(90_000);
    await appended;
    expect(outbox.status()).toMatchObject({ heldEntries: heldEntries + 1, dropped: 0, thinned: 0 });
  });

  it('keeps entries waiting for their times for a minute, and for a whole one again after it took the times', async () => {
    const outbox = await backlog({ minFreeBytes: 0 }, 0);
    const durable: number[] = [];
    for (const round of [1, 2]) {
      failing('write', /boots.*\.tmp$/, 'ENOSPC');
      fixture.clock.stepWall(20_000);
      const appended = outbox.append([fixture.entry('tiny', round)]).then(() => durable.push(round));
      await fixture.clock.advance(55_000);
      expect(durable).toHaveLength(round - 1);
      files.faults = {};
      await fixture.until(appended);
    }
  });

  it('gets the space of all that was delivered, and then takes the commit', async () => {
    const outbox = await backlog({ minFreeBytes: 0 });
    await drain(outbox);
    const delivered = outbox.status().bytes;
    files.foreignBytes = files.capacityBytes - files.usedBytes;
    await fixture.until(fill(outbox, 10, BLOCKS));
    expect(outbox.status()).toMatchObject({ heldEntries: 10 * ENTRIES, dropped: 0, thinned: 0 });
    expect(outbox.status().bytes).toBeLessThan(0.5 * delivered);
  });

  it('gets the space that the next commit needs from the oldest entries', async () => {
    const outbox = await backlog({ minFreeBytes: 0, whenFull: 'drop-oldest' });
    files.foreignBytes = files.capacityBytes - files.usedBytes;
    await fixture.until(fill(outbox, 10, BLOCKS));
    const { dropped, heldEntries } = outbox.status();
    expect(dropped).toBeGreaterThan(0);
    expect(heldEntries).toBe((BLOCKS + 10) * ENTRIES - dropped);
    expect(heldEntries).toBeGreaterThan(BLOCKS * ENTRIES * 0.8);
  });

  it('gets it from them, too, when it is the quota of this user that is full', async () => {
    const outbox = await backlog({ minFreeBytes: 0, whenFull: 'drop-oldest' });
    const quotaBytes = files.usedBytes;
    files.faults = {
      fail: (operation, path) =>
        operation === 'write' && path.endsWith('.seg') && files.usedBytes > quotaBytes - SEGMENT_BYTES / 2
          ? { code: 'EDQUOT' }
          : undefined,
    };
    await fixture.until(fill(outbox, 10, BLOCKS));
    const { dropped, heldEntries } = outbox.status();
    expect(heldEntries).toBe((BLOCKS + 10) * ENTRIES - dropped);
    expect(heldEntries).toBeGreaterThan(BLOCKS * ENTRIES * 0.6);
  });

  it('gets one segment and no more when others take what was given', async () => {
    const outbox = await backlog({ minFreeBytes: 0, whenFull: 'drop-oldest' });
    const before = outbox.status();
    files.faults = {
      delay: () => {
        files.foreignBytes = files.capacityBytes - files.usedBytes;
        return undefined;
      },
    };
    const filling = fill(outbox, 10, BLOCKS);
    filling.catch(() => {});
    await fixture.clock.advance(600_000);
    expect(before.bytes - outbox.status().bytes).toBeLessThanOrEqual(2 * SEGMENT_BYTES);
    files.faults = {};
    files.foreignBytes = 0;
    await fixture.until(filling);
  });
});

it('a bound that was made smaller holds from the first commit, be it one for which no file grows', async () => {
  await fixture.until((await backlog()).close());
  fixture.settings = { ...fixture.settings, maxBytes: SETTINGS.maxBytes / 4 };
  const outbox = await fixture.open();
  expect(outbox.status().bytes).toBeGreaterThan(fixture.settings.maxBytes);
  await fixture.commit(outbox, [fixture.entry('tiny', 1)]);
  expect(outbox.status().bytes).toBeLessThanOrEqual(fixture.settings.maxBytes);
});

describe('a segment that cannot be taken off the disk', () => {
  it('stays, uncounted, and others give way in its place', async () => {
    const outbox = await backlog({ whenFull: 'drop-oldest' });
    const [stuck = ''] = files.paths.filter((path) => path.endsWith('.seg'));
    await othersLeave(5_000_000);
    failing('unlink', new RegExp(stuck), 'EIO');
    await fill(outbox, 20, BLOCKS);
    const { dropped, heldEntries } = outbox.status();
    expect(heldEntries).toBe((BLOCKS + 20) * ENTRIES - dropped);
    expect(dropped).toBeGreaterThan(0);
    files.faults = {};
    const given = (await drain(outbox)).filter(({ key }) => key.startsWith('key'));
    expect(given).toHaveLength(heldEntries);
    expect(Math.min(...given.map(({ sequence }) => sequence))).toBe(1);
  });

  it('does not keep others from going when their time is over', async () => {
    await backlog({ maxAgeMs: 3_600_000 });
    const [stuck = ''] = files.paths.filter((path) => path.endsWith('.seg'));
    failing('unlink', new RegExp(stuck), 'EIO');
    await fixture.clock.advance(7_200_000);
    expect(files.paths.filter((path) => path.endsWith('.seg'))).toHaveLength(2);
    expect(files.paths).toContain(stuck);
  });
});

describe('thinning', () => {
  it('takes all out of a delivered segment that cannot be taken off the disk', async () => {
    const outbox = await backlog({ whenFull: 'thin' });
    const [stuck = ''] = files.paths.filter((path) => path.endsWith('.seg'));
    await drain(outbox);
    await othersLeave(5_000_000);
    failing('unlink', new RegExp(stuck), 'EIO');
    await fill(outbox, 4 * BLOCKS, BLOCKS);
    expect(files.contentOf(stuck).length).toBeLessThan(200);
  });

  it('leaves alarms whole', async () => {
    const outbox = await backlog({ maxBytes: 256 * 1024 }, 0);
    let alarms = 0;
    for (let block = 0; block < 80; block += 1) {
      const entries = fixture.noise(20, block * 20).map((entry) => ({ ...entry, class: 'alarm' as const }));
      await outbox.append(entries);
      alarms += entries.length;
      await fill(outbox, 1, block);
    }
    const { thinned, dropped } = outbox.status();
    expect([thinned > 10_000, dropped]).toEqual([true, 0]);
    const kept = (await drain(outbox)).filter((entry) => entry.class === 'alarm' && entry.key.startsWith('key'));
    expect(kept).toHaveLength(alarms);
  });

  it.each(['rename', 'sync-folder'] as const)('that fails at its %s loses and damages nothing', async (operation) => {
    const outbox = await backlog();
    await othersLeave(5_000_000);
    failing(operation, operation === 'rename' ? /\.seg\.tmp$/ : /outbox-[^/]*$/, 'EIO');
    const filling = fill(outbox, 6, BLOCKS);
    filling.catch(() => {});
    await fixture.clock.advance(60_000);
    files.faults = {};
    await fixture.until(filling);
    const { thinned, dropped, damaged, heldEntries } = outbox.status();
    expect([damaged, thinned + dropped > 0]).toEqual([0, true]);
    expect((await drain(outbox)).filter(({ key }) => key.startsWith('key'))).toHaveLength(heldEntries);
    expect(files.paths.filter((path) => path.endsWith('.tmp'))).toEqual([]);
  });
});
