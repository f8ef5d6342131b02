/** An outbox whose disk does not answer at the start: what waits is bounded, counted and in order, and nobody is told that it is there. */
import { rm } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { silentLog } from '../../../src/host/log.ts';
import type { Outbox } from '../../../src/outbox/outbox.ts';
import { PatientOutbox } from '../../../src/outbox/patient-outbox.ts';
import { MemoryFiles } from '../../support/memory-files.ts';
import { LANES, NO_LIMITS, OutboxFixture } from '../../support/outbox-fixture.ts';

let fixture: OutboxFixture;
let answers: boolean;
let tries: number;
beforeEach(async () => {
  fixture = await OutboxFixture.make();
  answers = false;
  tries = 0;
});
afterEach(() => fixture.remove());

function open(memoryEntries = 1_000): Promise<PatientOutbox> {
  const { clock, timeSync } = fixture;
  return PatientOutbox.open({
    clock,
    timeSync,
    log: silentLog,
    memoryEntries,
    open: async () => {
      tries += 1;
      if (!answers) throw new Error('no outbox', { cause: Object.assign(new Error('no disk'), { code: 'EIO' }) });
      return fixture.open();
    },
  });
}

function fill(outbox: PatientOutbox, count: number): string[] {
  const said: string[] = [];
  for (let n = 0; n < count; n += 1)
    outbox.append([fixture.entry(`key${n}`, n)]).then(
      () => said.push(`${n} durable`),
      (error: { readonly code: string }) => said.push(`${n} ${error.code}`),
    );
  return said;
}

async function untilOpen(outbox: PatientOutbox): Promise<void> {
  answers = true;
  await fixture.clock.advance(30_000);
  await outbox.flush();
}

describe('while it cannot be opened', () => {
  it('it tells why, what waits, and nothing that it does not know', async () => {
    const outbox = await open();
    const said = fill(outbox, 3);
    const nothing = {
      rejected: 0,
      resent: 0,
      thinned: 0,
      dropped: 0,
      damaged: 0,
      setAside: 0,
      diskBytes: 0,
      bytes: 0,
      heldBytes: 0,
      segments: 0,
    };
    expect(outbox.isOpen).toBe(false);
    expect(outbox.status()).toEqual({
      ...nothing,
      ratePerS: 0,
      undecidedEntries: 0,
      lanes: { alarm: 0, live: 0, backlog: 0 },
      fault: 'EIO',
      heldEntries: 3,
      inMemoryEntries: 3,
      timeSynchronised: true,
    });
    expect(await Promise.all(LANES.map((lane) => outbox.peek(lane, NO_LIMITS)))).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    const signal = new AbortController().signal;
    for (const refused of [
      () => outbox.rejected(),
      () => outbox.resendRejected(() => true),
      () => outbox.readLedger({ fromMs: 0, toMs: 1 }),
      () => outbox.resend({ key: 'a', fromMs: 0, toMs: 1 }, signal),
      async () => outbox.read({}, signal),
    ])
      await expect(refused()).rejects.toMatchObject({
        code: 'outbox/not-open',
        recovery: 'retry',
        message: expect.stringContaining('EIO'),
      });
    expect(said).toEqual([]);
  });

  it('it is tried again, less and less often', async () => {
    await open();
    await fixture.clock.advance(600_000);
    expect(tries).toBeGreaterThan(15);
    expect(tries).toBeLessThan(80);
  });

  it.each([1, 15])('the oldest give way where memory is full, and are counted once it is open: %i', async (dropped) => {
    const outbox = await open(10);
    const said = fill(outbox, 10 + dropped);
    await fixture.clock.advance(0);
    expect(said).toEqual(Array.from({ length: dropped }, (_, n) => `${n} outbox/dropped`));
    expect(outbox.status()).toMatchObject({ heldEntries: 10, dropped });
    await untilOpen(outbox);
    expect(outbox.status()).toMatchObject({ dropped });
  });

  it('alarms stay where memory is full, and what waits still is in its order', async () => {
    const outbox = await open(10);
    const alarms = [0, 1].map((n) => outbox.append([fixture.entry(`alarm${n}`, n, { class: 'alarm' })]));
    const said = fill(outbox, 12);
    await fixture.clock.advance(0);
    expect(said).toEqual([0, 1, 2, 3].map((n) => `${n} outbox/dropped`));
    await untilOpen(outbox);
    await Promise.all(alarms);
    const regular = [...((await outbox.peek('live', NO_LIMITS))?.entries ?? [])].map(({ key }) => key);
    expect(regular).toEqual(Array.from({ length: 8 }, (_none, n) => `key${n + 4}`));
  });

  it('a few large ones fill the memory, too', async () => {
    const outbox = await open();
    for (let n = 0; n < 6; n += 1) outbox.append([fixture.entry('text', 'x'.repeat(1024 * 1024))]).catch(() => {});
    expect(outbox.status()).toMatchObject({ heldEntries: 3, dropped: 3 });
  });
});

describe('a clock that steps while it cannot be opened', () => {
  const RIGHT_MS = 1_780_000_000_000;
  beforeEach(() => fixture.clock.stepWall(RIGHT_MS - fixture.clock.wallMs()));

  /** When each value says that it was taken, ms after the right time of the beginning. */
  async function timesOf(outbox: Pick<Outbox, 'peek'>): Promise<Record<string, number>> {
    const given = await Promise.all(LANES.map((lane) => outbox.peek(lane, NO_LIMITS)));
    return Object.fromEntries(
      given.flatMap((batch) => [...(batch?.entries ?? [])].map(({ key, ts }) => [key, ts - RIGHT_MS])),
    );
  }

  async function append(outbox: Pick<Outbox, 'append'>, key: string): Promise<void> {
    void outbox.append([fixture.entry(key, 1)]);
    await fixture.clock.advance(1_000);
  }

  it('is believed for all of it when it was wrong until then, and corrects it by a little', async () => {
    fixture.timeSync.become(false);
    const outbox = await open();
    await append(outbox, 'a');
    fixture.clock.stepWall(60_000);
    fixture.timeSync.become(true);
    await append(outbox, 'b');
    fixture.clock.stepWall(2_000);
    await append(outbox, 'c');
    await untilOpen(outbox);
    expect(await timesOf(outbox)).toEqual({ a: 62_000, b: 63_000, c: 64_000 });
  });
});

describe('a disk that does not answer', () => {
  it('holds the start up for ten seconds; what comes meanwhile waits, and is kept once it answers', async () => {
    const { clock, timeSync } = fixture;
    const answer = Promise.withResolvers<Outbox>();
    const opening = PatientOutbox.open({
      clock,
      timeSync,
      log: silentLog,
      memoryEntries: 10,
      open: () => answer.promise,
    });
    let isOpen = false;
    void opening.then(() => {
      isOpen = true;
    });
    await clock.advance(9_999);
    expect(isOpen).toBe(false);
    await clock.advance(1);
    const outbox = await opening;
    const said = fill(outbox, 2);
    await clock.advance(600_000);
    expect(outbox.status()).toMatchObject({ fault: 'ETIMEDOUT', heldEntries: 2 });
    answer.resolve(await fixture.open());
    await clock.advance(0);
    await outbox.flush();
    expect(said).toEqual(['0 durable', '1 durable']);
    expect(outbox.status().fault).toBeUndefined();
  });

  it('and answers after a stop finds nobody who holds what it opens', async () => {
    const { clock, timeSync } = fixture;
    const answer = Promise.withResolvers<Outbox>();
    const opening = PatientOutbox.open({
      clock,
      timeSync,
      log: silentLog,
      memoryEntries: 10,
      open: () => answer.promise,
    });
    await clock.advance(10_000);
    const closed = (await opening).close();
    await clock.advance(5_000);
    await closed;
    const late = await fixture.open();
    answer.resolve(late);
    await clock.advance(0);
    await expect(late.append([fixture.entry('late', 1)])).rejects.toMatchObject({ code: 'outbox/closed' });
    // Whoever closes it once more is told when it is closed: nothing comes back to the folder then.
    await fixture.until(late.close());
    await rm(fixture.folder, { recursive: true });
  });
});

describe('once it is open', () => {
  it('what waited is durable, in its order, and whoever listens hears of it', async () => {
    const outbox = await open();
    let heard = 0;
    outbox.onAppended(() => {
      heard += 1;
    });
    const said = fill(outbox, 3);
    await untilOpen(outbox);
    expect(said).toEqual(['0 durable', '1 durable', '2 durable']);
    expect(outbox.status()).toMatchObject({ heldEntries: 3, inMemoryEntries: 0 });
    expect([outbox.isOpen, outbox.status().fault]).toEqual([true, undefined]);
    expect((await outbox.peek('live', NO_LIMITS))?.entries.length).toBe(3);
    expect(heard).toBeGreaterThan(0);
    const before = heard;
    await outbox.append([fixture.entry('later', 1, { class: 'alarm' })]);
    expect(heard).toBeGreaterThan(before);
  });

  it('it is not tried again', async () => {
    const outbox = await open();
    await untilOpen(outbox);
    const triedBefore = tries;
    await fixture.clock.advance(600_000);
    expect(tries).toBe(triedBefore);
  });

  it.each([60_000, undefined])('it has the age of blocks that was set meanwhile: %s', async (ageMs) => {
    // A disk that answers at once: what is not durable then was not committed.
    fixture.files = new MemoryFiles();
    const outbox = await open();
    if (ageMs !== undefined) outbox.changeCommitAge(ageMs);
    await untilOpen(outbox);
    // The first block of a start is committed at once.
    await outbox.append([fixture.entry('first', 1)]);
    const said = fill(outbox, 1);
    const closesMs = 0.9 * (ageMs ?? fixture.settings.commitAgeMs);
    await fixture.clock.advance(closesMs);
    expect(said).toEqual([]);
    await fixture.clock.advance(closesMs);
    expect(said).toEqual(['0 durable']);
  });
});

describe('a stop', () => {
  it('in the middle of a try that goes well opens it once', async () => {
    let release: (outbox: Outbox) => void = () => {};
    const { clock, timeSync } = fixture;
    let asked = 0;
    const outbox = await PatientOutbox.open({
      clock,
      timeSync,
      log: silentLog,
      memoryEntries: 10,
      open: () => {
        asked += 1;
        if (asked === 1) return Promise.reject(new Error('not yet'));
        return new Promise<Outbox>((resolve) => {
          release = resolve;
        });
      },
    });
    const said = fill(outbox, 1);
    await clock.advance(2_000);
    expect(asked).toBe(2);
    const closed = outbox.close();
    release(await fixture.open());
    await fixture.until(closed);
    expect([asked, said]).toEqual([2, ['0 durable']]);
  });

  it('waits no longer than five seconds for a disk that hangs', async () => {
    const { clock, timeSync } = fixture;
    let isFirst = true;
    const outbox = await PatientOutbox.open({
      clock,
      timeSync,
      log: silentLog,
      memoryEntries: 10,
      open: () => {
        if (!isFirst) return new Promise<Outbox>(() => {});
        isFirst = false;
        return Promise.reject(new Error('not yet'));
      },
    });
    let isClosed = false;
    void outbox.close().then(() => {
      isClosed = true;
    });
    await clock.advance(4_900);
    expect(isClosed).toBe(false);
    await clock.advance(100);
    expect(isClosed).toBe(true);
  });

  it('keeps what waits where the disk is back', async () => {
    const outbox = await open();
    const said = fill(outbox, 2);
    answers = true;
    await outbox.close();
    expect(said).toEqual(['0 durable', '1 durable']);
  });

  it('refuses what waits, and what comes later, where it is not, and tries no more', async () => {
    const outbox = await open();
    const said = fill(outbox, 1);
    await outbox.close();
    expect(said).toEqual(['0 outbox/closed']);
    await expect(outbox.append([fixture.entry('late', 1)])).rejects.toMatchObject({ code: 'outbox/closed' });
    const triedBefore = tries;
    answers = true;
    await fixture.clock.advance(600_000);
    await outbox.close();
    expect(tries).toBe(triedBefore);
  });
});

describe('a disk that takes nothing from the start on', () => {
  /** As an uploader would: what the platform takes is acknowledged. */
  async function send(outbox: PatientOutbox, takes = (_key: string): boolean => true): Promise<string[]> {
    const sent: string[] = [];
    for (const lane of LANES)
      for (let batch = await outbox.peek(lane, NO_LIMITS); batch !== undefined; ) {
        if (!batch.entries.keys.every(takes)) break;
        sent.push(...batch.entries.keys);
        await outbox.acknowledge(batch);
        batch = await outbox.peek(lane, NO_LIMITS);
      }
    return sent;
  }

  it('lets an alarm leave at once, what came with it and all else within a minute, and says who has arrived', async () => {
    const outbox = await open();
    const said = fill(outbox, 3);
    let heard = 0;
    outbox.onAppended(() => {
      heard += 1;
    });
    const both = outbox.append([fixture.entry('door', 1), fixture.entry('fire', 1, { class: 'alarm' })]);
    expect([heard, await send(outbox)]).toEqual([1, ['fire']]);
    await fixture.clock.advance(40_000);
    expect([await send(outbox), said]).toEqual([[], []]);
    await fixture.clock.advance(10_000);
    expect(await send(outbox)).toEqual(['key0', 'key1', 'key2', 'door']);
    await both;
    expect(said).toEqual(['0 durable', '1 durable', '2 durable']);
    expect(outbox.status()).toMatchObject({ fault: 'EIO', heldEntries: 0, dropped: 0 });
    fill(outbox, 1);
    expect(await send(outbox)).toEqual(['key0']);
    await untilOpen(outbox);
    expect(await send(outbox)).toEqual([]);
  });

  it('lets all leave at once when somebody waits for all of it, as a stop does', async () => {
    const outbox = await open();
    fill(outbox, 2);
    void outbox.flush();
    expect(await send(outbox)).toEqual(['key0', 'key1']);
  });

  it('gives out no more at once than the limits say', async () => {
    const outbox = await open();
    fill(outbox, 10);
    void outbox.flush();
    const first = await outbox.peek('live', { maxEntries: 4, maxBytes: 1 << 20 });
    expect(first?.entries.keys).toEqual(['key0', 'key1', 'key2', 'key3']);
    if (first !== undefined) await outbox.acknowledge(first);
    expect((await outbox.peek('live', { maxEntries: 4, maxBytes: 100 }))?.entries.keys).toEqual(['key4']);
  });

  it('holds what has no time that is known to be right, and not what brings its own', async () => {
    fixture.timeSync.become(false);
    const outbox = await open();
    fill(outbox, 1);
    void outbox.append([fixture.entry('logger', 1, { takenAtMs: 1_700_000_000_000 })]);
    await fixture.clock.advance(120_000);
    expect([await send(outbox), outbox.waitsForTime()]).toEqual([['logger'], true]);
    fixture.timeSync.become(true);
    expect([await send(outbox), outbox.waitsForTime()]).toEqual([['key0'], false]);
  });

  it('gives values of one key and ms a time each, and the same at every try', async () => {
    const outbox = await open();
    void outbox.append([fixture.entry('a', 1), fixture.entry('a', 2)]);
    void outbox.flush();
    const first = await outbox.peek('live', NO_LIMITS);
    const [one = 0, two] = first?.entries.ts ?? [];
    expect(two).toBe(one + 1);
    fixture.clock.stepWall(5_000);
    expect((await outbox.peek('live', NO_LIMITS))?.entries.ts).toEqual([one, two]);
    await untilOpen(outbox);
    await fixture.clock.advance(60_000);
    await outbox.flush();
    const later = await outbox.peek('live', NO_LIMITS);
    expect([later?.entries.ts, later?.entries.sequences.every((sequence) => sequence > 0)]).toEqual([[one, two], true]);
  });

  it('and heals while an upload is under way sends nothing twice, and keeps what did not arrive', async () => {
    const outbox = await open();
    const said = fill(outbox, 4);
    void outbox.flush();
    const batch = await outbox.peek('live', { maxEntries: 2, maxBytes: 1 << 20 });
    if (batch === undefined) throw new Error('nothing leaves');
    answers = true;
    await fixture.until(new Promise<void>((resolve) => outbox.onAppended(resolve)));
    expect([outbox.isOpen, outbox.status().heldEntries]).toEqual([true, 4]);
    const head = {
      ...batch,
      entries: batch.entries.part(0, 1),
      ranges: [[batch.entries.sequences[0] ?? 0, batch.entries.sequences[0] ?? 0] as const],
    };
    await outbox.acknowledge(head);
    await fixture.until(Promise.all([0, 2, 3].map((n) => vi.waitUntil(() => said.includes(`${n} durable`)))));
    expect(await send(outbox)).toEqual(['key2', 'key3']);
    await fixture.clock.advance(60_000);
    await fixture.until(outbox.flush());
    expect(await send(outbox)).toEqual(['key1']);
    await outbox.acknowledge(batch);
    expect(said.toSorted()).toEqual(['0 durable', '1 durable', '2 durable', '3 durable']);
    expect(outbox.status()).toMatchObject({ heldEntries: 0 });
  });

  it('keeps aside what the platform refuses, and drops it when it is to be a dead letter or rejected', async () => {
    const outbox = await open();
    const said = fill(outbox, 3);
    void outbox.flush();
    const batch = await outbox.peek('live', NO_LIMITS);
    const [first, second, third] = [...(batch?.entries ?? [])];
    if (first === undefined || second === undefined || third === undefined) throw new Error('nothing leaves');
    outbox.quarantined.add(first.sequence);
    expect((await outbox.peek('live', NO_LIMITS))?.entries.keys).toEqual(['key1', 'key2']);
    expect(outbox.quarantined.isWaiting(first.sequence)).toBe(true);
    await outbox.deadLetter([first], '400');
    expect(outbox.quarantined.isWaiting(first.sequence)).toBe(false);
    outbox.quarantined.add(second.sequence);
    outbox.quarantined.putBack(second.sequence);
    await outbox.reject(second, '400');
    await outbox.reject(second, '400');
    expect(await send(outbox)).toEqual(['key2']);
    expect(said).toEqual(['0 outbox/dropped', '1 outbox/dropped', '2 durable']);
    await untilOpen(outbox);
    expect(outbox.status()).toMatchObject({ dropped: 2, heldEntries: 0 });
  });

  it('and a platform that takes nothing either leaves the newest in memory', async () => {
    const outbox = await open(10);
    void outbox.flush();
    for (let turn = 0; turn < 5; turn += 1) {
      fill(outbox, 4);
      await send(outbox, () => false);
    }
    expect(outbox.status()).toMatchObject({ heldEntries: 10, dropped: 10 });
  });
});
