/** When the outbox writes down what was delivered, what a crash between two writes costs, and that nothing goes on behind a closed one. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { OutboxBatch } from '../../../src/outbox/delivery/outbox-batch.ts';
import type { Outbox } from '../../../src/outbox/outbox.ts';
import { MemoryFiles } from '../../support/memory-files.ts';
import { LANES, NO_LIMITS, OutboxFixture } from '../../support/outbox-fixture.ts';

let fixture: OutboxFixture;
let files: MemoryFiles;
let outbox: Outbox;

beforeEach(async () => {
  fixture = await OutboxFixture.make({ commitAgeMs: 100 });
  files = new MemoryFiles();
  fixture.files = files;
  outbox = await fixture.open();
});
afterEach(() => {
  files.faults = {};
  return fixture.remove();
});

const stateWrites = (): number => files.changes.filter((change) => /^write .*\/delivered-/.test(change)).length;
const ledgerFiles = (): number => files.paths.filter((path) => path.includes('/ledger-')).length;

/** The entries that the newer of the two state files says were not delivered. */
function notedUndelivered(): readonly number[] {
  const states = [0, 1]
    .map((turn) => `${fixture.folder}/delivered-${turn}.state`)
    .filter((path) => files.paths.includes(path));
  const bodies = states.map((path) => JSON.parse(files.contentOf(path).toString().split('\n')[1] ?? ''));
  return bodies.sort((a, b) => b.number - a.number)[0].undelivered.map(([first]: [number]) => first);
}

async function given(): Promise<OutboxBatch> {
  for (const lane of LANES) {
    const batch = await outbox.peek(lane, NO_LIMITS);
    if (batch !== undefined) return batch;
  }
  throw new Error('nothing is given out');
}

async function delivered(count: number, keys = 1): Promise<void> {
  await fixture.commit(
    outbox,
    Array.from({ length: count }, (_none, at) => fixture.entry(`k${at % keys}`, at)),
  );
  await outbox.acknowledge(await given());
}

/** An alarm is committed at once: no time passes. */
const commitNow = (): Promise<void> => outbox.append([fixture.entry('smoke', true, { class: 'alarm' })]);

it('what was not delivered is forgotten with the segments that held it, and not before', async () => {
  await fixture.until(outbox.close());
  fixture.settings = {
    ...fixture.settings,
    maxBytes: 64 * 1024,
    retain: { forMs: 3_600_000, bytes: 16_000_000 },
    maxAgeMs: Number.MAX_SAFE_INTEGER,
  };
  outbox = await fixture.open();
  const refused: number[] = [];
  for (let from = 0; outbox.status().segments < 6; from += 100) {
    await fixture.commit(outbox, fixture.noise(100, from));
    const batch = await given();
    const [first] = [...batch.entries];
    if (first === undefined) expect.fail('an empty batch');
    await fixture.until(outbox.reject(first, 'no'));
    await outbox.acknowledge(batch);
    refused.push(first.sequence);
  }
  await fixture.clock.advance(61_000);
  expect(notedUndelivered()).toEqual(refused);
  await fixture.clock.advance(2 * 3_600_000);
  expect(outbox.status().segments).toBe(1);
  const left = notedUndelivered();
  expect(left.length).toBeLessThan(refused.length / 2);
  expect(left).toEqual(refused.slice(refused.length - left.length));
});

describe('what was delivered is written', () => {
  it('half a minute later, when nothing else is written', async () => {
    await delivered(5);
    const before = stateWrites();
    await fixture.clock.advance(29_999);
    expect(stateWrites()).toBe(before);
    await fixture.clock.advance(1);
    expect(stateWrites()).toBe(before + 1);
    // A kill now: nothing of it goes out again.
    outbox = await fixture.open();
    expect(outbox.status().heldEntries).toBe(0);
  });

  it('half a minute after its commit at the latest, when it arrived while it was being written', async () => {
    const written = Promise.withResolvers<void>();
    files.faults = {
      delay: (operation, path) => (operation === 'sync' && path.endsWith('.seg') ? written.promise : undefined),
    };
    const appended = commitNow();
    await fixture.clock.advance(0);
    await outbox.acknowledge(await given());
    await appended;
    files.faults = {};
    written.resolve();
    await fixture.clock.advance(30_000);
    outbox = await fixture.open();
    expect([outbox.status().segments, outbox.status().heldEntries]).toEqual([1, 0]);
  });

  it('with a commit, but not with every one: when the last write is 20 s old', async () => {
    await fixture.clock.advance(19_000);
    await delivered(5);
    await commitNow();
    await fixture.clock.advance(0);
    expect(stateWrites()).toBe(0);
    await fixture.clock.advance(1_500);
    await commitNow();
    await fixture.clock.advance(0);
    expect(stateWrites()).toBe(1);
    await outbox.acknowledge(await given());
    await commitNow();
    await fixture.clock.advance(0);
    expect(stateWrites()).toBe(1);
  });

  it('after a second when it is 2000 entries, and once for them', async () => {
    await delivered(1_000);
    await delivered(999);
    await fixture.clock.advance(1_500);
    expect(stateWrites()).toBe(0);
    await commitNow();
    await outbox.acknowledge(await given());
    await fixture.clock.advance(500);
    await commitNow();
    await outbox.acknowledge(await given());
    await fixture.clock.advance(499);
    expect(stateWrites()).toBe(0);
    await fixture.clock.advance(1);
    expect(stateWrites()).toBe(1);
    await delivered(10);
    await fixture.clock.advance(1_500);
    expect(stateWrites()).toBe(1);
    // Those that were written count no more: these are the next two thousand, and not one less.
    await delivered(1_989);
    await fixture.clock.advance(1_500);
    expect(stateWrites()).toBe(1);
  });

  it('once with a record of whole seconds: what was read last has arrived before it is written', async () => {
    fixture.settings = { ...fixture.settings, commitAgeMs: 5_000 };
    outbox = await fixture.open();
    const before = stateWrites();
    // Each second a reading, which leaves when it has gathered, and is answered 200 ms later; timers are a little early now and then.
    for (let second = 0; second < 340; second += 1) {
      void outbox.append([fixture.entry('a', second)]);
      await fixture.clock.advance(300);
      const batch = await given();
      await fixture.clock.advance(200);
      await outbox.acknowledge(batch);
      await fixture.clock.advance(second === 10 ? 490 : 500);
    }
    expect([stateWrites() - before, outbox.status().segments]).toEqual([2, 1]);
  });

  it('again later, when the disk does not take it', async () => {
    await delivered(5);
    files.faults = {
      fail: (operation, path) => (operation === 'write' && path.includes('delivered-') ? { code: 'EIO' } : undefined),
    };
    await fixture.clock.advance(31_000);
    files.faults = {};
    await fixture.clock.advance(61_000);
    outbox = await fixture.open();
    expect(outbox.status().heldEntries).toBe(0);
  });
});

describe('the ledger is written', () => {
  it('when an hour has passed since it was, and counts all', async () => {
    await delivered(5);
    await fixture.clock.advance(3_500_000);
    expect(ledgerFiles()).toBe(0);
    await fixture.clock.advance(200_000);
    expect(ledgerFiles()).toBe(1);
    await delivered(2);
    await fixture.clock.advance(3_400_000);
    expect((await outbox.readLedger({})).reduce((sum, { count }) => sum + count, 0)).toBe(7);
    const size = files.usedBytes;
    await fixture.clock.advance(400_000);
    expect(files.usedBytes).toBeGreaterThan(size);
    // A kill now.
    outbox = await fixture.open();
    expect((await outbox.readLedger({})).reduce((sum, { count }) => sum + count, 0)).toBe(7);
  });

  it.each([
    [256, 0],
    [257, 1],
  ])('before the delivery state grows with it: of %i cells, %i files', async (keys, expected) => {
    await delivered(keys, keys);
    await fixture.clock.advance(31_000);
    expect(ledgerFiles()).toBe(expected);
  });

  it('each hour, too, where more keys than that go on', async () => {
    const ledgerWrites = (): number => files.changes.filter((change) => /^write .*\/ledger-/.test(change)).length;
    await delivered(400, 400);
    await fixture.clock.advance(61_000);
    const written = ledgerWrites();
    for (let minute = 0; minute < 50; minute += 1) {
      await delivered(400, 400);
      await fixture.clock.advance(60_000);
    }
    // One where the hour of the clock ends within.
    expect(ledgerWrites() - written).toBeLessThanOrEqual(1);
    await fixture.clock.advance(700_000);
    expect(ledgerWrites()).toBeGreaterThan(written);
    const cells = await outbox.readLedger({});
    expect(cells.reduce((sum, { count }) => sum + count, 0)).toBe(51 * 400);
  });

  it('with each entry once, however often it is acknowledged', async () => {
    await fixture.commit(outbox, [fixture.entry('a', 1), fixture.entry('a', 2)]);
    const batch = await given();
    await outbox.acknowledge(batch);
    await outbox.acknowledge(batch);
    expect((await outbox.readLedger({})).map(({ count, sum }) => [count, sum])).toEqual([[2, 3]]);
  });

  it('again later, when the disk does not take it, and nothing is lost or counted twice by that', async () => {
    await delivered(300, 300);
    files.faults = {
      fail: (operation, path) => (operation === 'write' && path.includes('ledger-') ? { code: 'ENOSPC' } : undefined),
    };
    await fixture.clock.advance(31_000);
    files.faults = {};
    expect((await outbox.readLedger({})).map(({ count }) => count)).toEqual(Array(300).fill(1));
    await fixture.clock.advance(61_000);
    outbox = await fixture.open();
    expect((await outbox.readLedger({})).map(({ count }) => count)).toEqual(Array(300).fill(1));
  });
});

describe('while the ledger cannot be written', () => {
  const refuse = (): void => {
    files.faults = {
      fail: (operation, path) => (operation === 'write' && path.includes('ledger-') ? { code: 'EIO' } : undefined),
    };
  };

  it('what was delivered is, so that nothing of it goes out again, and is counted once it can be', async () => {
    refuse();
    await delivered(300, 300);
    await fixture.clock.advance(31_000);
    // A kill now.
    outbox = await fixture.open();
    expect(outbox.status().heldEntries).toBe(0);
    files.faults = {};
    await delivered(1);
    await fixture.clock.advance(61_000);
    outbox = await fixture.open();
    expect([ledgerFiles(), (await outbox.readLedger({})).reduce((sum, { count }) => sum + count, 0)]).toEqual([1, 301]);
  });

  it('no more cells are kept than the delivery state can carry: those of the oldest hours go', async () => {
    refuse();
    for (let hour = 0; hour < 6; hour += 1) {
      await delivered(200, 200);
      await fixture.clock.advance(3_600_000);
    }
    const cells = await outbox.readLedger({});
    const hours = [...new Set(cells.map(({ hourMs }) => hourMs))];
    const oldest = cells.filter(({ hourMs }) => hourMs === Math.min(...hours));
    expect([cells.length, hours.length, oldest.length]).toEqual([1_024, 6, 24]);
    // The next delivery is a cell of its own, and counted in it.
    await delivered(3);
    const now = (await outbox.readLedger({})).filter(({ hourMs }) => !hours.includes(hourMs));
    expect(now.map(({ count }) => count)).toEqual([3]);
  });
});

describe('behind a closed outbox', () => {
  it('no timer waits and no file changes, whatever is acknowledged late', async () => {
    await delivered(1);
    await fixture.commit(outbox, [fixture.entry('a', 1)]);
    const late = await given();
    await fixture.until(outbox.close());
    expect(fixture.clock.pending).toBe(0);
    const before = files.changes.length;
    await outbox.acknowledge(late);
    fixture.timeSync.become(true);
    await fixture.clock.advance(200_000);
    expect(fixture.clock.pending).toBe(0);
    expect(files.changes.length).toBe(before);
  });

  it('a second close does nothing', async () => {
    await fixture.until(outbox.close());
    const before = files.changes.length;
    await outbox.close();
    expect(files.changes.length).toBe(before);
  });
});

it('writes a clock that has become right into the table of boots at once', async () => {
  await delivered(1);
  await fixture.clock.advance(1_000);
  const before = files.contentOf(`${fixture.folder}/boots.json`).toString();
  fixture.clock.stepWall(3_600_000);
  fixture.timeSync.become(true);
  await fixture.clock.advance(0);
  expect(files.contentOf(`${fixture.folder}/boots.json`).toString()).not.toBe(before);
});

it('ends with what it was doing when a minute of housekeeping is cut by a close', async () => {
  let release: () => void = () => {};
  const hanging = new Promise<void>((resolve) => {
    release = resolve;
  });
  await delivered(1);
  files.faults = { delay: (operation) => (operation === 'write' ? hanging : undefined) };
  await fixture.clock.advance(60_000);
  const closed = outbox.close();
  release();
  await fixture.until(closed);
  expect(fixture.clock.pending).toBe(0);
  await fixture.clock.advance(200_000);
  expect(fixture.clock.pending).toBe(0);
});
