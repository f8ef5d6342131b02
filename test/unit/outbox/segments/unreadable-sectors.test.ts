/** Sectors that cannot be read at start: nothing is given up while there is hope; what is left is given, what is not is counted, and new entries are taken. */
import { afterEach, describe, expect, it } from 'vitest';
import type { OpenFile } from '../../../../src/host/files.ts';
import type { ResolvedEntry } from '../../../../src/outbox/format/entry-columns.ts';
import { MemoryFiles, type Operation } from '../../../support/memory-files.ts';
import { drain, NO_LIMITS, OutboxFixture } from '../../../support/outbox-fixture.ts';

let fixture: OutboxFixture;
let files: MemoryFiles;

afterEach(() => {
  files.faults = {};
  return fixture.remove();
});

/** An outbox that was written in two turns of the delivery state and is closed. */
async function written(entries = 5): Promise<void> {
  fixture = await OutboxFixture.make({ commitAgeMs: 100 });
  files = new MemoryFiles();
  fixture.files = files;
  for (const round of [1, 2]) {
    const outbox = await fixture.open();
    await fixture.commit(
      outbox,
      Array.from({ length: entries }, (_none, at) => fixture.entry(`old${round}`, at)),
    );
    await fixture.until(outbox.close());
    await fixture.clock.advance(61_000);
  }
}

function unreadable(path: RegExp, operations: readonly Operation[] = ['read'], code = 'EIO'): void {
  files.faults = {
    fail: (operation, where) => (operations.includes(operation) && path.test(where) ? { code } : undefined),
  };
}

function trimmed(bytes: Buffer): Buffer {
  return bytes.subarray(0, bytes.findLastIndex((byte) => byte !== 0) + 1);
}

/** From this byte of a segment on, one page gives nothing. */
class OneBadPage extends MemoryFiles {
  badFrom = Number.POSITIVE_INFINITY;

  override async open(...given: Parameters<MemoryFiles['open']>): Promise<OpenFile> {
    const file = await super.open(...given);
    if (!given[0].endsWith('.seg')) return file;
    return {
      ...file,
      read: async (into, position) => {
        if (position < this.badFrom + 4096 && position + into.length > this.badFrom)
          throw Object.assign(new Error('bad'), { code: 'EIO' });
        return file.read(into, position);
      },
    };
  }
}

describe('an outbox opens although the disk cannot read', () => {
  it.each([
    ['boots.json', /boots\.json$/, 0],
    ['boots.json and its twin', /boots.*\.json$/, 600_000],
    ['the newer delivery state', /delivered-1\.state$/, 0],
    ['the older delivery state', /delivered-0\.state$/, 0],
    ['both delivery states', /delivered-\d\.state$/, 600_000],
  ])(
    '%s: it is set aside and counted when nothing stands in for it and ten minutes are over, and every entry is still there',
    async (_name, path, waitsMs) => {
      await written();
      unreadable(path);
      for (
        const untilMs = fixture.clock.monotonicMs() + waitsMs;
        fixture.clock.monotonicMs() < untilMs;
        await fixture.clock.advance(30_000)
      )
        await expect(fixture.open()).rejects.toMatchObject({ code: 'outbox/open-failed' });
      expect(files.paths.filter((where) => where.includes('set-aside'))).toEqual([]);
      const outbox = await fixture.open();
      expect(outbox.status().setAside).toBeGreaterThan(0);
      files.faults = {};
      await fixture.commit(outbox, [fixture.entry('new', 1)]);
      const given = (await drain(outbox)).filter(({ key }) => !key.endsWith('_timeUncertain')).map(({ key }) => key);
      expect(given.sort()).toEqual([...Array(5).fill('old1'), ...Array(5).fill('old2'), 'new'].sort());
    },
  );

  it.each([['read'], ['open']] as const)(
    'when it fails to %s any segment: new entries go through, and all of it is given once it is well',
    async (operation) => {
      await written();
      unreadable(/-0\.seg$/, [operation]);
      const outbox = await fixture.open();
      expect(outbox.status().heldEntries).toBeGreaterThan(0);
      files.faults = {};
      await fixture.commit(outbox, [fixture.entry('new', 1)]);
      expect((await drain(outbox)).map(({ key }) => key)).toEqual(['new']);
      await fixture.clock.advance(60_000);
      const given = (await drain(outbox)).map(({ key }) => key);
      expect(given.sort()).toEqual([...Array(5).fill('old1'), ...Array(5).fill('old2')]);
      expect(outbox.status()).toMatchObject({ setAside: 0, damaged: 0, dropped: 0, heldEntries: 0 });
    },
  );

  it('when it does not tell the size of a segment: not before it does, or ten minutes are over', async () => {
    await written();
    const names = files.paths.filter((path) => path.endsWith('.seg')).map((path) => path.slice(path.lastIndexOf('/')));
    unreadable(/\.seg$/, ['facts']);
    await expect(fixture.open()).rejects.toMatchObject({ code: 'outbox/open-failed' });
    files.faults = {};
    const outbox = await fixture.open();
    expect(outbox.status()).toMatchObject({ setAside: 0, heldEntries: 10 });
    await fixture.until(outbox.close());
    let isMoving = false;
    files.faults = {
      fail: (operation, path) => {
        isMoving ||= operation === 'rename';
        return !isMoving && operation === 'facts' && path.endsWith('.seg') ? { code: 'EIO' } : undefined;
      },
    };
    await expect(fixture.open()).rejects.toThrow();
    await fixture.clock.advance(600_000);
    expect((await fixture.open()).status()).toMatchObject({ setAside: names.length, heldEntries: 0 });
    // A person may still get at them.
    for (const name of names) expect(files.paths.some((path) => path.endsWith(`set-aside${name}`))).toBe(true);
  });

  it('when a life goes by without the newest segment: no number is given twice, and what was in it comes with the next', async () => {
    await written();
    unreadable(/-0\.seg$/);
    let outbox = await fixture.open();
    const bad = files.paths.filter((path) => path.endsWith('.seg'));
    files.faults = {
      fail: (operation, path) => (operation === 'read' && bad.includes(path) ? { code: 'EIO' } : undefined),
    };
    await fixture.commit(outbox, [fixture.entry('new', 1), fixture.entry('new', 2)]);
    await fixture.until(outbox.close());
    outbox = await fixture.open();
    const first = await drain(outbox);
    expect(first.map(({ key }) => key)).toEqual(['new', 'new']);
    await fixture.until(outbox.close());
    files.faults = {};
    outbox = await fixture.open();
    const given = [...first, ...(await drain(outbox))];
    expect(given.map(({ key }) => key).sort()).toEqual([
      'new',
      'new',
      ...Array(5).fill('old1'),
      ...Array(5).fill('old2'),
    ]);
    expect(new Set(given.map(({ sequence }) => sequence)).size).toBe(12);
    expect(outbox.status()).toMatchObject({ setAside: 0, damaged: 0, dropped: 0, heldEntries: 0 });
  });

  it('when it never gives the newest segment again: that is given up after a day, counted, and kept for a person', async () => {
    await written();
    unreadable(/\d{15}[1-9]-0\.seg$/);
    const outbox = await fixture.open();
    const name =
      files.paths
        .filter((path) => path.endsWith('.seg'))
        .at(-1)
        ?.split('/')
        .at(-1) ?? '';
    for (let minute = 0; minute < 23.5 * 60; minute += 10) {
      await drain(outbox);
      await fixture.clock.advance(600_000);
    }
    expect(outbox.status()).toMatchObject({ setAside: 0, damaged: 0, unreadSegments: 1 });
    await fixture.clock.advance(3_600_000);
    await drain(outbox);
    expect(outbox.status().damaged).toBeGreaterThan(0);
    expect(outbox.status().heldEntries).toBe(0);
    await fixture.clock.advance(25 * 3_600_000);
    expect(outbox.status()).toMatchObject({ setAside: 1 });
    expect(files.paths.some((path) => path.endsWith(`set-aside/${name}`))).toBe(true);
  });

  it.each([
    ['dropped for its age', 'dropped', 3_600_000],
    ['given up after a day', 'damaged', 1e12],
  ] as const)(
    'when it never gives the newest segment again, and that is %s: what is known to have been in it is counted',
    async (_how, counter, maxAgeMs) => {
      fixture = await OutboxFixture.make({ commitAgeMs: 100, maxAgeMs, order: 'newest-first' });
      files = new MemoryFiles();
      fixture.files = files;
      let outbox = await fixture.open();
      for (const block of [0, 1]) {
        await fixture.commit(outbox, fixture.noise(50, 50 * block));
        await fixture.clock.advance(1_000);
      }
      const newest = await outbox.peek('live', { maxEntries: 50, maxBytes: 1e6 });
      if (newest !== undefined) await outbox.acknowledge(newest);
      expect(newest?.ranges).toEqual([[51, 100]]);
      await fixture.until(outbox.close());
      const [bad = ''] = files.paths.filter((path) => path.endsWith('.seg'));
      unreadable(new RegExp(bad));
      outbox = await fixture.open();
      expect(outbox.status()).toMatchObject({ heldEntries: 50, dropped: 0, damaged: 0 });
      for (let hour = 0; hour < 26; hour += 1) {
        await fixture.commit(outbox, [fixture.entry('new', hour)]);
        await drain(outbox);
        await fixture.clock.advance(3_600_000);
      }
      expect(outbox.status()).toMatchObject({ heldEntries: 0, dropped: 0, damaged: 0, [counter]: 50 });
    },
  );

  it('that is left unread keeps no alarms of older segments back', async () => {
    fixture = await OutboxFixture.make({ commitAgeMs: 100 });
    files = new MemoryFiles();
    fixture.files = files;
    for (const key of ['alarm', 'old']) {
      const outbox = await fixture.open();
      await fixture.commit(outbox, [fixture.entry(key, 1, { class: key === 'alarm' ? 'alarm' : 'regular' })]);
      await fixture.until(outbox.close());
      // So that the next run begins a segment of its own.
      const [path] = files.paths.filter((one) => one.endsWith('.seg')).slice(-1);
      if (path !== undefined && key === 'alarm')
        files.put(path, Buffer.concat([trimmed(files.contentOf(path)), Buffer.from('x')]));
    }
    const newest = files.paths.filter((path) => path.endsWith('.seg')).at(-1) as string;
    files.faults = {
      fail: (operation, path) => (operation === 'read' && path === newest ? { code: 'EIO' } : undefined),
    };
    const outbox = await fixture.open();
    const batch = await outbox.peek('alarm', NO_LIMITS);
    expect([...(batch?.entries ?? [])].map(({ key }) => key)).toEqual(['alarm']);
  });

  it('a page of the newest segment: what lies around it is given, and the rest is counted as damaged', async () => {
    fixture = await OutboxFixture.make({ commitAgeMs: 100 });
    const disk = new OneBadPage();
    files = disk;
    fixture.files = disk;
    let outbox = await fixture.open();
    for (let block = 0; block < 30; block += 1) await fixture.commit(outbox, fixture.noise(200, block * 200));
    await fixture.until(outbox.close());
    disk.badFrom = 4096;
    outbox = await fixture.open();
    await fixture.commit(outbox, [fixture.entry('new', 1)]);
    const given = await drain(outbox);
    for (let minute = 0; minute < 48; minute += 1) {
      await fixture.clock.advance(60_000);
      given.push(...(await drain(outbox)));
    }
    const { damaged } = outbox.status();
    expect(damaged).toBeGreaterThan(0);
    expect(damaged).toBeLessThan(3_000);
    expect(given.filter(({ key }) => key.startsWith('key'))).toHaveLength(30 * 200 - damaged);
    expect(given.map(({ key }) => key)).toContain('new');
    expect(outbox.status().heldEntries).toBe(0);
  });

  it('a page of the segment that is being written: what is read of it meanwhile does not keep that from coming to an end', async () => {
    fixture = await OutboxFixture.make({ commitAgeMs: 100 });
    const disk = new OneBadPage();
    files = disk;
    fixture.files = disk;
    const outbox = await fixture.open();
    for (let block = 0; block < 10; block += 1) await fixture.commit(outbox, fixture.noise(200, block * 200));
    disk.badFrom = 4096;
    const given: ResolvedEntry[] = [];
    for (let minute = 0; minute < 60; minute += 1) {
      await fixture.clock.advance(60_000);
      await fixture.commit(outbox, [fixture.entry('new', minute)]);
      given.push(...(await drain(outbox)));
    }
    const { damaged, heldEntries, segments } = outbox.status();
    expect([damaged > 0, damaged < 2_000, heldEntries, segments]).toEqual([true, true, 0, 1]);
    expect(given.filter(({ key }) => key.startsWith('key'))).toHaveLength(2_000 - damaged);
    expect(given.filter(({ key }) => key === 'new')).toHaveLength(60);
  });

  it('once: what can be read at the second try is not given up', async () => {
    await written();
    let left = 2;
    files.faults = { fail: (operation) => (operation === 'read' && left-- > 0 ? { code: 'EIO' } : undefined) };
    const outbox = await fixture.open();
    expect(outbox.status()).toMatchObject({ setAside: 0, damaged: 0, heldEntries: 10 });
  });

  it('but not when files cannot be opened at all for a while: nothing is set aside for that', async () => {
    await written();
    unreadable(/boots\.json$/, ['open'], 'EMFILE');
    await expect(fixture.open()).rejects.toMatchObject({ code: 'outbox/open-failed' });
    files.faults = {};
    expect((await fixture.open()).status()).toMatchObject({ setAside: 0, heldEntries: 10, undecidedEntries: 0 });
  });
});
