/** What gives way when the disk is full or failing, and what does not; on a disk in memory. */
import { afterEach, describe, expect, it } from 'vitest';
import type { Outbox } from '../../../src/outbox/outbox.ts';
import { decimate } from '../../../src/outbox/thinning.ts';
import { drain, NO_LIMITS, OutboxFixture } from '../../support/outbox-fixture.ts';
import { MemoryFiles } from '../../support/outbox-memory-files.ts';

const SMALL = 64 * 1024;
/** So that a test fills the outbox within the minute in which nothing is reported. */
const QUICK_MS = 100;
let fixture: OutboxFixture;
let files: MemoryFiles;

async function open(settings: Parameters<typeof OutboxFixture.make>[0] = {}): Promise<Outbox> {
  fixture = await OutboxFixture.make(settings);
  files = new MemoryFiles();
  fixture.files = files;
  return fixture.open();
}

/** Noise, so that nothing packs it away. */
async function fill(outbox: Outbox, blocks: number, from = 0): Promise<void> {
  for (let block = from; block < from + blocks; block += 1) {
    const entries = Array.from({ length: 200 }, (_none, at) => fixture.entry(`key${at % 4}`, noise(block * 200 + at)));
    await fixture.commit(outbox, entries);
  }
}

function noise(at: number): number {
  const mixed = Math.imul(at ^ (at >>> 15) ^ 0x6d2b79f5, 0x2c1b3c6d);
  return (Math.imul(mixed ^ (mixed >>> 12), 0x297a2d39) ^ (mixed >>> 7)) >>> 8;
}

afterEach(() => fixture.remove());

describe('when the bound is reached', () => {
  it('thins the oldest half before anything is dropped, and stays within the bound', async () => {
    const outbox = await open({ maxBytes: SMALL, commitAgeMs: QUICK_MS });
    await fill(outbox, 110);
    const { thinned, dropped, heldEntries } = outbox.status();
    expect(thinned).toBeGreaterThan(1_000);
    expect(files.usedBytes).toBeLessThanOrEqual(SMALL);
    expect(heldEntries).toBe(110 * 200 - thinned - dropped);
    const given = await drain(outbox);
    expect(given).toHaveLength(heldEntries);
    // The newest are whole.
    expect(given.filter(({ sequence }) => sequence > 109 * 200)).toHaveLength(200);
  });

  it('drops the oldest when that is asked for, and counts them', async () => {
    const outbox = await open({ maxBytes: SMALL, whenFull: 'drop-oldest', commitAgeMs: QUICK_MS });
    await fill(outbox, 110);
    const { thinned, dropped, heldEntries } = outbox.status();
    expect([thinned, dropped > 0, heldEntries]).toEqual([0, true, 110 * 200 - dropped]);
    const sequences = (await drain(outbox)).map(({ sequence }) => sequence).sort((a, b) => a - b);
    expect([sequences[0], sequences.at(-1)]).toEqual([dropped + 1, 110 * 200]);
    expect(files.usedBytes).toBeLessThanOrEqual(SMALL);
  });

  it('refuses the newest when that is asked for, but takes alarms', async () => {
    const outbox = await open({ maxBytes: SMALL, whenFull: 'drop-newest', commitAgeMs: QUICK_MS });
    await expect(fill(outbox, 110)).rejects.toMatchObject({ code: 'outbox/full' });
    const before = outbox.status();
    await outbox.append([fixture.entry('smoke', true, { class: 'alarm' })]);
    expect((await outbox.peek('alarm', NO_LIMITS))?.entries.keys).toEqual(['smoke']);
    expect(before.dropped).toBe(200);
    const values = (await drain(outbox)).filter(({ key }) => key.startsWith('key'));
    expect(values[0]?.sequence).toBeDefined();
    expect(values).toHaveLength(before.heldEntries);
  });

  it('lets go of delivered segments first, and loses nothing by it', async () => {
    const outbox = await open({ maxBytes: SMALL });
    for (let round = 0; round < 12; round += 1) {
      await fill(outbox, 10, round * 10);
      expect(await drain(outbox)).toHaveLength(2_000);
    }
    expect(outbox.status()).toMatchObject({ thinned: 0, dropped: 0, heldEntries: 0 });
    expect(files.usedBytes).toBeLessThanOrEqual(SMALL);
  });

  it('leaves the free space that others need', async () => {
    const outbox = await open({ minFreeBytes: 1_000_000 });
    await fill(outbox, 20);
    files.capacityBytes = files.usedBytes + 900_000;
    const before = files.usedBytes;
    await fixture.clock.advance(11_000);
    await fill(outbox, 60, 20);
    expect(files.usedBytes).toBeLessThan(before + 200_000);
  });
});

describe('what was lost', () => {
  it('is telemetry: totals that have grown are reported within a minute or so', async () => {
    const outbox = await open({ maxBytes: SMALL });
    await fill(outbox, 110);
    await fixture.clock.advance(130_000);
    const reports = (await drain(outbox)).filter(({ key }) => key === 'outboxThinned').map(({ value }) => value);
    expect(reports.at(-1)).toBe(outbox.status().thinned);
  });
});

describe('age', () => {
  it('drops what is too old to be of use', async () => {
    const outbox = await open({ maxBytes: SMALL, maxAgeMs: 3_600_000 });
    await fill(outbox, 20);
    await fixture.clock.advance(7_200_000);
    await fill(outbox, 20, 20);
    await fixture.clock.advance(61_000);
    expect(outbox.status().dropped).toBeGreaterThan(3_000);
    expect((await drain(outbox)).filter(({ key, sequence }) => key.startsWith('key') && sequence > 4_000)).toHaveLength(4_000);
  });

  it('keeps delivered entries for their time, for readers, and lets them go after it', async () => {
    const outbox = await open({ maxBytes: SMALL, retainForMs: 3_600_000, retainBytes: SMALL });
    await fill(outbox, 20);
    await drain(outbox);
    await fixture.clock.advance(61_000);
    expect(await count(outbox)).toBe(4_000);
    await fixture.clock.advance(7_200_000);
    await fill(outbox, 1, 20);
    await fixture.clock.advance(61_000);
    expect(await count(outbox)).toBeLessThan(1_500);
  });
});

describe('on a failing disk', () => {
  it.each(['EIO', 'ENOSPC', 'EROFS'])('keeps entries in memory through %s, raises an alert, and recovers by itself', async (code) => {
    const outbox = await open();
    await fill(outbox, 1);
    files.faults = { fail: (operation) => (operation === 'read' || operation === 'list' ? undefined : { code, short: true }) };
    const appended = fill(outbox, 1, 1);
    await fixture.clock.advance(20_000);
    expect(outbox.status()).toMatchObject({ fault: code, inMemoryEntries: 200 });
    files.faults = {};
    await fixture.until(appended);
    expect(outbox.status()).toMatchObject({ inMemoryEntries: 0, heldEntries: 400, dropped: 0 });
    expect(outbox.status().fault).toBeUndefined();
    expect(await drain(outbox)).toHaveLength(400);
  });

  it('tries once more when it is closed', async () => {
    const outbox = await open();
    files.faults = { fail: (operation) => (operation === 'write' ? { code: 'EIO' } : undefined) };
    const appended = outbox.append([fixture.entry('a', 1)]);
    await fixture.clock.advance(100);
    expect(outbox.status().fault).toBe('EIO');
    files.faults = {};
    await fixture.until(outbox.close());
    await appended;
    expect(await drain(await fixture.open())).toHaveLength(1);
  });

  it('bounds what waits in memory: the oldest regular entries give way, alarms stay', async () => {
    const outbox = await open({ memoryEntries: 1_000, commitEntries: 100 });
    files.faults = { fail: (operation) => (operation === 'write' ? { code: 'EIO' } : undefined) };
    const refused: string[] = [];
    for (let at = 0; at < 40; at += 1) {
      const entryClass = at === 5 ? 'alarm' : 'regular';
      const entries = Array.from({ length: 50 }, (_none, row) => fixture.entry('a', at * 50 + row, { class: entryClass }));
      outbox.append(entries).catch((error: { code: string }) => refused.push(`${at} ${error.code}`));
      await fixture.clock.advance(10);
    }
    expect(outbox.status().inMemoryEntries).toBeLessThanOrEqual(1_000);
    expect(outbox.status().dropped).toBe(50 * refused.length);
    expect(refused.length).toBeGreaterThan(15);
    expect(refused.some((line) => line.startsWith('5 ') || line.startsWith('39 '))).toBe(false);
    files.faults = {};
    await fixture.until(outbox.flush());
    expect((await drain(outbox)).filter((entry) => entry.class === 'alarm')).toHaveLength(50);
  });

  it('a sync that hangs delays nothing but the appends that wait for it', async () => {
    const outbox = await open();
    await fill(outbox, 1);
    let release: () => void = () => {};
    const hanging = new Promise<void>((resolve) => {
      release = resolve;
    });
    let calls = 0;
    files.faults = {
      delay: (operation) => {
        if (operation !== 'write' && operation !== 'sync') return undefined;
        calls += 1;
        return hanging;
      },
    };
    const appended = fill(outbox, 1, 1);
    await fixture.clock.advance(60_000);
    const batch = await fixture.until(outbox.peek('backlog', NO_LIMITS));
    expect(batch?.entries).toHaveLength(200);
    if (batch !== undefined) await outbox.acknowledge(batch);
    for (let at = 0; at < 20; at += 1) void outbox.append([fixture.entry('b', at)]).catch(() => {});
    await fixture.clock.advance(60_000);
    // No more of them wait for the disk than threads that others can spare: two commits, and the boot's offset once.
    expect(calls).toBeLessThanOrEqual(3);
    release();
    files.faults = {};
    await fixture.until(appended);
    await fixture.until(outbox.flush());
    expect(await drain(outbox)).toHaveLength(220);
  });

  it('opens on a file system that is read-only, whatever lies there, delivers, and keeps new entries in memory', async () => {
    const outbox = await open();
    await fill(outbox, 2);
    await fixture.until(outbox.close());
    for (const name of ['boots.json.tmp', 'stranger', '0000000000009999-0.seg']) files.put(`${fixture.folder}/${name}`, Buffer.from('?'));
    files.put(`${fixture.folder}/boots.json`, Buffer.from('broken'));
    files.faults = { fail: (operation) => (['write', 'sync', 'rename', 'unlink'].includes(operation) ? { code: 'EROFS' } : undefined) };
    const again = await fixture.open();
    again.append([fixture.entry('new', 1)]).catch(() => {});
    await fixture.clock.advance(5_000);
    expect(again.status()).toMatchObject({ fault: 'EROFS', inMemoryEntries: 1 });
    expect(await drain(again)).toHaveLength(400);
    files.faults = {};
    await fixture.until(again.flush());
    expect((await drain(again)).map(({ key }) => key)).toEqual(['new']);
  });

  it('reads the rest when one segment cannot be read', async () => {
    const outbox = await open({ maxBytes: SMALL });
    await fill(outbox, 30);
    await outbox.close();
    const again = await fixture.open();
    const bad = files.paths.filter((path) => path.endsWith('.seg'))[1] ?? '';
    files.faults = { fail: (operation, path) => (operation === 'read' && path === bad ? { code: 'EIO' } : undefined) };
    const given = (await drain(again)).length;
    expect(given).toBeGreaterThan(4_000);
    expect(given).toBeLessThan(6_000);
    files.faults = {};
    await fixture.clock.advance(61_000);
    expect(given + (await drain(again)).length).toBe(6_000);
  });
});

describe('status', () => {
  it('says how many hours still fit at the present rate, and what the disk writes a day', async () => {
    const outbox = await open({ maxBytes: 10_000_000 });
    for (let second = 0; second < 600; second += 1) {
      void outbox.append([fixture.entry('a', second), fixture.entry('b', second / 7)]);
      await fixture.clock.advance(1_000);
    }
    const { ratePerS, hoursThatFit = 0, heldEntries, heldBytes, diskBytesPerDay, oldestMs, newestMs } = outbox.status();
    expect(ratePerS).toBeCloseTo(2, 1);
    expect(heldEntries).toBeGreaterThan(1_180);
    expect(heldBytes).toBeGreaterThan(1_000);
    // 9.4 MB at 2 entries a second of some 20 bytes each.
    expect(hoursThatFit).toBeGreaterThan(20);
    expect(hoursThatFit).toBeLessThan(150);
    expect(diskBytesPerDay).toBeGreaterThan(40_000_000);
    expect(diskBytesPerDay).toBeLessThan(150_000_000);
    expect((newestMs ?? 0) - (oldestMs ?? 0)).toBeGreaterThan(598_000);
  });
});

describe('thinning', () => {
  it('keeps every second sample of each key, and the first, last, least and greatest', () => {
    const values = [5, 4, 3, 9, 2, 1, 7, 6];
    const entries = { devices: values.map(() => 'self'), keys: values.map(() => 'a'), values, monotonicMs: values.map((_value, at) => at) };
    expect(decimate(entries).values).toEqual([5, 3, 9, 2, 1, 7, 6]);
    const rising = Array.from({ length: 100 }, (_none, at) => at);
    const flat = { devices: rising.map(() => 'self'), keys: rising.map(() => 'a'), values: rising, monotonicMs: rising };
    expect(decimate(flat).values).toHaveLength(51);
  });
});

async function count(outbox: Outbox): Promise<number> {
  let entries = 0;
  for await (const _entry of outbox.read({}, new AbortController().signal)) entries += 1;
  return entries;
}
