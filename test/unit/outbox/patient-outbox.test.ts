/** An outbox whose disk does not answer at the start: what waits is bounded, counted and in order, and nobody is told that it is there. */
import { rm } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
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
    ...{ clock, timeSync, log: silentLog, memoryEntries },
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
      ...{
        ratePerS: 0,
        diskBytesPerDay: 0,
        diskBytesPerYear: 0,
        undecidedEntries: 0,
        lanes: { alarm: 0, live: 0, backlog: 0 },
      },
      ...{ fault: 'EIO', heldEntries: 3, inMemoryEntries: 3, timeSynchronised: true },
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
      ...{ clock, timeSync, log: silentLog, memoryEntries: 10 },
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
      ...{ clock, timeSync, log: silentLog, memoryEntries: 10 },
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
      ...{ clock, timeSync, log: silentLog, memoryEntries: 10 },
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
      ...{ clock, timeSync, log: silentLog, memoryEntries: 10 },
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
