import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Outbox } from '../../../src/outbox/outbox.ts';
import { drain, NO_LIMITS, OutboxFixture } from '../../support/outbox-fixture.ts';

let fixture: OutboxFixture;
beforeEach(async () => {
  fixture = await OutboxFixture.make();
});
afterEach(() => fixture.remove());

describe('append', () => {
  it('commits the first block of a start at once', async () => {
    const outbox = await fixture.open();
    await outbox.append([fixture.entry('temperature', 21.5)]);
    expect(outbox.status().heldEntries).toBe(1);
    expect(outbox.status().inMemoryEntries).toBe(0);
  });

  it('holds regular entries for the commit age, and then resolves', async () => {
    const outbox = await fixture.open();
    await outbox.append([fixture.entry('temperature', 21.5)]);
    let resolved = false;
    const appended = outbox.append([fixture.entry('temperature', 21.6)]).then(() => {
      resolved = true;
    });
    await fixture.clock.advance(4_700);
    expect(resolved).toBe(false);
    await fixture.clock.advance(300);
    await appended;
    expect(resolved).toBe(true);
  });

  it('commits an alarm at once, with what waits before it', async () => {
    const outbox = await fixture.open();
    await outbox.append([fixture.entry('temperature', 21.5)]);
    const waiting = outbox.append([fixture.entry('temperature', 21.6)]);
    await outbox.append([fixture.entry('overheated', true, { class: 'alarm' })]);
    await waiting;
    expect((await outbox.peek('alarm', NO_LIMITS))?.entries.keys).toEqual(['overheated']);
  });

  it('refuses entries once closed', async () => {
    const outbox = await fixture.open();
    await outbox.close();
    await expect(outbox.append([fixture.entry('a', 1)])).rejects.toMatchObject({ code: 'outbox/closed' });
  });

  it('wakes its listeners when entries became durable', async () => {
    const outbox = await fixture.open();
    let woken = 0;
    const end = outbox.onAppended(() => {
      woken += 1;
    });
    await outbox.append([fixture.entry('a', 1)]);
    expect(woken).toBe(1);
    end();
    await fixture.commit(outbox, [fixture.entry('a', 2)]);
    expect(woken).toBe(1);
  });
});

describe('delivery', () => {
  it('keeps entries until they are acknowledged, across a restart', async () => {
    const first = await fixture.open();
    await first.append([fixture.entry('a', 1), fixture.entry('b', 'text')]);
    expect((await first.peek('live', NO_LIMITS))?.entries.keys).toEqual(['a', 'b']);
    await first.close();
    const second = await fixture.open();
    const batch = await second.peek('backlog', NO_LIMITS);
    expect([...(batch?.entries ?? [])].map(({ key, value }) => [key, value])).toEqual([
      ['a', 1],
      ['b', 'text'],
    ]);
    if (batch !== undefined) await second.acknowledge(batch);
    expect(await drain(second)).toEqual([]);
    await second.close();
    expect(await drain(await fixture.open())).toEqual([]);
  });

  it('gives the newest block of the backlog first, and the oldest when asked to', async () => {
    const values = async (order: 'newest-first' | 'oldest-first'): Promise<unknown[]> => {
      fixture.settings = { ...fixture.settings, order };
      const outbox = await fixture.open();
      const given: unknown[] = [];
      for (;;) {
        const batch = await outbox.peek('backlog', { maxEntries: 1, maxBytes: 1000 });
        if (batch === undefined) break;
        given.push(...batch.entries.values);
        await outbox.acknowledge(batch);
      }
      await outbox.close();
      return given;
    };
    for (const order of ['newest-first', 'oldest-first'] as const) {
      const outbox = await fixture.open();
      for (const value of [1, 2, 3]) await fixture.commit(outbox, [fixture.entry('a', value)]);
      await outbox.close();
      expect(await values(order)).toEqual(order === 'newest-first' ? [3, 2, 1] : [1, 2, 3]);
    }
  });

  it('gives what was committed just now in the live lane, and moves it to the backlog as it ages', async () => {
    const outbox = await fixture.open();
    await outbox.append([fixture.entry('a', 1)]);
    expect(await outbox.peek('backlog', NO_LIMITS)).toBeUndefined();
    expect((await outbox.peek('live', NO_LIMITS))?.entries).toHaveLength(1);
    await fixture.clock.advance(31_000);
    expect(await outbox.peek('live', NO_LIMITS)).toBeUndefined();
    expect((await outbox.peek('backlog', NO_LIMITS))?.entries).toHaveLength(1);
  });

  it('finds alarms that an earlier process left', async () => {
    const first = await fixture.open();
    await first.append([fixture.entry('a', 1)]);
    await first.append([fixture.entry('smoke', true, { class: 'alarm' })]);
    await first.close();
    const second = await fixture.open();
    expect((await second.peek('alarm', NO_LIMITS))?.entries.keys).toEqual(['smoke']);
  });

  it('keeps the one refused entry with its answer, and never gives it out again', async () => {
    const outbox = await fixture.open();
    await outbox.append([fixture.entry('good', 1), fixture.entry('bad', 2)]);
    const batch = await outbox.peek('live', NO_LIMITS);
    if (batch === undefined) throw new Error('nothing to send');
    await outbox.reject(batch.entries.at(1) as never, 'no such key');
    expect((await outbox.peek('live', NO_LIMITS))?.entries.keys).toEqual(['good']);
    expect(await outbox.rejected()).toMatchObject([{ key: 'bad', value: 2, answer: 'no such key' }]);
    expect(outbox.status().rejected).toBe(1);
  });

  it('sends rejected entries again with the times they had', async () => {
    const outbox = await fixture.open();
    await outbox.append([fixture.entry('bad', 2)]);
    const batch = await outbox.peek('live', NO_LIMITS);
    if (batch === undefined) throw new Error('nothing to send');
    const [entry] = batch.entries;
    await outbox.reject(entry as never, 'later');
    expect(await fixture.until(outbox.resendRejected(() => true))).toBe(1);
    expect(await drain(outbox)).toMatchObject([{ key: 'bad', value: 2, ts: entry?.ts }]);
    expect(await outbox.rejected()).toEqual([]);
  });

  it('sends rejected entries again at once and once, however long blocks stay open and however often it is asked', async () => {
    fixture.settings = { ...fixture.settings, commitAgeMs: 300_000 };
    const outbox = await fixture.open();
    await fixture.commit(outbox, [fixture.entry('bad', 2)]);
    const [entry] = (await outbox.peek('live', NO_LIMITS))?.entries ?? [];
    await outbox.reject(entry as never, 'later');
    const askedMs = fixture.clock.monotonicMs();
    const asked = [outbox.resendRejected(() => true), outbox.resendRejected(() => true)];
    expect(await fixture.until(Promise.all(asked))).toEqual([1, 0]);
    expect(fixture.clock.monotonicMs() - askedMs).toBeLessThan(10_000);
    expect(await drain(outbox)).toMatchObject([{ key: 'bad', value: 2 }]);
  });

  it('sends what was refused and sent again twice with the one time it has, so that it overwrites itself', async () => {
    const outbox = await fixture.open();
    const takenAtMs = fixture.clock.wallMs();
    await fixture.commit(outbox, [fixture.entry('logger', 1, { takenAtMs })]);
    for (let time = 0; time < 3; time += 1) {
      const [entry] = (await outbox.peek('live', NO_LIMITS))?.entries ?? [];
      expect(entry).toMatchObject({ key: 'logger', value: 1, ts: takenAtMs });
      await outbox.reject(entry as never, 'later');
      await fixture.until(outbox.resendRejected(() => true));
    }
  });

  it('gives each value of a key an instant of its own, also where one brings its time and others have the gateway’s', async () => {
    const outbox = await fixture.open();
    const takenAtMs = fixture.clock.wallMs();
    const own = fixture.entry('level', 2, { takenAtMs });
    await fixture.commit(outbox, [
      own,
      fixture.entry('level', 1),
      own,
      fixture.entry('other', 1),
      fixture.entry('level', 3),
    ]);
    await fixture.commit(outbox, [own]);
    const entries = (await drain(outbox)).filter(({ key }) => key === 'level');
    expect(new Set(entries.map(({ ts }) => ts)).size).toBe(5);
    expect(Math.max(...entries.map(({ ts }) => ts))).toBe(takenAtMs + 4);
  });

  it('writes count, sum, first and last per key and hour as it is acknowledged', async () => {
    const outbox: Outbox = await fixture.open();
    await outbox.append([fixture.entry('a', 1), fixture.entry('a', 5), fixture.entry('b', 'x')]);
    await drain(outbox);
    await outbox.close();
    const cells = await (await fixture.open()).readLedger({});
    expect(cells.map(({ key, count, sum, first, last }) => [key, count, sum, first[1], last[1]])).toEqual([
      ['a', 2, 6, 1, 5],
      ['b', 1, 0, 'x', 'x'],
    ]);
  });
});

describe('time', () => {
  it('moves the later of two values of one key in one ms by 1 ms', async () => {
    const outbox = await fixture.open();
    await outbox.append([fixture.entry('a', 1), fixture.entry('a', 2), fixture.entry('b', 3)]);
    const [first, second, third] = (await outbox.peek('live', NO_LIMITS))?.entries ?? [];
    expect([(second?.ts ?? 0) - (first?.ts ?? 0), (third?.ts ?? 0) - (first?.ts ?? 0)]).toEqual([1, 0]);
  });

  it('gives an entry the same time at every try, whatever the clock does between', async () => {
    const outbox = await fixture.open();
    await outbox.append([fixture.entry('a', 1)]);
    const ts = (await outbox.peek('live', NO_LIMITS))?.entries.ts[0];
    fixture.clock.stepWall(3_600_000);
    expect((await outbox.peek('live', NO_LIMITS))?.entries.ts[0]).toBe(ts);
    await outbox.close();
    expect((await (await fixture.open()).peek('backlog', NO_LIMITS))?.entries.ts[0]).toBe(ts);
  });

  it('holds entries until the clock is synchronised, and then gives them the right time', async () => {
    fixture.timeSync.become(false);
    fixture.clock.stepWall(-1_700_000_000_000);
    const outbox = await fixture.open();
    await outbox.append([fixture.entry('a', 1)]);
    expect(await outbox.peek('live', NO_LIMITS)).toBeUndefined();
    fixture.clock.stepWall(1_700_000_000_000);
    const rightMs = fixture.clock.wallMs();
    fixture.timeSync.become(true);
    expect((await outbox.peek('live', NO_LIMITS))?.entries.ts[0]).toBe(rightMs);
  });

  it('sends entries of an unknown time with a mark, when that is the policy', async () => {
    fixture.settings = { ...fixture.settings, timeUncertain: 'send' };
    fixture.timeSync.become(false);
    const outbox = await fixture.open();
    await outbox.append([fixture.entry('a', 1)]);
    expect([...((await outbox.peek('live', NO_LIMITS))?.entries ?? [])].map(({ key, value }) => [key, value])).toEqual([
      ['a', 1],
      ['a_timeUncertain', true],
    ]);
  });

  it('uses the time that an entry brings', async () => {
    const outbox = await fixture.open();
    await outbox.append([fixture.entry('a', 1, { takenAtMs: 1_600_000_000_123 })]);
    expect((await outbox.peek('live', NO_LIMITS))?.entries.ts[0]).toBe(1_600_000_000_123);
  });
});
