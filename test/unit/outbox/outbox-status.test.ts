/** The figures that people see of an outbox, against what was put into it. */
import { afterEach, describe, expect, it } from 'vitest';
import { MemoryFiles } from '../../support/memory-files.ts';
import { FakeTimeSync, OutboxFixture } from '../../support/outbox-fixture.ts';

let fixture: OutboxFixture;
afterEach(() => fixture.remove());

async function make(settings: Parameters<typeof OutboxFixture.make>[0] = {}): Promise<void> {
  fixture = await OutboxFixture.make({ commitAgeMs: 100, ...settings });
  fixture.files = new MemoryFiles();
}

const few = { maxEntries: 1, maxBytes: 1 << 20 };

describe('the status', () => {
  it('of an empty outbox has no times and no forecast', async () => {
    await make();
    const status = (await fixture.open()).status();
    expect(status).toMatchObject({
      heldEntries: 0,
      inMemoryEntries: 0,
      undecidedEntries: 0,
      bytes: 0,
      heldBytes: 0,
      segments: 0,
      ratePerS: 0,
    });
    expect(status).toMatchObject({
      lanes: { alarm: 0, live: 0, backlog: 0 },
      timeSynchronised: true,
    });
    for (const key of ['oldestMs', 'newestMs', 'hoursThatFit', 'fault', 'missingBytes'])
      expect(status).not.toMatchObject({ [key]: expect.anything() });
  });

  it.each([1, 30])(
    'tells the time of the newest entry that waits, and not of the asking: %i a second',
    async (count) => {
      await make();
      const outbox = await fixture.open();
      for (let second = 0; second < count; second += 1) {
        await fixture.commit(outbox, [fixture.entry('a', second)]);
        await fixture.clock.advance(1_000.4);
      }
      await fixture.clock.advance(3_600_000.4);
      const { newestMs = 0 } = outbox.status();
      expect(Number.isInteger(newestMs)).toBe(true);
      expect(fixture.clock.wallMs() - newestMs).toBeGreaterThan(3_600_000);
      expect(fixture.clock.wallMs() - newestMs).toBeLessThan(3_603_000);
      await outbox.close();
      const again = await fixture.open();
      expect(again.status().newestMs).toBe(newestMs);
    },
  );

  it('counts what waits, on the disk and in memory, by lane and from when to when', async () => {
    await make();
    const outbox = await fixture.open();
    const oldestMs = fixture.clock.wallMs();
    await fixture.commit(outbox, [fixture.entry('a', 1), fixture.entry('a', 2)]);
    await fixture.commit(outbox, [fixture.entry('b', 3, { class: 'alarm' })]);
    outbox.append([fixture.entry('a', 4)]).catch(() => {});
    const status = outbox.status();
    expect(status).toMatchObject({
      heldEntries: 4,
      inMemoryEntries: 1,
      lanes: { alarm: 1, live: 2, backlog: 0 },
      segments: 1,
    });
    expect([status.oldestMs, status.newestMs]).toEqual([oldestMs, fixture.clock.wallMs()]);
    expect(status.bytes).toBe(
      (fixture.files as MemoryFiles).contentOf(`${fixture.folder}/0000000000000001-0.seg`).length,
    );
    expect(status.heldBytes).toBe(status.bytes);
    await fixture.clock.advance(60_000);
    expect(outbox.status().lanes).toEqual({ alarm: 1, live: 0, backlog: 3 });
  });

  it('counts what waits of what was delivered in part and then thinned, before a restart and after it', async () => {
    await make({ maxBytes: 60_000 });
    let outbox = await fixture.open();
    let from = 0;
    const add = async (): Promise<void> => {
      await fixture.commit(outbox, fixture.noise(100, from));
      from += 100;
    };
    for (let block = 0; block < 60; block += 1) await add();
    await fixture.clock.advance(120_000);
    let delivered = 0;
    while (delivered < 5_200) {
      const batch = await outbox.peek('backlog', { maxEntries: 100, maxBytes: 1 << 20 });
      if (batch === undefined) throw new Error('nothing is left');
      await outbox.acknowledge(batch);
      delivered += batch.entries.length;
    }
    for (let block = 0; block < 80; block += 1) {
      await add();
      const { heldEntries, thinned, dropped } = outbox.status();
      // The outbox has added its own reports of losses.
      expect(heldEntries + thinned + dropped + delivered - from).toBe(0);
    }
    const { heldEntries, thinned } = outbox.status();
    expect(thinned).toBeGreaterThan(0);
    await fixture.until(outbox.close());
    outbox = await fixture.open();
    expect(outbox.status()).toMatchObject({ heldEntries, thinned });
  });

  it('counts what is delivered no more, but its space while it is kept', async () => {
    await make();
    const outbox = await fixture.open();
    await fixture.commit(outbox, [fixture.entry('a', 1), fixture.entry('a', 2)]);
    await fixture.commit(outbox, [fixture.entry('a', 3)]);
    const batch = await outbox.peek('live', few);
    if (batch !== undefined) await outbox.acknowledge(batch);
    const left = 3 - (batch?.entries.length ?? 0);
    expect(outbox.status()).toMatchObject({ heldEntries: left, lanes: { alarm: 0, live: left, backlog: 0 } });
    for (let rest = await outbox.peek('live', few); rest !== undefined; rest = await outbox.peek('live', few))
      await outbox.acknowledge(rest);
    const status = outbox.status();
    expect(status).toMatchObject({ heldEntries: 0, heldBytes: 0, segments: 1 });
    expect(status.bytes).toBeGreaterThan(0);
    expect(status).not.toMatchObject({ oldestMs: expect.anything() });
  });

  it('counts entries whose time is not known, by block, and those that brought their own are none of them', async () => {
    await make();
    fixture.timeSync = new FakeTimeSync(false);
    const outbox = await fixture.open();
    await fixture.commit(outbox, [fixture.entry('a', 1), fixture.entry('a', 2)]);
    await fixture.commit(outbox, [fixture.entry('b', 3, { takenAtMs: 1_700_000_000_000 })]);
    expect(outbox.status()).toMatchObject({ heldEntries: 3, undecidedEntries: 2, timeSynchronised: false });
    expect(outbox.waitsForTime()).toBe(true);
    await fixture.until(outbox.close());
    const again = await fixture.open();
    expect(again.status().heldEntries).toBe(3);
    expect(again.status().undecidedEntries).toBe(2);
    fixture.timeSync.become(true);
    expect(again.status()).toMatchObject({ undecidedEntries: 0, timeSynchronised: true });
  });

  it('knows of segments that were not read since the start what they hold, and whether their times are known', async () => {
    await make({ maxBytes: 64 * 1024 });
    fixture.timeSync = new FakeTimeSync(false);
    const outbox = await fixture.open();
    for (let block = 0; block < 10; block += 1) await fixture.commit(outbox, fixture.noise(200, block * 200));
    await fixture.until(outbox.close());
    const again = await fixture.open();
    const { bytes, segments } = again.status();
    expect(segments).toBeGreaterThan(2);
    expect(again.status()).toMatchObject({ heldEntries: 2_000, undecidedEntries: 2_000, heldBytes: bytes });
    fixture.timeSync.become(true);
    expect(again.status()).toMatchObject({
      heldEntries: 2_000,
      undecidedEntries: 0,
      lanes: { alarm: 0, live: 0, backlog: 2_000 },
    });
  });

  it('tells how long an outage may last by the rate, the size of an entry and the room that is left', async () => {
    await make({ maxBytes: 1_600_000 });
    const outbox = await fixture.open();
    outbox.append([fixture.entry('a', 1)]).catch(() => {});
    await fixture.clock.advance(10_000);
    const first = outbox.status();
    // Nothing to measure an entry by yet: eight bytes each, in fifteen sixteenths of the bound.
    expect(first.ratePerS).toBeCloseTo(0.1);
    expect(first.hoursThatFit).toBeCloseTo((1_500_000 - first.heldBytes) / (0.1 * 8 * 3_600), 0);
  });

  it('measures an entry by what an earlier run left', async () => {
    await make({ maxBytes: 1_600_000 });
    const before = await fixture.open();
    for (let from = 0; before.status().segments < 3; from += 500)
      await fixture.commit(before, fixture.noise(500, from));
    const { heldBytes, heldEntries } = before.status();
    await fixture.until(before.close());
    const again = await fixture.open();
    again.append([fixture.entry('a', 1)]).catch(() => {});
    await fixture.clock.advance(10_000);
    const { hoursThatFit = 0, heldBytes: now } = again.status();
    const bytesEach = (1_500_000 - now) / (hoursThatFit * 0.1 * 3_600);
    // A part of the files is reserved for what comes.
    const share = bytesEach / (heldBytes / heldEntries);
    expect([share > 0.8, share < 1]).toEqual([true, true]);
  });
});
