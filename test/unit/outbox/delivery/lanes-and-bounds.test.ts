/** What gives way when the disk is full or failing, and what does not; on a disk in memory. */
import { crc32 } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import { decimate } from '../../../../src/outbox/delivery/thinning.ts';
import { readSegmentHeader } from '../../../../src/outbox/format/segment-file.ts';
import type { Outbox } from '../../../../src/outbox/outbox.ts';
import { MemoryFiles } from '../../../support/memory-files.ts';
import { drain, FakeTimeSync, NO_LIMITS, OutboxFixture } from '../../../support/outbox-fixture.ts';

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

async function fill(outbox: Outbox, blocks: number, from = 0): Promise<void> {
  for (let block = from; block < from + blocks; block += 1)
    await fixture.commit(outbox, fixture.noise(200, block * 200));
}

afterEach(() => fixture.remove());

it('keeps in the present what uploads that go together seldom have left there, and nothing older', async () => {
  const outbox = await open({ commitAgeMs: QUICK_MS });
  await fill(outbox, 1);
  await fixture.clock.advance(14 * 60_000);
  expect(await outbox.peek('live', NO_LIMITS)).toBeUndefined();
  fixture.presentMs = 15 * 60_000;
  await fill(outbox, 1, 1);
  await fixture.clock.advance(14 * 60_000);
  expect((await outbox.peek('live', NO_LIMITS))?.entries.keys).toHaveLength(200);
  await fixture.clock.advance(2 * 60_000);
  expect(await outbox.peek('live', NO_LIMITS)).toBeUndefined();
  expect((await outbox.peek('backlog', NO_LIMITS))?.entries.keys).toHaveLength(400);
});

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

  it.each([20, 60, 110])(
    'counts each entry that gives way beside what was delivered, of %i blocks that were delivered in part',
    async (blocks) => {
      const outbox = await open({ maxBytes: SMALL, commitAgeMs: QUICK_MS });
      const delivered = new Set<number>();
      const refused = new Set<number>();
      for (let block = 0; block < 110; block += 1) {
        await fixture.commit(outbox, fixture.noise(200, block * 200));
        if (block >= blocks || block % 2 === 1) continue;
        const batch = await outbox.peek('live', NO_LIMITS);
        for (const sequence of batch?.entries.sequences ?? [])
          if (sequence % 7 === 0 || sequence % 50 < 9) refused.add(sequence);
        for (const sequence of refused) outbox.quarantined.add(sequence);
        const rest = await outbox.peek('live', NO_LIMITS);
        if (rest === undefined) continue;
        for (const sequence of rest.entries.sequences) delivered.add(sequence);
        await outbox.acknowledge(rest);
      }
      const { thinned, dropped } = outbox.status();
      expect(dropped).toBeGreaterThan(0);
      for (const sequence of refused) outbox.quarantined.putBack(sequence);
      for (const { sequence } of await drain(outbox)) delivered.add(sequence);
      expect(delivered.size).toBe(110 * 200 - thinned - dropped);
    },
  );

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
    expect(values.map(({ sequence }) => sequence)).toEqual(
      Array.from({ length: before.heldEntries }, (_none, at) => at + 1),
    );
  });

  describe('and the newest is to give way', () => {
    let at = 0;
    const alarm = (value: number): ReturnType<typeof fixture.entry> =>
      fixture.entry('smoke', value, { class: 'alarm' });
    /** Until the first reading is refused. */
    async function full(settings: Parameters<typeof OutboxFixture.make>[0] = {}): Promise<Outbox> {
      const outbox = await open({ maxBytes: SMALL, whenFull: 'drop-newest', commitAgeMs: QUICK_MS, ...settings });
      for (at = 0; outbox.status().dropped === 0; at += 1) await fill(outbox, 1, at).catch(() => {});
      return outbox;
    }

    it('takes of a commit the alarms alone; what came with them is refused, and counted', async () => {
      const outbox = await full();
      const before = outbox.status();
      const appends = [[...fixture.noise(300), alarm(1)], fixture.noise(300), [alarm(2)]].map((entries) =>
        outbox.append(entries),
      );
      const said = await Promise.allSettled(appends);
      expect(said.map((one) => (one.status === 'rejected' ? one.reason.code : 'appended'))).toEqual([
        'outbox/full',
        'outbox/full',
        'appended',
      ]);
      const { dropped, heldEntries, lanes, bytes } = outbox.status();
      expect([dropped - before.dropped, heldEntries - before.heldEntries, lanes.alarm, bytes]).toEqual([
        600,
        2,
        2,
        before.bytes,
      ]);
      expect((await drain(outbox)).filter(({ key }) => key === 'smoke').map(({ value }) => value)).toEqual([1, 2]);
      expect(outbox.status()).toMatchObject({ heldEntries: 0, damaged: 0 });
    });

    it('stays within its bound whatever alarms come: they have a sixteenth for themselves, and then take the place of the oldest', async () => {
      const outbox = await full({ maxBytes: 16 * SMALL });
      const before = outbox.status();
      const text = 'a wide open door '.repeat(10);
      let alarms = 0;
      const more = async (): Promise<void> => {
        const entries = Array.from({ length: 20 }, (_none, row) =>
          fixture.entry('door', `${text}${(alarms + row) * 7919}`, { class: 'alarm' }),
        );
        await outbox.append([...entries, ...fixture.noise(100, alarms)]).catch(() => {});
        alarms += 20;
      };
      for (let commit = 0; commit < 10; commit += 1) await more();
      const { bytes, dropped } = outbox.status();
      // What was stored is whole.
      expect([dropped - before.dropped, bytes > before.bytes]).toEqual([10 * 100, true]);
      for (let commit = 0; commit < 600; commit += 1) await more();
      const after = outbox.status();
      expect(files.usedBytes).toBeLessThanOrEqual(16 * SMALL);
      expect(after.dropped - before.dropped).toBeGreaterThan(610 * 100);
      const given = (await drain(outbox, { maxEntries: 5_000, maxBytes: 1 << 20 })).filter(({ key }) => key === 'door');
      expect(after.heldEntries).toBe(before.heldEntries + alarms + 610 * 100 - (after.dropped - before.dropped));
      expect(given.at(-1)?.value).toBe(`${text}${(alarms - 1) * 7919}`);
    });

    it('does not grow while the disk has less free space than it is to have, for its own reports neither', async () => {
      const outbox = await open({
        maxBytes: 16 * SMALL,
        minFreeBytes: 1_000_000,
        whenFull: 'drop-newest',
        commitAgeMs: QUICK_MS,
      });
      await fill(outbox, 300);
      files.capacityBytes = files.usedBytes + 900_000;
      await fixture.clock.advance(11_000);
      const { bytes } = outbox.status();
      for (let minute = 0; minute < 720; minute += 1) {
        outbox.append(fixture.noise(100, minute * 100)).catch(() => {});
        await fixture.clock.advance(60_000);
      }
      const after = outbox.status();
      expect([after.missingBytes !== undefined, after.bytes <= bytes]).toEqual([true, true]);
      const given = await drain(outbox, { maxEntries: 5_000, maxBytes: 1 << 20 });
      expect(given.filter(({ key }) => key === 'outboxDropped').length).toBeGreaterThan(600);
      // No more of the oldest went than the reports needed, one segment of them, and what is new took no place of it.
      expect(given.filter(({ sequence }) => sequence <= 60_000).length).toBeGreaterThan(60_000 - 16_000);
      expect(given.filter(({ key, sequence }) => key.startsWith('key') && sequence > 60_000).length).toBeLessThan(
        10_000,
      );
    });
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

  it('lets go of delivered segments for the newest, too, when that is what gives way', async () => {
    const outbox = await open({ maxBytes: SMALL, whenFull: 'drop-newest', commitAgeMs: QUICK_MS });
    for (let round = 0; round < 12; round += 1) {
      await fill(outbox, 10, round * 10);
      expect(await drain(outbox)).toHaveLength(2_000);
    }
    expect(outbox.status()).toMatchObject({ dropped: 0, heldEntries: 0 });
  });

  it('thins entries of two boots without mixing up their times, and remembers across a restart how often', async () => {
    let outbox = await open({ maxBytes: SMALL, commitAgeMs: QUICK_MS });
    const taken = new Map<number, number>();
    let number = 1;
    const some = async (blocks: number): Promise<void> => {
      for (let block = 0; block < blocks; block += 1) {
        const entries = Array.from({ length: 200 }, (_none, at) => fixture.entry('k', (number + at) * 1.0000001));
        number += 200;
        for (const { value } of entries) taken.set(value as number, fixture.clock.wallMs());
        await fixture.commit(outbox, entries);
      }
    };
    await some(2);
    await fixture.until(outbox.close());
    fixture.clock.reboot({ bootId: 'boot-2', monotonicMs: 500, wallMs: fixture.clock.wallMs() + 3_600_000 });
    fixture.timeSync = new FakeTimeSync(true);
    outbox = await fixture.open();
    while (outbox.status().thinned === 0) await some(1);
    const { thinned, dropped, heldEntries } = outbox.status();
    expect([thinned > 0, dropped]).toEqual([true, 0]);
    await fixture.until(outbox.close());
    outbox = await fixture.open();
    expect(outbox.status()).toMatchObject({ thinned, heldEntries });
    const thinnings = files.paths
      .filter((path) => path.endsWith('.seg'))
      .map((path) => readSegmentHeader(files.contentOf(path)))
      .flatMap((header) => ('thinned' in header ? [header.thinned] : []));
    expect(thinnings[0]).toBe(1);
    const given = await drain(outbox);
    expect(given).toHaveLength(heldEntries);
    // Values of one ms are spaced by one each.
    for (const { value, ts } of given) {
      const lateMs = ts - (taken.get(value as number) ?? 0);
      expect(lateMs).toBeGreaterThanOrEqual(0);
      expect(lateMs).toBeLessThan(60_000);
    }
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

  /** What is told of it within so many minutes. */
  async function told(outbox: Outbox, minutes: number): Promise<readonly unknown[]> {
    await fixture.clock.advance(minutes * 60_000);
    return (await drain(outbox)).filter(({ key }) => key === 'outboxDropped').map(({ value }) => value);
  }

  it('is reported after a restart that came before its minute was over, and once', async () => {
    const first = await open();
    first.countDropped(5);
    await fixture.clock.advance(30_000);
    await fixture.until(first.close());
    fixture.clock.reboot({ bootId: 'boot-2' });
    const second = await fixture.open();
    expect(await told(second, 3)).toEqual([5]);
    await fixture.until(second.close());
    fixture.clock.reboot({ bootId: 'boot-3' });
    const third = await fixture.open();
    expect(await told(third, 3)).toEqual([]);
    third.countDropped(1);
    expect(await told(third, 3)).toEqual([6]);
  });

  it('is not reported anew after an update from a release that did not note what it had reported', async () => {
    const first = await open();
    first.countDropped(5);
    await fixture.until(first.close());
    const path = files.paths.find((one) => one.includes('/delivered-')) as string;
    const [, text = ''] = files.contentOf(path).toString().split('\n');
    const { reported: _none, ...body } = JSON.parse(text);
    const older = JSON.stringify(body);
    const header = {
      format: 'turnstone-outbox-delivery',
      version: 1,
      bytes: Buffer.byteLength(older),
      crc32: crc32(older),
    };
    files.put(path, `${JSON.stringify(header)}\n${older}\n`);
    const second = await fixture.open();
    expect([second.status().dropped, await told(second, 3)]).toEqual([5, []]);
  });

  it('waits for a disk that takes nothing with one report, and with what was lost meanwhile in the next', async () => {
    const outbox = await open();
    files.faults = { fail: (operation) => (operation === 'write' ? { code: 'EIO' } : undefined) };
    for (let minute = 0; minute < 5; minute += 1) {
      outbox.countDropped(1);
      await fixture.clock.advance(60_000);
    }
    expect(outbox.status().inMemoryEntries).toBe(1);
    files.faults = {};
    expect(await told(outbox, 3)).toEqual([1, 5]);
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
    expect((await drain(outbox)).filter(({ key, sequence }) => key.startsWith('key') && sequence > 4_000)).toHaveLength(
      4_000,
    );
  });

  it('keeps delivered entries for their time, for readers, and lets them go after it', async () => {
    const outbox = await open({ maxBytes: SMALL, retain: { forMs: 3_600_000, bytes: SMALL } });
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
  it.each(['EIO', 'ENOSPC', 'EROFS'])(
    'keeps entries in memory through %s, raises an alert, and recovers by itself',
    async (code) => {
      const outbox = await open();
      await fill(outbox, 1);
      files.faults = {
        fail: (operation) => (operation === 'read' || operation === 'list' ? undefined : { code, short: true }),
      };
      const appended = fill(outbox, 1, 1);
      await fixture.clock.advance(20_000);
      expect(outbox.status()).toMatchObject({ fault: code, inMemoryEntries: 200 });
      files.faults = {};
      await fixture.until(appended);
      expect(outbox.status()).toMatchObject({ inMemoryEntries: 0, heldEntries: 400, dropped: 0 });
      expect(outbox.status().fault).toBeUndefined();
      expect(await drain(outbox)).toHaveLength(400);
    },
  );

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
      const entries = Array.from({ length: 50 }, (_none, row) =>
        fixture.entry('a', at * 50 + row, { class: entryClass }),
      );
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

  it.each([
    ['fails', { fail: (operation: string) => (operation === 'write' ? { code: 'EROFS' } : undefined) }],
    ['hangs', { delay: (operation: string) => (operation === 'write' ? new Promise<never>(() => {}) : undefined) }],
  ])('alarms leave without a disk that %s, once each, and later what is regular', async (name, faults) => {
    const outbox = await open({ commitEntries: 100 });
    await fill(outbox, 1);
    await drain(outbox);
    files.faults = faults;
    for (let at = 0; at < 20; at += 1) {
      void outbox.append(fixture.noise(150, at * 150)).catch(() => {});
      await fixture.clock.advance(1_000);
    }
    const sent: string[] = [];
    let regular = 0;
    for (let at = 0; at < 100; at += 1) {
      outbox.append([fixture.entry(`fire${at}`, at, { class: 'alarm' })]).catch(() => {});
      await fixture.clock.advance(1_000);
      const left = await fixture.until(drain(outbox));
      const fires = left.filter((entry) => entry.class === 'alarm').map(({ key }) => key);
      sent.push(...fires);
      regular += left.length - fires.length;
    }
    expect(sent).toEqual(Array.from({ length: 100 }, (_none, at) => `fire${at}`));
    expect(outbox.status().dropped).toBe(0);
    if (name === 'hangs') return;
    files.faults = {};
    await fixture.until(outbox.flush());
    const late = await drain(outbox);
    expect(regular).toBeGreaterThan(0);
    expect([regular + late.length, late.filter(({ class: entryClass }) => entryClass === 'alarm')]).toEqual([
      3_000,
      [],
    ]);
  });

  it('alarms that came with a reading leave without the disk, the reading does not, and the two are appended once both are done with', async () => {
    const outbox = await open({ memoryEntries: 150 });
    files.faults = { fail: (operation) => (operation === 'write' ? { code: 'EROFS' } : undefined) };
    const said: string[] = [];
    const sent: string[] = [];
    for (let at = 0; at < 100; at += 1) {
      const say = (word: string): unknown => said.push(`${at} ${word}`);
      outbox.append([fixture.entry('door', at), fixture.entry(`fire${at}`, at, { class: 'alarm' })]).then(
        () => say('appended'),
        ({ code }: { code: string }) => say(code),
      );
      await fixture.clock.advance(1_000);
      for (let alarms = await outbox.peek('alarm', NO_LIMITS); alarms !== undefined; ) {
        sent.push(...alarms.entries.keys);
        await outbox.acknowledge(alarms);
        alarms = await outbox.peek('alarm', NO_LIMITS);
      }
    }
    expect([sent, said]).toEqual([Array.from({ length: 100 }, (_none, at) => `fire${at}`), []]);
    for (let at = 100; at < 160; at += 1) outbox.append([fixture.entry('door', at)]).catch(() => {});
    expect(outbox.status().inMemoryEntries).toBe(150);
    files.faults = {};
    await fixture.until(outbox.flush());
    const refused = said.filter((line) => line.endsWith('outbox/dropped')).length;
    expect([refused > 5, said.length, said.filter((line) => line.endsWith('appended')).length]).toEqual([
      true,
      100,
      100 - refused,
    ]);
    expect((await drain(outbox)).filter(({ key }) => key === 'door')).toHaveLength(160 - refused);
  });

  it('an alarm that arrived without the disk is done with, for who appended it and for who waits for all', async () => {
    const outbox = await open();
    files.faults = { fail: (operation) => (operation === 'write' ? { code: 'EROFS' } : undefined) };
    const appended = outbox.append([fixture.entry('fire', 1, { class: 'alarm' })]);
    const flushed = outbox.flush();
    await fixture.clock.advance(10);
    expect((await fixture.until(drain(outbox))).map(({ key }) => key)).toEqual(['fire']);
    await Promise.all([appended, flushed]);
    expect(outbox.status()).toMatchObject({ inMemoryEntries: 0, heldEntries: 0 });
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

  it('opens on a file system that is read-only, whatever lies there, delivers, alarms of its own memory too, and keeps new entries in memory', async () => {
    const outbox = await open();
    await fill(outbox, 2);
    await fixture.until(outbox.close());
    for (const name of ['boots.json.tmp', 'stranger', '0000000000009999-0.seg'])
      files.put(`${fixture.folder}/${name}`, Buffer.from('?'));
    files.put(`${fixture.folder}/boots.json`, Buffer.from('broken'));
    files.faults = {
      fail: (operation) => (['write', 'sync', 'rename', 'unlink'].includes(operation) ? { code: 'EROFS' } : undefined),
    };
    const again = await fixture.open();
    again.append([fixture.entry('new', 1)]).catch(() => {});
    await fixture.clock.advance(5_000);
    expect(again.status()).toMatchObject({ fault: 'EROFS', inMemoryEntries: 1 });
    expect(await drain(again)).toHaveLength(401);
    again.append([fixture.entry('alarm', 1, { class: 'alarm' })]).catch(() => {});
    again.append([fixture.entry('newer', 1)]).catch(() => {});
    await fixture.clock.advance(30_000);
    const alarms = await again.peek('alarm', { maxEntries: 10, maxBytes: 1 << 20 });
    expect(alarms?.entries.keys).toEqual(['alarm']);
    if (alarms !== undefined) await again.acknowledge(alarms);
    files.faults = {};
    await fixture.until(again.flush());
    expect((await drain(again)).map(({ key }) => key)).toEqual(['newer']);
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
  it('says how many hours still fit at the present rate', async () => {
    const outbox = await open({ maxBytes: 10_000_000 });
    for (let second = 0; second < 600; second += 1) {
      void outbox.append([fixture.entry('a', second), fixture.entry('b', second / 7)]);
      await fixture.clock.advance(1_000);
    }
    const { ratePerS, hoursThatFit = 0, heldEntries, heldBytes, oldestMs, newestMs } = outbox.status();
    expect(ratePerS).toBeCloseTo(2, 1);
    expect(heldEntries).toBeGreaterThan(1_180);
    expect(heldBytes).toBeGreaterThan(1_000);
    // 9.4 MB at 2 entries a second of some 20 bytes each.
    expect(hoursThatFit).toBeGreaterThan(20);
    expect(hoursThatFit).toBeLessThan(150);
    expect((newestMs ?? 0) - (oldestMs ?? 0)).toBeGreaterThan(598_000);
  });
});

describe('thinning', () => {
  it('keeps every second sample of each key, and the first, last, least and greatest', () => {
    const values = [5, 4, 3, 9, 2, 1, 7, 6];
    const entries = {
      devices: values.map(() => 'self'),
      keys: values.map(() => 'a'),
      values,
      monotonicMs: values.map((_value, at) => at),
    };
    expect(decimate(entries).values).toEqual([5, 3, 9, 2, 1, 7, 6]);
    const rising = Array.from({ length: 100 }, (_none, at) => at);
    const flat = {
      devices: rising.map(() => 'self'),
      keys: rising.map(() => 'a'),
      values: rising,
      monotonicMs: rising,
    };
    expect(decimate(flat).values).toHaveLength(51);
  });
});

async function count(outbox: Outbox): Promise<number> {
  let entries = 0;
  for await (const _entry of outbox.read({}, new AbortController().signal)) entries += 1;
  return entries;
}

describe('a segment that a boot without a time began', () => {
  it.each([{}, { takenAtMs: 1_700_000_000_000 }])('gives what a boot with one adds to it: %j', async (more) => {
    const before = await open({ commitAgeMs: QUICK_MS });
    await fixture.until(before.close());
    fixture.timeSync = new FakeTimeSync(false);
    fixture.clock.reboot({ bootId: 'without' });
    const without = await fixture.open();
    await fixture.commit(without, [fixture.entry('earlier', 1)]);
    await fixture.until(without.close());
    fixture.timeSync = new FakeTimeSync(!('takenAtMs' in more));
    fixture.clock.reboot({ bootId: 'with' });
    const outbox = await fixture.open();
    await fixture.commit(outbox, [fixture.entry('later', 2, more)]);
    await fixture.clock.advance(120_000);
    expect(outbox.status().segments).toBe(1);
    expect((await outbox.peek('backlog', NO_LIMITS))?.entries.keys).toContain('later');
  });
});

it('an interval longer than a commit keeps nothing of the present waiting behind what came since', async () => {
  const outbox = await open();
  const waitedMs: number[] = [];
  for (let second = 0; second < 300; second += 1) {
    const atMs = fixture.clock.monotonicMs();
    outbox.append([fixture.entry('tank', atMs)]).catch(() => {});
    await fixture.clock.advance(1_000);
    if (second % 14 !== 0) continue;
    const batch = await outbox.peek('live', NO_LIMITS);
    if (batch === undefined) continue;
    for (const { value } of batch.entries) waitedMs.push(fixture.clock.monotonicMs() - Number(value));
    await outbox.acknowledge(batch);
  }
  expect(waitedMs.length).toBeGreaterThan(280);
  expect(Math.max(...waitedMs)).toBeLessThanOrEqual(20_000);
});
