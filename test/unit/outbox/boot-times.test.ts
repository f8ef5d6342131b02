/** Which wall time an entry gets when the clock was wrong, stepped, or never right; on a disk in memory. */
import { afterEach, describe, expect, it } from 'vitest';
import type { Outbox } from '../../../src/outbox/outbox.ts';
import type { ResolvedEntry } from '../../../src/outbox/outbox-batch.ts';
import { drain, FakeTimeSync, NO_LIMITS, OutboxFixture } from '../../support/outbox-fixture.ts';
import { MemoryFiles } from '../../support/outbox-memory-files.ts';

const RIGHT_MS = 1_780_000_000_000;
const UNSET_MS = 1_000_000_000;
let fixture: OutboxFixture;

afterEach(() => fixture.remove());

async function make(settings: Parameters<typeof OutboxFixture.make>[0] = {}): Promise<void> {
  fixture = await OutboxFixture.make(settings);
  fixture.files = new MemoryFiles();
}

/** One boot: opens, runs for so long with an entry at its end, and closes. */
async function boot(life: { bootId: string; wallMs: number; runsMs: number; synchronised: boolean; key: string }): Promise<void> {
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
    expect(times(await drain(outbox))).toEqual({ before: RIGHT_MS + 60_000, during: RIGHT_MS + 60_000 + 20_000 + 600_000 });
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
    expect(outbox.status()).toMatchObject({ undecidedEntries: 1, heldEntries: 1 });
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

describe('a clock that steps', () => {
  it('never reorders entries of a boot, in either direction', async () => {
    await make();
    const outbox = await fixture.open();
    const given: number[] = [];
    for (const stepMs of [0, 3_600_000, -7_200_000, 500, -1, 86_400_000]) {
      fixture.clock.stepWall(stepMs);
      await fixture.commit(outbox, [fixture.entry('a', stepMs)]);
      given.push(...(await drain(outbox)).map(({ ts }) => ts));
    }
    expect(given).toEqual([...given].sort((a, b) => a - b));
    expect(new Set(given).size).toBe(6);
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

describe('the table of boots', () => {
  it('is set aside when it is broken, and what is known of this boot starts anew', async () => {
    await make();
    await boot({ bootId: 'known', wallMs: RIGHT_MS, runsMs: 60_000, synchronised: true, key: 'before' });
    (fixture.files as MemoryFiles).put(`${fixture.folder}/boots.json`, Buffer.from('{"format":"turnstone-outbox-boots","boots":7}'));
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
