/** Entries that are in quarantine hold up nobody, are nobody's to acknowledge, and are lost by nothing but their own age. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Lane } from '../../../../src/outbox/delivery/outbox-batch.ts';
import { EntryColumns } from '../../../../src/outbox/format/entry-columns.ts';
import type { Outbox } from '../../../../src/outbox/outbox.ts';
import { MemoryFiles } from '../../../support/memory-files.ts';
import { drain, NO_LIMITS, OutboxFixture, takeAlone } from '../../../support/outbox-fixture.ts';

let fixture: OutboxFixture;
let files: MemoryFiles;
let outbox: Outbox;

beforeEach(async () => {
  fixture = await OutboxFixture.make();
  files = new MemoryFiles();
  fixture.files = files;
  outbox = await fixture.open();
});
afterEach(() => fixture.remove());

async function keysIn(lane: Lane): Promise<readonly string[]> {
  return (await outbox.peek(lane, NO_LIMITS))?.entries.keys ?? [];
}

/** Commits one block of these keys and returns their sequences. */
async function given(keys: readonly string[], more: { readonly class?: 'alarm' } = {}): Promise<readonly number[]> {
  await fixture.commit(
    outbox,
    keys.map((key, at) => fixture.entry(key, at, more)),
  );
  return (await outbox.peek(more.class ?? 'live', NO_LIMITS))?.entries.sequences ?? [];
}

describe.each(['live', 'backlog', 'alarm'] as const)('in the lane %s', (lane) => {
  const settle = async (keys: readonly string[]): Promise<readonly number[]> => {
    const sequences = await given(keys, lane === 'alarm' ? { class: 'alarm' } : {});
    if (lane === 'backlog') await fixture.clock.advance(60_000);
    return sequences;
  };

  it('the others of a block go without the one that is in quarantine, and their acknowledgement does not reach it', async () => {
    const [, bad = -1] = await settle(['a', 'bad', 'c']);
    outbox.quarantined.add(bad);
    expect(await keysIn(lane)).toEqual(['a', 'c']);
    expect((await drain(outbox)).map(({ key }) => key)).toEqual(['a', 'c']);
    expect(outbox.status()).toMatchObject({ heldEntries: 1, dropped: 0, rejected: 0 });
    outbox.quarantined.putBack(bad);
    expect((await drain(outbox)).map(({ key }) => key)).toEqual(['bad']);
    expect(outbox.status().heldEntries).toBe(0);
  });

  it('its neighbours that are on their way are not given out again', async () => {
    const [, bad = -1] = await settle(['a', 'bad', 'c']);
    outbox.quarantined.add(bad);
    const onItsWay = await outbox.peek(lane, NO_LIMITS);
    expect(onItsWay?.entries.keys).toEqual(['a', 'c']);
    expect(await outbox.peek(lane, NO_LIMITS, onItsWay)).toBeUndefined();
  });

  it('a block of which all is in quarantine is passed over, and what follows is given out', async () => {
    for (const sequence of await settle(['bad', 'worse'])) outbox.quarantined.add(sequence);
    await settle(['good']);
    expect((await drain(outbox)).map(({ key }) => key)).toEqual(['good']);
  });
});

it('is in quarantine no more once it is delivered, so that it goes when it is asked for again', async () => {
  const [bad = -1] = await given(['bad', 'good']);
  const alone = await takeAlone(outbox, bad);
  outbox.quarantined.add(bad);
  if (alone !== undefined) await outbox.acknowledge(alone);
  await drain(outbox);
  const query = { key: 'bad', fromMs: 0, toMs: Number.MAX_SAFE_INTEGER };
  expect(await fixture.until(outbox.resend(query, new AbortController().signal))).toBe(1);
  // Its neighbours in the block go along.
  expect((await drain(outbox)).map(({ key }) => key)).toEqual(['bad', 'good']);
});

it('is in its lane again after a restart', async () => {
  const [bad = -1] = await given(['bad', 'good']);
  outbox.quarantined.add(bad);
  await drain(outbox);
  await fixture.until(outbox.close());
  outbox = await fixture.open();
  expect((await drain(outbox)).map(({ key }) => key)).toEqual(['bad']);
});

it('is not rejected when it is delivered while the disk hangs on its refusal, and can be sent again', async () => {
  const [sequence = -1] = await given(['bad']);
  const [bad] = (await outbox.peek('live', NO_LIMITS))?.entries ?? [];
  if (bad === undefined) throw new Error('nothing is given out');
  const alone = await takeAlone(outbox, sequence);
  outbox.quarantined.add(sequence);
  const { promise, resolve } = Promise.withResolvers<void>();
  const heal = files.addFaults({
    delay: (operation, path) => (path.endsWith('rejected.jsonl') && operation === 'open' ? promise : undefined),
  });
  const rejecting = outbox.reject(bad, '400 no');
  if (alone !== undefined) await outbox.acknowledge(alone);
  heal();
  resolve();
  await fixture.until(rejecting);
  expect([outbox.status().rejected, await outbox.rejected()]).toEqual([0, []]);
  const query = { key: 'bad', fromMs: 0, toMs: Number.MAX_SAFE_INTEGER };
  expect(await fixture.until(outbox.resend(query, new AbortController().signal))).toBe(1);
});

it('is rejected once, and not at all when it was delivered meanwhile', async () => {
  await given(['bad', 'good']);
  const [bad, good] = [...((await outbox.peek('live', NO_LIMITS))?.entries ?? [])];
  if (bad === undefined || good === undefined) throw new Error('nothing is given out');
  await fixture.until(outbox.reject(bad, '400 no'));
  await fixture.until(outbox.reject(bad, '400 no'));
  await drain(outbox);
  await fixture.until(outbox.reject(good, '400 no'));
  expect(outbox.status().rejected).toBe(1);
  expect((await outbox.rejected()).map(({ key }) => key)).toEqual(['bad']);
});

it('waits as before when the disk does not take it among the rejected', async () => {
  const [bad = -1] = await given(['bad', 'good']);
  const entry = (await takeAlone(outbox, bad))?.entries.at(0);
  outbox.quarantined.add(bad);
  if (entry === undefined) throw new Error('it is not given out');
  files.faults = {
    fail: (operation, path) => (operation !== 'read' && path.includes('rejected') ? { code: 'ENOSPC' } : undefined),
  };
  await expect(outbox.reject(entry, '400 no')).rejects.toMatchObject({ code: 'ENOSPC' });
  expect(outbox.status()).toMatchObject({ heldEntries: 2, rejected: 0 });
  expect(outbox.quarantined.isWaiting(bad)).toBe(true);
  files.faults = {};
  await fixture.until(outbox.reject(entry, '400 no'));
  expect(outbox.quarantined.isWaiting(bad)).toBe(false);
  expect(outbox.status()).toMatchObject({ heldEntries: 1, rejected: 1 });
});

it('costs no reading of a segment of which nothing else is left', async () => {
  fixture.settings = { ...fixture.settings, maxBytes: 64 * 1024 };
  await fixture.until(outbox.close());
  outbox = await fixture.open();
  const [bad = -1] = await given(['bad']);
  outbox.quarantined.add(bad);
  // Past the end of the segment that holds it.
  for (let block = 0; block < 30; block += 1)
    await given(Array.from({ length: 100 }, (_none, at) => `key${block}-${at}`));
  await drain(outbox);
  await fixture.until(outbox.close());
  outbox = await fixture.open();
  outbox.quarantined.add(bad);
  await fixture.clock.advance(60_000);
  let reads = 0;
  files.faults = {
    fail: (operation) => {
      if (operation === 'read') reads += 1;
      return undefined;
    },
  };
  expect(await keysIn('backlog')).toEqual([]);
  expect(reads).toBe(0);
});

describe('in what was thinned', () => {
  const order = ['newest-first', 'oldest-first'] as const;
  let taken: number;
  /** An outage so long that the oldest are thinned, with alarms between the readings, so that many blocks have gaps. */
  async function thinned(settings: Parameters<typeof OutboxFixture.make>[0] = {}): Promise<readonly number[]> {
    await fixture.until(outbox.close());
    fixture.settings = {
      ...fixture.settings,
      maxBytes: 60_000,
      retain: { forMs: 86_400_000, bytes: 0 },
      commitAgeMs: 100,
      ...settings,
    };
    outbox = await fixture.open();
    for (taken = 0; outbox.status().thinned < 200; taken += 13) {
      const readings = Array.from({ length: 12 }, (_none, at) => fixture.entry(`k${at % 2}`, 1e6 * at + taken));
      await fixture.commit(outbox, readings);
      await fixture.commit(outbox, [fixture.entry('alarm', `a${taken}${Math.sin(taken)}`, { class: 'alarm' })]);
    }
    await fixture.clock.advance(61_000);
    return await regular();
  }

  /** The readings that wait, oldest first. */
  async function regular(): Promise<readonly number[]> {
    const sequences: number[] = [];
    for await (const { sequence, key } of outbox.read({ heldOnly: true }, new AbortController().signal))
      if (key.startsWith('k')) sequences.push(sequence);
    return sequences;
  }

  it.each(order)(
    'they make no batch of nothing when no other is left, and each is delivered or counted once, %s',
    async (order) => {
      const waiting = await thinned({ order });
      for (const sequence of waiting) outbox.quarantined.add(sequence);
      const sizes: number[] = [];
      const alarms: string[] = [];
      for (let looks = 0; looks < 10_000; looks += 1) {
        const batch =
          (await outbox.peek('alarm', { ...NO_LIMITS, maxEntries: 20 })) ?? (await outbox.peek('backlog', NO_LIMITS));
        if (batch === undefined) break;
        sizes.push(batch.entries.length);
        alarms.push(...batch.entries.keys);
        await outbox.acknowledge(batch);
      }
      expect(Math.min(...sizes)).toBeGreaterThan(0);
      expect(new Set(alarms)).toEqual(new Set(['alarm', 'outboxThinned']));
      expect(await keysIn('backlog')).toEqual([]);
      const { thinned: gone, dropped } = outbox.status();
      expect([outbox.status().heldEntries, dropped]).toEqual([waiting.length, 0]);
      expect(alarms.filter((key) => key === 'alarm').length + waiting.length + gone).toBe(taken);
      for (const sequence of waiting) outbox.quarantined.putBack(sequence);
      const given = (await drain(outbox)).map(({ sequence }) => sequence);
      expect(given.toSorted((a, b) => a - b)).toEqual(waiting);
      expect(outbox.status()).toMatchObject({ heldEntries: 0, thinned: gone, damaged: 0 });
    },
  );

  it('leave the disk with their gaps once each was delivered by itself, and are not missed after a power cut', async () => {
    const [first = -1, ...others] = await thinned();
    outbox.quarantined.add(first);
    for (const sequence of others) {
      const entries = EntryColumns.of([{ sequence, device: 'self', key: 'k0', value: 1, ts: 1, class: 'regular' }]);
      await outbox.acknowledge({ lane: 'backlog', entries, ranges: [[sequence, sequence]], bytes: 1 });
    }
    for (
      let batch = await outbox.peek('alarm', NO_LIMITS);
      batch !== undefined;
      batch = await outbox.peek('alarm', NO_LIMITS)
    )
      await outbox.acknowledge(batch);
    // What has no gaps goes, and the disk knows of all that was delivered.
    await fixture.clock.advance(661_000);
    const { segments } = outbox.status();
    expect(await keysIn('backlog')).toEqual([]);
    await fixture.clock.advance(661_000);
    expect(outbox.status().segments).toBeLessThan(segments - 1);
    await files.syncFolder(fixture.folder);
    files.cutPower(() => false);
    fixture.clock.reboot({ bootId: 'boot-2' });
    outbox = await fixture.open();
    expect((await drain(outbox)).map(({ sequence }) => sequence)).toContain(first);
    expect(outbox.status()).toMatchObject({ heldEntries: 0, damaged: 0, dropped: 0 });
  });
});
