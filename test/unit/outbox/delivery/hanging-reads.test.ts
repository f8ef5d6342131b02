/** A disk that does not come back from a read: alarms leave from memory, nobody waits, and what was read late is given out once. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Lane, OutboxBatch } from '../../../../src/outbox/delivery/outbox-batch.ts';
import type { Outbox } from '../../../../src/outbox/outbox.ts';
import { MemoryFiles, type Operation } from '../../../support/memory-files.ts';
import { drain, FakeTimeSync, NO_LIMITS, OutboxFixture } from '../../../support/outbox-fixture.ts';

let fixture: OutboxFixture;
let files: MemoryFiles;
let outbox: Outbox;

beforeEach(async () => {
  fixture = await OutboxFixture.make({ commitAgeMs: 100 });
  files = new MemoryFiles();
  fixture.files = files;
  outbox = await fixture.open();
  await fixture.commit(outbox, fixture.noise(100));
  await fixture.until(outbox.close());
  outbox = await fixture.open();
});
afterEach(() => fixture.remove());

/** The disk hangs on these until the returned function is called. */
function hang(operations: readonly Operation[]): () => Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const heal = files.addFaults({ delay: (operation) => (operations.includes(operation) ? promise : undefined) });
  return async () => {
    heal();
    resolve();
    await fixture.clock.advance(0);
  };
}

async function within(ms: number, lane: Lane): Promise<OutboxBatch | undefined | 'waits'> {
  let found: OutboxBatch | undefined | 'waits' = 'waits';
  void outbox.peek(lane, NO_LIMITS).then((batch) => {
    found = batch;
  });
  await fixture.clock.advance(ms);
  return found;
}

async function keysWithin(ms: number, lane: Lane): Promise<readonly string[] | 'waits'> {
  const batch = await within(ms, lane);
  return batch === 'waits' ? batch : (batch?.entries.keys ?? []);
}

it.each<[string, Operation[], number]>([
  ['reads alone hang', ['read'], 200],
  ['it takes nothing either', ['read', 'write', 'sync'], 6_000],
])('an alarm leaves within seconds while history is being read, when %s', async (_name, operations, ms) => {
  const heal = hang(operations);
  expect(await keysWithin(3_000, 'backlog')).toEqual([]);
  const appended = outbox.append([fixture.entry('fire', 1, { class: 'alarm' })]);
  appended.catch(() => {});
  await fixture.clock.advance(ms);
  // Times are to be kept before they are given out, for two seconds.
  const batch = await within(2_000, 'alarm');
  if (batch === 'waits' || batch === undefined) expect.fail('no alarm');
  expect(batch.entries.keys).toEqual(['fire']);
  await outbox.acknowledge(batch);
  expect(await keysWithin(2_000, 'alarm')).toEqual([]);
  await heal();
  await fixture.until(appended);
  expect((await drain(outbox)).map(({ key }) => key).filter((key) => key === 'fire')).toEqual([]);
});

it('what was read late is given out when it is asked for again, once, and it is told', async () => {
  let told = 0;
  outbox.onAppended(() => {
    told += 1;
  });
  const heal = hang(['read']);
  expect(await keysWithin(2_900, 'backlog')).toBe('waits');
  await fixture.clock.advance(200);
  for (const lane of ['live', 'alarm', 'backlog'] as const) expect(await keysWithin(0, lane)).toEqual([]);
  expect(told).toBe(0);
  await heal();
  expect(told).toBe(1);
  let reads = 0;
  files.faults = {
    fail: (operation) => {
      reads += Number(operation === 'read');
      return undefined;
    },
  };
  const batch = await outbox.peek('backlog', NO_LIMITS);
  expect([batch?.entries.length, reads]).toEqual([100, 0]);
  if (batch !== undefined) await outbox.acknowledge(batch);
  expect(await drain(outbox)).toEqual([]);
});

it('what was acknowledged meanwhile is not given out late', async () => {
  const batch = await outbox.peek('backlog', NO_LIMITS);
  const heal = hang(['read']);
  expect(await keysWithin(3_000, 'backlog')).toEqual([]);
  if (batch !== undefined) await outbox.acknowledge(batch);
  await heal();
  expect(await drain(outbox)).toEqual([]);
});

it('what was read late is not given out when it has been acknowledged since', async () => {
  const batch = await outbox.peek('backlog', NO_LIMITS);
  const heal = hang(['read']);
  expect(await keysWithin(3_000, 'backlog')).toEqual([]);
  await heal();
  if (batch !== undefined) await outbox.acknowledge(batch);
  expect(await drain(outbox)).toEqual([]);
});

/** Segments of an earlier boot whose clock nobody synchronised, each with alarms. */
async function manyUndecidedSegments(): Promise<void> {
  await fixture.until(outbox.close());
  fixture.settings = { ...fixture.settings, maxBytes: 256 * 1024, order: 'newest-first' };
  fixture.timeSync = new FakeTimeSync(false);
  fixture.clock.reboot({ bootId: 'boot-2' });
  outbox = await fixture.open();
  while (outbox.status().segments < 8) {
    await fixture.commit(outbox, [fixture.entry('fire', 1, { class: 'alarm' })]);
    await fixture.commit(outbox, fixture.noise(100, outbox.status().heldEntries));
  }
  await fixture.until(outbox.close());
  fixture.timeSync = new FakeTimeSync();
  fixture.clock.reboot({ bootId: 'boot-3' });
  outbox = await fixture.open();
}

it('a slow look into one lane takes no turn from the others', async () => {
  await manyUndecidedSegments();
  const heal = files.addFaults({
    delay: (operation) => (operation === 'read' ? fixture.clock.sleep(1_000, new AbortController().signal) : undefined),
  });
  expect(await keysWithin(3_000, 'alarm')).toEqual([]);
  await fixture.clock.advance(60_000);
  await fixture.commit(outbox, [fixture.entry('now', 1)]);
  expect(await keysWithin(0, 'alarm')).toEqual([]);
  expect(await keysWithin(2_900, 'live')).toEqual(['now']);
  heal();
});

it('a look that came back late with nothing does not hide an alarm that came meanwhile', async () => {
  await manyUndecidedSegments();
  const heal = hang(['read']);
  expect(await keysWithin(3_000, 'alarm')).toEqual([]);
  await heal();
  await outbox.append([fixture.entry('fire', 1, { class: 'alarm' })]);
  expect(await keysWithin(0, 'alarm')).toEqual(['fire']);
});

it('segments whose times are not known are read once for their alarms, and not at each look', async () => {
  await manyUndecidedSegments();
  for (let look = 0; look < 10; look += 1) expect(await outbox.peek('alarm', NO_LIMITS)).toBeUndefined();
  let reads = 0;
  files.addFaults({
    fail: (operation) => {
      reads += Number(operation === 'read');
      return undefined;
    },
  });
  for (let look = 0; look < 10; look += 1) expect(await outbox.peek('alarm', NO_LIMITS)).toBeUndefined();
  expect(reads).toBe(0);
});

it('an alarm of memory that is on its way is not given out beside itself', async () => {
  const heal = hang(['read', 'write', 'sync']);
  outbox.append([fixture.entry('fire', 1, { class: 'alarm' })]).catch(() => {});
  await fixture.clock.advance(6_000);
  const first = await fixture.until(outbox.peek('alarm', NO_LIMITS));
  expect(first?.entries.keys).toEqual(['fire']);
  expect(await fixture.until(outbox.peek('alarm', NO_LIMITS, first))).toBeUndefined();
  expect((await fixture.until(outbox.peek('alarm', NO_LIMITS)))?.entries.keys).toEqual(['fire']);
  await heal();
});

it('an alarm of memory that is in quarantine is not acknowledged with the others of its block', async () => {
  const heal = hang(['read', 'write', 'sync']);
  outbox.append(['fire', 'bad', 'flood'].map((key, at) => fixture.entry(key, at, { class: 'alarm' }))).catch(() => {});
  await fixture.clock.advance(6_000);
  const [, bad = -1] = (await fixture.until(outbox.peek('alarm', NO_LIMITS)))?.entries.sequences ?? [];
  outbox.quarantined.add(bad);
  const others = await fixture.until(outbox.peek('alarm', NO_LIMITS));
  expect(others?.entries.keys).toEqual(['fire', 'flood']);
  if (others !== undefined) await outbox.acknowledge(others);
  outbox.quarantined.putBack(bad);
  expect((await fixture.until(outbox.peek('alarm', NO_LIMITS)))?.entries.keys).toEqual(['bad']);
  await heal();
});
