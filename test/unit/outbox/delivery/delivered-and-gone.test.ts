/** What was delivered leaves the disk only when the disk knows that it was: else a power cut makes it look lost to damage. On a disk in memory. */
import { afterEach, expect, it } from 'vitest';
import type { Lane } from '../../../../src/outbox/delivery/outbox-batch.ts';
import { EntryColumns, type ResolvedEntry } from '../../../../src/outbox/format/entry-columns.ts';
import { readSegmentHeader } from '../../../../src/outbox/format/segment-file.ts';
import type { Outbox } from '../../../../src/outbox/outbox.ts';
import { MemoryFiles } from '../../../support/memory-files.ts';
import { drain, OutboxFixture } from '../../../support/outbox-fixture.ts';

const BLOCK = 1_000;
const ONE_BLOCK = { maxEntries: BLOCK, maxBytes: 1 << 30 };
/** Segments of 8 kB, of which no delivered one is kept. */
const SETTINGS = { maxBytes: 128 * 1024, retain: { forMs: 86_400_000, bytes: 0 }, commitAgeMs: 100 };
let fixture: OutboxFixture;
let files: MemoryFiles;

afterEach(() => fixture.remove());

async function opened(settings: object = {}): Promise<Outbox> {
  fixture = await OutboxFixture.make({ ...SETTINGS, ...settings });
  files = new MemoryFiles();
  fixture.files = files;
  return fixture.open();
}

async function fill(outbox: Outbox, blocks: number): Promise<void> {
  for (let block = 0; block < blocks; block += 1) await fixture.commit(outbox, fixture.noise(BLOCK, block * BLOCK));
}

async function deliver(outbox: Outbox, lane: Lane, blocks: number): Promise<void> {
  for (let block = 0; block < blocks; block += 1) {
    const batch = await outbox.peek(lane, ONE_BLOCK);
    if (batch === undefined) throw new Error('nothing is left');
    await outbox.acknowledge(batch);
  }
}

/** The journal of the file system has its names, and the disk nothing that was not synced. */
async function cutPower(): Promise<Outbox> {
  await files.syncFolder(fixture.folder);
  files.cutPower(() => false);
  fixture.clock.reboot({ bootId: 'boot-2' });
  return fixture.open();
}

it('counts nothing as damaged that had arrived, and went, when the power is cut', async () => {
  let outbox = await opened();
  await fill(outbox, 20);
  await fixture.clock.advance(61_000);
  const { segments } = outbox.status();
  await deliver(outbox, 'backlog', 12);
  await fixture.clock.advance(661_000);
  expect(outbox.status().segments).toBeLessThan(segments - 2);
  outbox = await cutPower();
  await drain(outbox);
  expect(outbox.status()).toMatchObject({ heldEntries: 0, damaged: 0 });
});

it('counts nothing as damaged that had arrived when the rest of its segment was thinned', async () => {
  let outbox = await opened({ order: 'oldest-first' });
  await fill(outbox, 5);
  await deliver(outbox, 'live', 1);
  await fill(outbox, 30);
  expect(outbox.status().thinned).toBeGreaterThan(0);
  outbox = await cutPower();
  await drain(outbox);
  expect(outbox.status()).toMatchObject({ heldEntries: 0, damaged: 0 });
});

it.each([
  ['', false],
  [', when the power is cut right then', true],
])(
  'counts no gap that thinning left as damaged where all beside it had arrived before the segment was thinned again%s',
  async (_name, isCut) => {
    let outbox = await opened({ maxBytes: 60_000 });
    let appended = 0;
    const add = async (): Promise<void> => {
      await fixture.commit(outbox, fixture.noise(100, appended));
      // Alarms stay whole, so that the segment is not gone with its readings.
      await fixture.commit(outbox, [fixture.entry('alarm', `a${appended}${Math.sin(appended)}`, { class: 'alarm' })]);
      appended += 101;
    };
    const readings = async (): Promise<readonly ResolvedEntry[]> => {
      const entries: ResolvedEntry[] = [];
      for await (const entry of outbox.read({ heldOnly: true }, new AbortController().signal))
        if (entry.key.startsWith('key')) entries.push(entry);
      return entries;
    };
    const timesThinned = (): number => {
      const header = readSegmentHeader(
        files.contentOf(files.paths.filter((path) => path.endsWith('.seg')).sort()[0] as string),
      );
      return 'thinned' in header ? header.thinned : 0;
    };
    while (outbox.status().thinned === 0) await add();
    const { thinned } = outbox.status();
    let delivered = 0;
    // Of the segment that was thinned, and of some of the next.
    for (const entry of (await readings()).slice(0, 2 * thinned)) {
      await outbox.acknowledge({
        lane: 'backlog',
        entries: EntryColumns.of([entry]),
        ranges: [[entry.sequence, entry.sequence]],
        bytes: 1,
      });
      delivered += 1;
    }
    while (timesThinned() < 2 && appended < 60_000) await add();
    expect(timesThinned()).toBe(2);
    if (isCut) {
      outbox = await cutPower();
      await drain(outbox);
      expect(outbox.status()).toMatchObject({ heldEntries: 0, damaged: 0 });
      return;
    }
    // Reads its blocks anew.
    await readings();
    const { heldEntries, thinned: gone, dropped, damaged } = outbox.status();
    expect([dropped, damaged, heldEntries + gone + delivered]).toEqual([0, 0, appended]);
    expect((await drain(outbox)).length).toBe(heldEntries);
    expect(outbox.status()).toMatchObject({ heldEntries: 0, damaged: 0 });
  },
);

it('lets it go all the same on a disk that does not come back with that', async () => {
  const outbox = await opened();
  await fill(outbox, 20);
  await fixture.clock.advance(61_000);
  const { segments } = outbox.status();
  await deliver(outbox, 'backlog', 12);
  // Until it may go.
  await fixture.clock.advance(599_000);
  const hanging = Promise.withResolvers<void>();
  const heal = files.addFaults({
    delay: (operation, path) => (operation === 'write' && path.endsWith('.state') ? hanging.promise : undefined),
  });
  await fixture.clock.advance(90_000);
  expect(outbox.status().segments).toBeLessThan(segments - 2);
  heal();
  hanging.resolve();
});

it('counts nothing as dropped that arrives while its segment waits for that', async () => {
  const outbox = await opened({ whenFull: 'drop-oldest', order: 'oldest-first' });
  await fill(outbox, 30);
  files.addFaults({
    delay: (operation, path) => (operation === 'sync' && path.endsWith('.state') ? slowly() : undefined),
  });
  const slowly = (): Promise<void> => fixture.clock.sleep(200, new AbortController().signal);
  for (let block = 30; block < 40; block += 1) {
    const batch = (await outbox.peek('backlog', ONE_BLOCK)) ?? (await outbox.peek('live', ONE_BLOCK));
    const appended = outbox.append(fixture.noise(BLOCK, block * BLOCK));
    await fixture.clock.advance(150);
    if (batch !== undefined) await outbox.acknowledge(batch);
    await fixture.until(appended);
  }
  await drain(outbox);
  const delivered = (await outbox.readLedger({})).reduce((sum, { count }) => sum + count, 0);
  const { dropped } = outbox.status();
  expect(dropped).toBeGreaterThan(0);
  expect(delivered + dropped).toBe(40 * BLOCK);
});
