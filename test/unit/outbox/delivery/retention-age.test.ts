/** How old an entry is, is told by machines that ran, not by what a clock says: a wrong date ages nothing. On a disk in memory. */
import { afterEach, describe, expect, it } from 'vitest';
import type { Outbox } from '../../../../src/outbox/outbox.ts';
import { MemoryFiles } from '../../../support/memory-files.ts';
import { drain, FakeTimeSync, OutboxFixture } from '../../../support/outbox-fixture.ts';

const HOUR_MS = 3_600_000;
const YEARS_MS = 19.6 * 365.25 * 24 * HOUR_MS;
/** Segments of 8 kB. */
const SETTINGS = {
  maxBytes: 128 * 1024,
  maxAgeMs: 48 * HOUR_MS,
  retain: { forMs: 24 * HOUR_MS, bytes: 16_000_000 },
  commitAgeMs: 100,
};
const BLOCKS = 20;
const ENTRIES = 1_000;
let fixture: OutboxFixture;

afterEach(() => fixture.remove());

async function opened(): Promise<Outbox> {
  fixture = await OutboxFixture.make(SETTINGS);
  fixture.files = new MemoryFiles();
  const outbox = await fixture.open();
  await fill(outbox);
  return outbox;
}

async function fill(outbox: Outbox): Promise<void> {
  for (let block = 0; block < BLOCKS; block += 1) await fixture.commit(outbox, fixture.noise(ENTRIES, block * ENTRIES));
}

async function reboot(bootId: string, byMs: number): Promise<Outbox> {
  fixture.clock.reboot({ bootId, wallMs: fixture.clock.wallMs() + byMs });
  fixture.timeSync = new FakeTimeSync(true);
  return fixture.open();
}

/** A minute's housekeeping, a few times. */
async function aWhile(): Promise<void> {
  for (let minute = 0; minute < 3; minute += 1) await fixture.clock.advance(61_000);
}

it('a time that an entry brings along ages it not, as of a receiver that begins in 1970', async () => {
  fixture = await OutboxFixture.make(SETTINGS);
  fixture.files = new MemoryFiles();
  fixture.clock.reboot({ bootId: 'long', monotonicMs: 100 * HOUR_MS });
  const outbox = await fixture.open();
  for (let block = 0; block < BLOCKS; block += 1) {
    const entries = fixture.noise(ENTRIES, block * ENTRIES);
    await fixture.commit(
      outbox,
      entries.map((entry, at) => ({ ...entry, takenAtMs: block * ENTRIES + at })),
    );
  }
  await aWhile();
  expect(outbox.status()).toMatchObject({ heldEntries: BLOCKS * ENTRIES, dropped: 0 });
});

it.each([
  [0, 0],
  [-1, 1],
])('keeps as many bytes of delivered segments as it may: with %i, %i go', async (less, gone) => {
  let outbox = await opened();
  await drain(outbox);
  await fixture.until(outbox.close());
  const files = fixture.files as MemoryFiles;
  const sealed = files.paths.filter((path) => path.endsWith('.seg')).slice(0, -1);
  expect(sealed.length).toBeGreaterThan(2);
  const bytes = sealed.reduce((sum, path) => sum + files.contentOf(path).length, 0);
  fixture.settings = { ...fixture.settings, retain: { forMs: 86_400_000, bytes: bytes + less } };
  outbox = await fixture.open();
  await aWhile();
  expect(outbox.status().segments).toBe(sealed.length + 1 - gone);
});

describe('one wrong date', () => {
  it('ages no entries of earlier boots, delivered or not', async () => {
    let outbox = await opened();
    await drain(outbox);
    await fill(outbox);
    await fixture.until(outbox.close());
    const kept = outbox.status();
    outbox = await reboot('boot-2', YEARS_MS);
    await outbox.append([fixture.entry('k', 1)]);
    await aWhile();
    fixture.clock.stepWall(-YEARS_MS);
    await aWhile();
    expect(outbox.status()).toMatchObject({ heldEntries: BLOCKS * ENTRIES + 1, dropped: 0 });
    expect(outbox.status().segments).toBeGreaterThanOrEqual(kept.segments);
  });

  it('ages none when the next boot begins with it gone, or with it again', async () => {
    let outbox = await opened();
    await fixture.until(outbox.close());
    for (const [bootId, byMs] of [
      ['boot-2', YEARS_MS],
      ['boot-3', -YEARS_MS],
      ['boot-4', YEARS_MS],
      ['boot-5', 0],
    ] as const) {
      outbox = await reboot(bootId, byMs);
      await outbox.append([fixture.entry('k', 1)]);
      await drainNothing(outbox);
      await aWhile();
      await fixture.until(outbox.close());
    }
    expect(outbox.status()).toMatchObject({ heldEntries: BLOCKS * ENTRIES + 4, dropped: 0 });
  });

  it('ages none of this boot, when it comes in the middle of it', async () => {
    const outbox = await opened();
    fixture.clock.stepWall(YEARS_MS);
    await fixture.commit(outbox, [fixture.entry('k', 1)]);
    await aWhile();
    expect(outbox.status()).toMatchObject({ heldEntries: BLOCKS * ENTRIES + 1, dropped: 0 });
  });

  it('of a source with a clock of its own ages none of its entries', async () => {
    const outbox = await opened();
    const takenAtMs = fixture.clock.wallMs() - YEARS_MS;
    for (let block = 0; block < 5; block += 1)
      await fixture.commit(
        outbox,
        fixture.noise(ENTRIES, block).map((entry, at) => ({ ...entry, takenAtMs: takenAtMs + at })),
      );
    await aWhile();
    expect(outbox.status()).toMatchObject({ heldEntries: (BLOCKS + 5) * ENTRIES, dropped: 0 });
  });
});

describe('time that machines ran', () => {
  it('ages entries across boots, whether anybody knew the time or not', async () => {
    let outbox = await opened();
    await fixture.until(outbox.close());
    // Each boot writes something at its end, by which the next one knows how long it ran.
    for (const bootId of ['boot-2', 'boot-3']) {
      fixture.clock.reboot({ bootId });
      fixture.timeSync = new FakeTimeSync(false);
      outbox = await fixture.open();
      await fixture.clock.advance(20 * HOUR_MS);
      await outbox.append([fixture.entry('k', 1)]);
      await fixture.until(outbox.close());
    }
    fixture.clock.reboot({ bootId: 'boot-4' });
    outbox = await fixture.open();
    await fixture.clock.advance(7 * HOUR_MS);
    expect(outbox.status().dropped).toBe(0);
    await fixture.clock.advance(2 * HOUR_MS);
    expect(outbox.status().dropped).toBeGreaterThan((BLOCKS - 3) * ENTRIES);
  });

  it('ages entries of an earlier process of the same boot', async () => {
    let outbox = await opened();
    await fixture.until(outbox.close());
    outbox = await fixture.open();
    await fixture.clock.advance(47 * HOUR_MS);
    expect(outbox.status().dropped).toBe(0);
    await fixture.clock.advance(2 * HOUR_MS);
    expect(outbox.status().dropped).toBeGreaterThan((BLOCKS - 3) * ENTRIES);
  });

  it('lets go of what was delivered, when it has been kept for its time', async () => {
    const outbox = await opened();
    await drain(outbox);
    await fixture.clock.advance(23 * HOUR_MS);
    const { segments } = outbox.status();
    expect(segments).toBeGreaterThan(5);
    await fixture.clock.advance(2 * HOUR_MS);
    expect(outbox.status().segments).toBeLessThanOrEqual(2);
  });
});

/** What a link that is down makes of a batch: its times are given out, and it stays. */
async function drainNothing(outbox: Outbox): Promise<void> {
  expect(await outbox.peek('backlog', { maxEntries: 10, maxBytes: 10_000 })).toBeDefined();
}
