/** Which wall time an entry gets when the clock was wrong, stepped, or never right; on a disk in memory. */

import { afterEach, describe, expect, it } from 'vitest';
import type { ResolvedEntry } from '../../../../src/outbox/format/entry-columns.ts';
import type { TelemetryEntry } from '../../../../src/outbox/format/telemetry-entry.ts';
import type { Outbox } from '../../../../src/outbox/outbox.ts';
import { sealJson } from '../../../../src/store/sealed-json.ts';
import { MemoryFiles } from '../../../support/memory-files.ts';
import { drain, FakeTimeSync, NO_LIMITS, OutboxFixture } from '../../../support/outbox-fixture.ts';

const RIGHT_MS = 1_780_000_000_000;
const UNSET_MS = 1_000_000_000;
let fixture: OutboxFixture;

afterEach(() => fixture.remove());

async function make(settings: Parameters<typeof OutboxFixture.make>[0] = {}): Promise<void> {
  fixture = await OutboxFixture.make(settings);
  fixture.files = new MemoryFiles();
}

/** One boot: opens, runs for so long with an entry at its end, and closes. */
async function boot(life: {
  bootId: string;
  wallMs: number;
  runsMs: number;
  synchronised: boolean;
  key: string;
}): Promise<void> {
  fixture.clock.reboot({ bootId: life.bootId, monotonicMs: 0, wallMs: life.wallMs });
  fixture.timeSync = new FakeTimeSync(life.synchronised);
  const outbox = await fixture.open();
  await fixture.clock.advance(life.runsMs);
  await outbox.append([fixture.entry(life.key, life.runsMs)]);
  await fixture.until(outbox.close());
}

async function reopen(bootId: string, wallMs: number): Promise<Outbox> {
  fixture.clock.reboot({ bootId, monotonicMs: 0, wallMs });
  fixture.timeSync = new FakeTimeSync(true);
  return fixture.open();
}

/** The first batch of what waits, each value under a name of its own. */
async function waiting(outbox: Outbox): Promise<ResolvedEntry[]> {
  const batch = (await outbox.peek('live', NO_LIMITS)) ?? (await outbox.peek('backlog', NO_LIMITS));
  return [...(batch?.entries ?? [])].map((entry) => ({ ...entry, key: `${entry.key} ${String(entry.value)}` }));
}

function times(entries: readonly ResolvedEntry[]): Record<string, number> {
  return Object.fromEntries(entries.map(({ key, ts }) => [key, ts]));
}

describe('a boot whose clock was never right', () => {
  it('is decided between its neighbours when they leave little room', async () => {
    await make();
    await boot({ bootId: 'known', wallMs: RIGHT_MS, runsMs: 60_000, synchronised: true, key: 'before' });
    await boot({ bootId: 'lost', wallMs: UNSET_MS, runsMs: 600_000, synchronised: false, key: 'during' });
    // 40 s were spent between three boots.
    const outbox = await reopen('after', RIGHT_MS + 60_000 + 600_000 + 40_000);
    expect(times(await drain(outbox))).toEqual({
      before: RIGHT_MS + 60_000,
      during: RIGHT_MS + 60_000 + 20_000 + 600_000,
    });
    expect(outbox.status().undecidedEntries).toBe(0);
  });

  it('keeps its place among several such boots', async () => {
    await make();
    await boot({ bootId: 'known', wallMs: RIGHT_MS, runsMs: 10_000, synchronised: true, key: 'before' });
    await boot({ bootId: 'lost-1', wallMs: UNSET_MS, runsMs: 30_000, synchronised: false, key: 'first' });
    await boot({ bootId: 'lost-2', wallMs: UNSET_MS, runsMs: 20_000, synchronised: false, key: 'second' });
    const given = times(await drain(await reopen('after', RIGHT_MS + 90_000)));
    expect(given.first).toBe(RIGHT_MS + 10_000 + 10_000 + 30_000);
    expect(given.second).toBe((given.first ?? 0) + 10_000 + 20_000);
  });

  it('is held, and said to be undecided, after a long time off', async () => {
    await make();
    await boot({ bootId: 'known', wallMs: RIGHT_MS, runsMs: 60_000, synchronised: true, key: 'before' });
    await boot({ bootId: 'lost', wallMs: UNSET_MS, runsMs: 60_000, synchronised: false, key: 'during' });
    const outbox = await reopen('after', RIGHT_MS + 3 * 3_600_000);
    expect(Object.keys(times(await drain(outbox)))).toEqual(['before']);
    expect(outbox.status()).toMatchObject({ undecidedEntries: 1, untimedEntries: 1, heldEntries: 1 });
    // Not while it may yet be known, nor when it is sent all the same.
    await fixture.until(outbox.close());
    fixture.timeSync = new FakeTimeSync(false);
    fixture.clock.reboot({ bootId: 'unset', monotonicMs: 0, wallMs: UNSET_MS });
    const unset = await fixture.open();
    expect([unset.status().undecidedEntries, unset.status().untimedEntries]).toEqual([1, undefined]);
    await fixture.until(unset.close());
    fixture.settings = { ...fixture.settings, timeUncertain: 'send' };
    const sending = await reopen('sending', RIGHT_MS + 4 * 3_600_000);
    expect([sending.status().undecidedEntries, sending.status().untimedEntries]).toEqual([1, undefined]);
  });

  it('is sent as uncertain when that is the policy', async () => {
    await make({ timeUncertain: 'send' });
    await boot({ bootId: 'lost', wallMs: RIGHT_MS - 500, runsMs: 60_000, synchronised: false, key: 'during' });
    const outbox = await reopen('after', RIGHT_MS + 3 * 3_600_000);
    expect((await drain(outbox)).map(({ key, value, ts }) => [key, value, ts])).toEqual([
      ['during', 60_000, RIGHT_MS + 59_500],
      ['during_timeUncertain', true, RIGHT_MS + 59_500],
    ]);
  });
});

it('moves no entry of a boot for what the boot before it took at the same ms of its own', async () => {
  await make();
  await boot({ bootId: 'first', wallMs: RIGHT_MS, runsMs: 600_000, synchronised: true, key: 'k' });
  const outbox = await reopen('second', RIGHT_MS + 700_000);
  await outbox.append([fixture.entry('k', 2)]);
  expect((await drain(outbox)).map(({ ts }) => ts)).toEqual([RIGHT_MS + 700_000, RIGHT_MS + 600_000]);
});

it('holds entries of a boot of which nothing is known any more, and opens and counts all the same', async () => {
  await make({ maxBytes: 64 * 1024, commitAgeMs: 100 });
  for (const bootId of ['first', 'second']) {
    fixture.clock.reboot({ bootId, monotonicMs: 0, wallMs: RIGHT_MS });
    const outbox = await fixture.open();
    for (let block = 0; block < 10; block += 1) await fixture.commit(outbox, fixture.noise(200, block * 200));
    await fixture.until(outbox.close());
  }
  const files = fixture.files as MemoryFiles;
  for (const name of ['boots.json', 'boots.twin.json']) await files.unlink(`${fixture.folder}/${name}`);
  const outbox = await reopen('third', RIGHT_MS);
  expect(outbox.status().heldEntries).toBe(4_000);
  expect(outbox.status().undecidedEntries).toBeGreaterThan(0);
  expect(await drain(outbox)).toEqual([]);
});

/** So many boots more, of which nothing waits. */
function addBoots(boots: readonly object[]): void {
  const files = fixture.files as MemoryFiles;
  const path = `${fixture.folder}/boots.json`;
  const { crc32: _old, ...table } = JSON.parse(files.contentOf(path).toString());
  files.put(path, sealJson({ ...table, boots: [...table.boots, ...boots] }));
}

it('gives what waits its own time after however many boots in which it could not be sent, and keeps few of them then', async () => {
  await make();
  for (const at of [1, 2]) {
    const outbox = await reopen(`boot-${at}`, RIGHT_MS + at * 900_000);
    await fixture.commit(outbox, [fixture.entry(`k${at}`, at)]);
    await fixture.until(outbox.close());
  }
  addBoots(Array.from({ length: 298 }, (_none, at) => ({ bootId: `b${at}`, lastMs: 1, guessMs: 0, offsets: [] })));
  const outbox = await reopen('now', RIGHT_MS + 400 * 900_000);
  expect(times(await drain(outbox))).toEqual({ k1: RIGHT_MS + 900_000, k2: RIGHT_MS + 1_800_000 });
  await fixture.until(outbox.close());
  await fixture.until((await reopen('next', RIGHT_MS + 401 * 900_000)).close());
  expect(
    JSON.parse((fixture.files as MemoryFiles).contentOf(`${fixture.folder}/boots.json`).toString()).boots,
  ).toHaveLength(256);
});

it('keeps the boot of a few that wait where the others of their segment were delivered before it was thinned', async () => {
  await make({ maxBytes: 60_000, commitAgeMs: 100 });
  const first = await reopen('first', RIGHT_MS);
  await fixture.commit(
    first,
    Array.from({ length: 8 }, (_none, at) => fixture.entry('k', at)),
  );
  await fixture.until(first.close());
  // The last before one that is needed is kept in any case.
  await fixture.until((await reopen('between', RIGHT_MS + 300_000)).close());
  const second = await reopen('second', RIGHT_MS + 600_000);
  for (let block = 0; block < 8; block += 1) await fixture.commit(second, fixture.noise(100, block * 100));
  await fixture.clock.advance(60_000);
  for (
    let batch = await second.peek('backlog', { maxEntries: 100, maxBytes: 1 << 20 });
    batch?.entries.keys.includes('k') === false;
  ) {
    await second.acknowledge(batch);
    batch = await second.peek('backlog', { maxEntries: 100, maxBytes: 1 << 20 });
  }
  for (let block = 8; second.status().thinned === 0; block += 1)
    await fixture.commit(second, fixture.noise(1_000, block * 1_000));
  const { heldEntries, dropped } = second.status();
  await fixture.until(second.close());
  addBoots(Array.from({ length: 298 }, (_none, at) => ({ bootId: `b${at}`, lastMs: 1, guessMs: 0, offsets: [] })));
  const outbox = await reopen('now', RIGHT_MS + 400 * 900_000);
  expect(outbox.status()).toMatchObject({ heldEntries, dropped: 0 });
  expect(dropped).toBe(0);
  const given = (await drain(outbox)).filter(({ key }) => key === 'k');
  expect(given.length).toBeGreaterThanOrEqual(5);
  for (const { ts } of given) expect(ts - RIGHT_MS).toBeLessThan(60_000);
});

it('counts what waits from a boot that there is no room for, and lets it go when boots after it ran for so long', async () => {
  await make({ maxBytes: 128 * 1024, maxAgeMs: 48 * 3_600_000, commitAgeMs: 100 });
  for (const bootId of ['first', 'second']) {
    const outbox = await reopen(bootId, RIGHT_MS);
    for (let block = 0; block < 10; block += 1) await fixture.commit(outbox, fixture.noise(1_000, block * 1_000));
    await fixture.until(outbox.close());
  }
  const ranMs = 49 * 3_600_000;
  addBoots(
    Array.from({ length: 2_046 }, (_none, at) => ({
      bootId: `b${at}`,
      lastMs: at === 0 ? ranMs : 1,
      guessMs: 0,
      offsets: [],
    })),
  );
  const outbox = await reopen('now', RIGHT_MS + ranMs + 120_000);
  expect(await drain(outbox)).toHaveLength(10_000);
  expect(outbox.status()).toMatchObject({ heldEntries: 10_000, undecidedEntries: 10_000, dropped: 0 });
  await fixture.clock.advance(61_000);
  await fixture.commit(outbox, [fixture.entry('a', 1)]);
  const { undecidedEntries, dropped } = outbox.status();
  // Entries in one segment with some of the next boot go with it.
  expect([undecidedEntries + dropped, undecidedEntries < 1_000]).toEqual([10_000, true]);
});

it('corrects times that were not given out by a little when the clock settles after a step, and takes none of them back behind the step', async () => {
  await make();
  const outbox = await fixture.open();
  await fixture.commit(outbox, [fixture.entry('before', 1)]);
  await drain(outbox);
  fixture.clock.stepWall(3_600_000);
  outbox.status();
  await fixture.clock.advance(1_000);
  const entry = fixture.entry('after', 2);
  const takenMs = fixture.clock.wallMs();
  await fixture.commit(outbox, [entry]);
  fixture.clock.stepWall(300);
  outbox.status();
  expect((await drain(outbox)).map(({ ts }) => ts)).toEqual([takenMs + 300]);
});

it.each([30_000, -30_000, 12_000])(
  'moves nothing that was taken before a step of %d ms, whether its time was given out or not',
  async (stepMs) => {
    await make();
    const outbox = await fixture.open();
    const takenMs = fixture.clock.wallMs();
    await fixture.commit(outbox, [fixture.entry('before', 1)]);
    await fixture.clock.advance(1_000);
    fixture.clock.stepWall(stepMs);
    outbox.status();
    await fixture.clock.advance(1_000);
    const laterMs = fixture.clock.wallMs();
    await fixture.commit(outbox, [fixture.entry('after', 1)]);
    expect(times(await drain(outbox))).toEqual({ before: takenMs, after: laterMs });
  },
);

it('gives each entry of a block its own time when the clock stepped among them, in whatever order they came', async () => {
  await make();
  const outbox = await fixture.open();
  const before = fixture.entry('before', 1);
  const beforeMs = fixture.clock.wallMs();
  await fixture.clock.advance(1_000);
  outbox.status();
  fixture.clock.stepWall(3_600_000);
  outbox.status();
  await fixture.clock.advance(1_000);
  const afterMs = fixture.clock.wallMs();
  await fixture.commit(outbox, [
    fixture.entry('after', 2),
    before,
    fixture.entry('after', 3),
    { ...before, key: 'again' },
  ]);
  const given = await drain(outbox);
  expect(given.map(({ key, ts }) => [key, ts])).toEqual([
    ['after', afterMs],
    ['before', beforeMs],
    ['after', afterMs + 1],
    ['again', beforeMs],
  ]);
});

it('an alarm that the disk does not take waits for its time, and makes no time of its boot a guess', async () => {
  await make();
  fixture.clock.stepWall(-3_600_000);
  fixture.timeSync = new FakeTimeSync(false);
  const outbox = await fixture.open();
  const rightMs = fixture.clock.wallMs() + 3_600_000;
  await fixture.commit(outbox, [fixture.entry('reading', 1)]);
  (fixture.files as MemoryFiles).faults = {
    fail: (operation) => (operation === 'write' ? { code: 'EROFS' } : undefined),
  };
  const tookMs = fixture.clock.wallMs() + 3_600_000;
  outbox.append([fixture.entry('fire', 1, { class: 'alarm' })]).catch(() => {});
  await fixture.clock.advance(10_000);
  expect(await fixture.until(drain(outbox))).toEqual([]);
  fixture.clock.stepWall(3_600_000);
  fixture.timeSync.become(true);
  expect((await fixture.until(drain(outbox))).map(({ key, ts }) => [key, ts])).toEqual([
    ['fire', tookMs],
    ['reading', rightMs],
  ]);
});

describe('a clock that is known to be wrong, and by how much', () => {
  it('gives right times, and the same ones once it is set right', async () => {
    await make();
    fixture.clock.stepWall(-3_600_000);
    fixture.timeSync = new FakeTimeSync(false);
    const outbox = await fixture.open();
    await fixture.commit(outbox, [fixture.entry('a', 1)]);
    const rightMs = fixture.clock.wallMs() + 3_600_000;
    expect(outbox.waitsForTime()).toBe(true);
    fixture.timeSync.correction = 3_600_000;
    fixture.timeSync.become(true);
    expect(outbox.waitsForTime()).toBe(false);
    const [first] = await drain(outbox);
    expect(rightMs - (first?.ts ?? 0)).toBeLessThan(fixture.settings.commitAgeMs + 200);
    fixture.clock.stepWall(3_600_000);
    fixture.timeSync.correction = 0;
    fixture.timeSync.become(true);
    const takenMs = fixture.clock.wallMs();
    await fixture.commit(outbox, [fixture.entry('a', 2)]);
    expect((await drain(outbox)).map(({ ts }) => ts)).toEqual([takenMs]);
    expect(outbox.waitsForTime()).toBe(false);
  });
});

describe('a clock that steps', () => {
  it.each([
    ['a correction of hours', 7_200_000],
    ['a clock that is set back', -7_200_000],
    ['a leap second', -1_000],
    ['a suspension or a pause of a virtual machine', 600_000],
    ['a small step of a network clock', 150],
  ])('is followed, and what was sent stays: %s', async (_name, stepMs) => {
    await make();
    const outbox = await fixture.open();
    await fixture.commit(outbox, [fixture.entry('a', 1)]);
    const [before] = (await outbox.peek('live', NO_LIMITS))?.entries ?? [];
    fixture.clock.stepWall(stepMs);
    await fixture.clock.advance(1_000);
    const takenMs = fixture.clock.wallMs();
    await fixture.commit(outbox, [fixture.entry('a', 2)]);
    const given = await drain(outbox);
    expect(given.map(({ value, ts }) => [value, ts])).toEqual([
      [1, before?.ts],
      [2, takenMs],
    ]);
  });

  it('is followed again and again, for as long as a boot lasts, and never in a file without an end', async () => {
    await make();
    const outbox = await fixture.open();
    for (let step = 0; step < 200; step += 1) {
      fixture.clock.stepWall(step % 2 === 0 ? 5_000 : -4_000);
      const takenMs = fixture.clock.wallMs();
      await fixture.commit(outbox, [fixture.entry('a', step)]);
      expect((await drain(outbox)).map(({ ts }) => ts)).toEqual([takenMs]);
    }
    await fixture.until(outbox.close());
    const [boot] = JSON.parse(
      (fixture.files as MemoryFiles).contentOf(`${fixture.folder}/boots.json`).toString(),
    ).boots;
    expect(boot.offsets.length).toBe(64);
  });

  it('gives the present its time although what was taken before it is still held', async () => {
    await make();
    const outbox = await fixture.open();
    const heldMs = fixture.clock.wallMs();
    await fixture.commit(outbox, [fixture.entry('a', 1)]);
    fixture.clock.stepWall(600_000);
    const takenMs = fixture.clock.wallMs();
    await outbox.peek('alarm', NO_LIMITS);
    fixture.timeSync.become(true);
    await fixture.clock.advance(1);
    await fixture.commit(outbox, [fixture.entry('a', 2)]);
    expect((await drain(outbox)).map(({ ts }) => ts)).toEqual([heldMs, takenMs + 1]);
  });

  it('leaves its time to what was taken before the clock stepped, though it is committed later', async () => {
    await make();
    const outbox = await fixture.open();
    // The first entry after an opening is committed at once.
    await fixture.commit(outbox, [fixture.entry('a', 0)]);
    await fixture.clock.advance(1_000);
    const takenMs = fixture.clock.wallMs();
    void outbox.append([fixture.entry('a', 1)]);
    // As after a suspension: the board's own time has stood still.
    await fixture.clock.advance(10);
    fixture.clock.stepWall(300_000);
    const laterMs = fixture.clock.wallMs();
    await fixture.commit(outbox, [fixture.entry('a', 2)]);
    expect((await drain(outbox)).map(({ ts }) => ts).slice(1)).toEqual([takenMs, laterMs]);
  });

  it('moves no time of a retry, when a restart comes between the step and values that ran ahead of the clock', async () => {
    await make();
    const first = await fixture.open();
    await first.append(Array.from({ length: 500 }, (_none, value) => fixture.entry('a', value)));
    const sent = times(await waiting(first));
    await fixture.until(first.close());
    fixture.clock.stepWall(-3_000);
    const second = await fixture.open();
    expect(times(await waiting(second))).toEqual(sent);
  });

  it('changes times that were not given out yet, until the first is', async () => {
    await make();
    const outbox = await fixture.open();
    await outbox.append([fixture.entry('a', 1)]);
    fixture.clock.stepWall(-1_000);
    const rightMs = fixture.clock.wallMs();
    expect((await outbox.peek('live', NO_LIMITS))?.entries.ts[0]).toBe(rightMs);
  });

  it('leaves guessed times as they were sent, and gives right ones from then on', async () => {
    await make({ timeUncertain: 'send' });
    fixture.clock.reboot({ bootId: 'slow-clock', monotonicMs: 0, wallMs: UNSET_MS });
    fixture.timeSync = new FakeTimeSync(false);
    const outbox = await fixture.open();
    await outbox.append([fixture.entry('a', 1)]);
    const [guessed] = (await outbox.peek('live', NO_LIMITS))?.entries ?? [];
    await fixture.clock.advance(10_000);
    fixture.clock.stepWall(RIGHT_MS - fixture.clock.wallMs());
    fixture.timeSync.become(true);
    await fixture.commit(outbox, [fixture.entry('a', 2)]);
    const batch = (await outbox.peek('live', NO_LIMITS))?.entries ?? [];
    expect([...batch].map(({ key, value, ts }) => [key, value, ts])).toEqual([
      ['a', 1, guessed?.ts],
      ['a_timeUncertain', true, guessed?.ts],
      ['a', 2, RIGHT_MS],
    ]);
  });
});

describe('guesses that are sent', () => {
  let takenAtMs: Record<number, number> = {};

  /** A boot whose clock stands an hour behind; takes a reading a minute, each in a block of its own. */
  async function begin(order: 'newest-first' | 'oldest-first' = 'oldest-first'): Promise<void> {
    await make({ timeUncertain: 'send', order });
    takenAtMs = {};
    fixture.clock.reboot({ bootId: 'slow-clock', monotonicMs: 1_000, wallMs: RIGHT_MS + 1_000 - 3_600_000 });
    fixture.timeSync = new FakeTimeSync(false);
  }

  async function take(outbox: Outbox, ...values: number[]): Promise<void> {
    for (const value of values) {
      await fixture.clock.advance(60_000);
      takenAtMs[value] = RIGHT_MS + fixture.clock.monotonicMs();
      await fixture.commit(outbox, [fixture.entry('a', value)]);
    }
  }

  function setClock(): void {
    fixture.clock.stepWall(3_600_000);
    fixture.timeSync.become(true);
  }

  /** By how much each value's time is wrong, `?` where it says so. */
  function errors(entries: readonly ResolvedEntry[]): Record<string, string> {
    const marked = new Set(entries.filter(({ key }) => key.endsWith('_timeUncertain')).map(({ sequence }) => sequence));
    const values = entries.filter(({ key }) => key === 'a').sort((a, b) => a.sequence - b.sequence);
    return Object.fromEntries(
      values.map(({ value, ts, sequence }) => [
        value,
        `${ts - (takenAtMs[Number(value)] ?? 0)}${marked.has(sequence) ? '?' : ''}`,
      ]),
    );
  }

  it('are made only of what is sent before the clock is right: what waits then gets its right time', async () => {
    await begin();
    const outbox = await fixture.open();
    await take(outbox, 1, 2);
    const sent = await drain(outbox);
    expect(errors(sent)).toEqual({ 1: '-3600000?', 2: '-3600000?' });
    await take(outbox, 3, 4);
    setClock();
    await take(outbox, 5);
    expect(errors(await drain(outbox))).toEqual({ 3: '0', 4: '0', 5: '0' });
  });

  it('are not made of what was taken before them and waits, and what may be on its way keeps them', async () => {
    await begin('newest-first');
    const outbox = await fixture.open();
    await take(outbox, 1, 2, 3, 4);
    const onItsWay = await outbox.peek('live', { ...NO_LIMITS, maxEntries: 1 });
    expect(errors([...(onItsWay?.entries ?? [])])).toEqual({ 4: '-3600000?' });
    await take(outbox, 5);
    setClock();
    expect(errors(await drain(outbox))).toEqual({ 1: '0', 2: '0', 3: '0', 4: '-3600000?', 5: '0' });
  });

  it('stay as they are over a restart, before and after the clock was right, as does all that may have been sent', async () => {
    await begin();
    const first = await fixture.open();
    await take(first, 1);
    await first.peek('live', NO_LIMITS);
    await take(first, 2);
    await fixture.until(first.close());
    const second = await fixture.open();
    await take(second, 3);
    setClock();
    await take(second, 4);
    await fixture.until(second.close());
    expect(errors(await drain(await fixture.open()))).toEqual({ 1: '-3600000?', 2: '-3600000?', 3: '0', 4: '0' });
  });
});

describe('the table of boots', () => {
  it('is set aside when it is broken, and what is known of this boot starts anew', async () => {
    await make();
    await boot({ bootId: 'known', wallMs: RIGHT_MS, runsMs: 60_000, synchronised: true, key: 'before' });
    (fixture.files as MemoryFiles).put(
      `${fixture.folder}/boots.json`,
      Buffer.from('{"format":"turnstone-outbox-boots","boots":7}'),
    );
    const outbox = await fixture.open();
    expect(outbox.status().setAside).toBe(1);
    await outbox.append([fixture.entry('after', 1)]);
    expect(Object.keys(times(await drain(outbox))).sort()).toEqual(['after', 'before']);
  });
});

describe('many values in one ms', () => {
  it('keep instants of their own across a restart that comes before the clock has caught up', async () => {
    await make();
    const first = await fixture.open();
    await first.append(Array.from({ length: 500 }, (_none, value) => fixture.entry('a', value)));
    await fixture.until(first.close());
    const second = await fixture.open();
    await second.append([fixture.entry('a', 500), fixture.entry('b', 0)]);
    const given = await drain(second);
    expect(new Set(given.filter(({ key }) => key === 'a').map(({ ts }) => ts)).size).toBe(501);
  });
});

describe('a clock that comes by the same instants again', () => {
  /** Readings of whole seconds as they come, committed at once: when they were given out. */
  async function read(outbox: Outbox, seconds: number, more: Partial<TelemetryEntry> = {}): Promise<number[]> {
    const given: number[] = [];
    for (let second = 0; second < seconds; second += 1) {
      const alarm = { ...more, class: 'alarm' } as const;
      await outbox.append([fixture.entry('a', second, alarm), fixture.entry('b', second, { class: 'alarm' })]);
      given.push(...(await drain(outbox)).filter(({ key }) => key === 'a').map(({ ts }) => ts));
      await fixture.clock.advance(1_000);
    }
    return given;
  }

  function stepTo(wallMs: number): void {
    fixture.clock.stepWall(wallMs - fixture.clock.wallMs());
  }

  const wholeSeconds = (count: number, aheadMs = 0): number[] =>
    Array.from({ length: count }, (_, at) => RIGHT_MS + 1_000 * at + aheadMs);

  it('has moved each value by a ms that would fall on an earlier one of its key', async () => {
    await make();
    stepTo(RIGHT_MS);
    const outbox = await fixture.open();
    expect(await read(outbox, 40)).toEqual(wholeSeconds(40));
    stepTo(RIGHT_MS);
    expect(await read(outbox, 42)).toEqual([...wholeSeconds(40, 1), ...wholeSeconds(42).slice(40)]);
    stepTo(RIGHT_MS);
    expect(await read(outbox, 42)).toEqual([...wholeSeconds(40, 2), ...wholeSeconds(42, 1).slice(40)]);
  });

  it('has moved them after a restart, and after a reboot, too', async () => {
    await make();
    stepTo(RIGHT_MS);
    const first = await fixture.open();
    await read(first, 20);
    await fixture.until(first.close());
    stepTo(RIGHT_MS);
    const restarted = await fixture.open();
    expect(await read(restarted, 20)).toEqual(wholeSeconds(20, 1));
    await fixture.until(restarted.close());
    expect(await read(await reopen('after', RIGHT_MS), 20)).toEqual(wholeSeconds(20, 2));
  });

  it('has moved them where a reboot did not know its time at first', async () => {
    await make();
    stepTo(RIGHT_MS);
    const first = await fixture.open();
    await read(first, 20);
    await fixture.until(first.close());
    fixture.clock.reboot({ bootId: 'after', monotonicMs: 0, wallMs: UNSET_MS });
    fixture.timeSync = new FakeTimeSync(false);
    const outbox = await fixture.open();
    stepTo(RIGHT_MS);
    fixture.timeSync.become(true);
    expect(await read(outbox, 20)).toEqual(wholeSeconds(20, 1));
  });

  it('has moved them where the earlier ones were taken before their time was known', async () => {
    await make();
    stepTo(RIGHT_MS);
    fixture.timeSync = new FakeTimeSync(false);
    const outbox = await fixture.open();
    expect(await read(outbox, 5)).toEqual([]);
    fixture.timeSync.become(true);
    expect((await drain(outbox)).filter(({ key }) => key === 'a').map(({ ts }) => ts)).toEqual(wholeSeconds(5));
    await fixture.clock.advance(1_000);
    stepTo(RIGHT_MS);
    expect(await read(outbox, 5)).toEqual(wholeSeconds(5, 1));
  });

  it.each(['now', 'before a restart'])(
    'has moved them where the earlier ones brought their own time, and one that does: %s',
    async (when) => {
      await make();
      let outbox = await fixture.open();
      expect(await read(outbox, 1, { takenAtMs: RIGHT_MS + 1_000 })).toEqual([RIGHT_MS + 1_000]);
      stepTo(RIGHT_MS);
      if (when !== 'now') {
        await fixture.until(outbox.close());
        outbox = await fixture.open();
        stepTo(RIGHT_MS);
      }
      expect(await read(outbox, 3)).toEqual([RIGHT_MS, RIGHT_MS + 1_001, RIGHT_MS + 2_000]);
      expect(await read(outbox, 1, { takenAtMs: RIGHT_MS })).toEqual([RIGHT_MS + 1]);
    },
  );

  it('moves nothing that the disk was about to take when it stepped: by those times it was told apart', async () => {
    await make();
    stepTo(RIGHT_MS);
    const outbox = await fixture.open();
    await read(outbox, 3);
    const disk = fixture.files as MemoryFiles;
    disk.faults = { fail: (operation) => (operation === 'write' ? { code: 'EIO' } : undefined) };
    const burst = Array.from({ length: 5 }, (_, value) => fixture.entry('a', value, { class: 'alarm' }));
    outbox.append(burst).catch(() => {});
    await fixture.clock.advance(1);
    stepTo(RIGHT_MS - 3_600_000);
    fixture.timeSync.become(true);
    disk.faults = {};
    const given = await fixture.until(outbox.flush().then(() => drain(outbox)));
    expect(given.map(({ ts }) => ts)).toEqual([0, 1, 2, 3, 4].map((ms) => RIGHT_MS + 3_000 + ms));
  });
});
