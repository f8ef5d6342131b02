/** Knowledge of boots and their clocks, step by step, without the outbox around it. */
import { beforeEach, describe, expect, it } from 'vitest';
import { silentLog } from '../../../../src/host/log.ts';
import { UnreadFiles } from '../../../../src/outbox/segments/small-file.ts';
import { BootTimes } from '../../../../src/outbox/times/boot-times.ts';
import { sealJson } from '../../../../src/store/sealed-json.ts';
import type { JsonValue } from '../../../../src/values/json.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { MemoryFiles } from '../../../support/memory-files.ts';
import { everyDamage } from '../../../support/one-bit.ts';
import { FakeTimeSync } from '../../../support/outbox-fixture.ts';

const WALL_MS = 1_780_000_000_000;
const PATH = '/outbox/boots.json';
const TWIN = '/outbox/boots.twin.json';
const [EVER, FOR_EVER] = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY];

/** A clock that others keep from its work between two looks. */
class SlowClock extends FakeClock {
  betweenLooksMs = 0;
  #looks = 0;

  override monotonicMs(): number {
    this.#looks += 1;
    return super.monotonicMs() + this.#looks * this.betweenLooksMs;
  }
}

let files: MemoryFiles;
let clock: SlowClock;
let timeSync: FakeTimeSync;
let setAside: string[];

beforeEach(async () => {
  files = new MemoryFiles();
  await files.makeFolder('/outbox');
  clock = new SlowClock({ bootId: 'now', monotonicMs: 1_000, wallMs: WALL_MS + 1_000 });
  timeSync = new FakeTimeSync(true);
  setAside = [];
});

const open = (timeUncertain: 'hold' | 'send' = 'hold'): Promise<BootTimes> =>
  BootTimes.open({
    files,
    folder: '/outbox',
    clock,
    unread: new UnreadFiles(clock),
    log: silentLog,
    timeSync,
    settings: { timeUncertain },
    setAside: async (name) => void setAside.push(name),
  });

/** The same with what the clock says. */
async function opened(): Promise<BootTimes> {
  const times = await open();
  times.refresh();
  return times;
}

interface StoredBoot {
  readonly bootId: string;
  readonly lastMs: number;
  readonly guessMs: number;
  readonly offsets: readonly object[];
}

/** Without its twin. */
function put(...boots: readonly StoredBoot[]): void {
  files.remove(TWIN);
  files.put(PATH, sealJson({ format: 'turnstone-outbox-boots', version: 1, boots: boots as unknown as JsonValue }));
}

const stored = (): StoredBoot[] => JSON.parse(files.contentOf(PATH).toString()).boots;
const known = (bootId: string, lastMs: number, offsetMs: number): StoredBoot => ({
  bootId,
  lastMs,
  guessMs: 5,
  offsets: [{ fromMs: 0, offsetMs, certainty: 'synchronised', frozen: true }],
});
const unknown = (bootId: string, lastMs: number): StoredBoot => ({ bootId, lastMs, guessMs: 5, offsets: [] });

async function step(times: BootTimes, byMs: number, afterMs = 10): Promise<void> {
  await clock.advance(afterMs);
  clock.stepWall(byMs);
  times.refresh();
}

describe('the table', () => {
  it('has this boot before anything is known of its time, and is written when something changed', async () => {
    timeSync = new FakeTimeSync(false);
    const times = await open();
    expect(times.dirty).toBe(true);
    await times.save();
    expect([times.dirty, stored()]).toEqual([false, [{ bootId: 'now', lastMs: 0, guessMs: WALL_MS, offsets: [] }]]);
    files.changes.splice(0);
    await times.save();
    expect(files.changes).toEqual([]);
    expect((await open()).dirty).toBe(false);
    clock.bootId = 'next';
    const next = await open();
    expect(next.dirty).toBe(true);
    await next.save();
    expect(stored().map(({ bootId, guessMs }) => [bootId, guessMs])).toEqual([
      ['now', WALL_MS],
      ['next', WALL_MS],
    ]);
  });

  it('that cannot be written is still to be written', async () => {
    const times = await opened();
    files.faults = { fail: (operation) => (operation === 'sync' ? { code: 'EIO' } : undefined) };
    await expect(times.save()).rejects.toThrow();
    expect(times.dirty).toBe(true);
    files.faults = {};
    await times.save();
    expect([times.dirty, stored()[0]?.bootId]).toEqual([false, 'now']);
  });

  it('forgets the oldest of too many boots that nothing waits for, and of many more whatever waits', async () => {
    const left = async (boots: readonly StoredBoot[], neededId: string | undefined): Promise<unknown[]> => {
      put(...boots);
      const times = await open();
      times.forgetOld(neededId);
      await times.save();
      return [stored().length, stored()[0]?.bootId, stored().at(-1)?.bootId];
    };
    const many = (count: number): StoredBoot[] =>
      Array.from({ length: count }, (_none, at) => known(`boot${at}`, 10, at));
    expect(await left(many(256), undefined)).toEqual([256, 'boot1', 'now']);
    expect(await left(many(500), undefined)).toEqual([256, 'boot245', 'now']);
    expect(await left(many(500), 'boot300')).toEqual([256, 'boot245', 'now']);
    // The times known before it bound it.
    expect(await left(many(500), 'boot40')).toEqual([462, 'boot39', 'now']);
    expect(await left([...many(40), unknown('a', 1), unknown('b', 1), ...many(500).slice(40)], 'b')).toEqual([
      464,
      'boot39',
      'now',
    ]);
    expect(await left([...many(500).map(({ bootId }) => unknown(bootId, 1))], 'boot40')).toEqual([
      461,
      'boot40',
      'now',
    ]);
    expect(await left(many(500), 'boot0')).toEqual([501, 'boot0', 'now']);
    expect(await left(many(500), 'one of which nothing is known')).toEqual([501, 'boot0', 'now']);
    expect(await left(many(2_500), 'boot40')).toEqual([2_048, 'boot453', 'now']);
  });

  it.each([
    ['no JSON', '{'],
    ['another format', '{"format":"x","boots":[]}'],
    ['no list', '{"format":"turnstone-outbox-boots","boots":{}}'],
    ['a boot without a name', '{"format":"turnstone-outbox-boots","boots":[{"lastMs":1,"offsets":[]}]}'],
    ['a boot without an end', '{"format":"turnstone-outbox-boots","boots":[{"bootId":"a","offsets":[]}]}'],
    ['a boot without offsets', '{"format":"turnstone-outbox-boots","boots":[{"bootId":"a","lastMs":1}]}'],
  ])('is set aside: %s', async (_name, text) => {
    files.put(PATH, text);
    const times = await opened();
    expect([setAside, times.look('now', 500)]).toEqual([['boots.json'], WALL_MS + 500]);
  });

  it('gives the same times whatever bit of it is wrong, and says which file that is', async () => {
    put(known('before', 100, 7));
    await (await opened()).save();
    const whole = files.contentOf(PATH).toString();
    for (const damaged of everyDamage(whole)) {
      setAside = [];
      files.put(PATH, damaged);
      expect([(await open()).look('before', 1), setAside]).toEqual([8, ['boots.json']]);
    }
  });

  it.each([{ fromMs: '0' }, { offsetMs: 1.5 }, { offsetMs: undefined }, { certainty: 'sure' }, { frozen: 1 }])(
    'is set aside with %j for an offset',
    async (wrong) => {
      put({
        ...known('before', 100, 7),
        offsets: [{ fromMs: 0, offsetMs: 7, certainty: 'synchronised', frozen: false, ...wrong }],
      });
      await opened();
      expect(setAside).toEqual(['boots.json']);
    },
  );

  it('is read from its twin where it is lost, spoilt or refused, and written in both places again', async () => {
    const ways: readonly [readonly string[], () => unknown][] = [
      [[], () => files.unlink(PATH)],
      [['boots.json'], () => files.put(PATH, '{')],
      [
        ['boots.json'],
        () =>
          (files.faults = {
            fail: (operation, path) => (operation === 'read' && path === PATH ? { code: 'EIO' } : undefined),
          }),
      ],
    ];
    for (const [aside, spoil] of ways) {
      put(known('before', 100, 7));
      await (await opened()).save();
      setAside = [];
      await spoil();
      const times = await open();
      expect([times.look('before', 1), setAside, times.dirty]).toEqual([8, aside, true]);
      files.faults = {};
      files.unlinkNow(TWIN);
      await times.save();
      for (const path of [PATH, TWIN]) expect(JSON.parse(files.contentOf(path).toString()).boots).toHaveLength(2);
    }
  });

  it('waits for what the disk may give another time where its twin is refused too, or may be older', async () => {
    await (await opened()).save();
    files.faults = { fail: (operation) => (operation === 'read' ? { code: 'EIO' } : undefined) };
    await expect(open()).rejects.toMatchObject({ code: 'host/read-failed' });
    files.faults = {
      fail: (operation, path) => (operation === 'open' && path === PATH ? { code: 'EMFILE' } : undefined),
    };
    await expect(open()).rejects.toMatchObject({ code: 'host/read-failed' });
    expect(setAside).toEqual([]);
  });

  it('is there whole, as it was or as it is to be, wherever a write of it ends, with a file of it that is bad then', async () => {
    for (const bad of [undefined, PATH])
      for (let steps = 0; ; steps += 1) {
        files = new MemoryFiles();
        await files.makeFolder('/outbox');
        put(known('before', 100, 7));
        await (await opened()).save();
        const times = await opened();
        times.freeze('now', 500);
        let left = steps;
        files.faults = { fail: () => (left-- <= 0 ? { code: 'EIO' } : undefined) };
        const isSaved = await times.save().then(
          () => true,
          () => false,
        );
        files.faults = {};
        files.cutPower(() => false);
        if (bad !== undefined) await files.unlink(bad);
        const after = await open();
        await after.save();
        const offsets = stored().find(({ bootId }) => bootId === 'now')?.offsets ?? [];
        const isThere = offsets.some((offset) => 'frozen' in offset && offset.frozen === true);
        expect([after.look('before', 1), isSaved && !isThere], `${steps}`).toEqual([8, false]);
        if (isSaved) break;
      }
  });

  it('has a twin that is never the older of the two', async () => {
    await (await opened()).save();
    const before = files.contentOf(PATH);
    const times = await opened();
    times.freeze('now', 500);
    files.faults = { fail: (_operation, path) => (path.includes('twin') ? { code: 'EIO' } : undefined) };
    await expect(times.save()).rejects.toMatchObject({ code: 'host/write-failed' });
    expect(files.contentOf(PATH).equals(before)).toBe(true);
  });

  it('learns how long a boot ran, never that it ran shorter, and of boots that it does not know', async () => {
    put(known('a', 100, 1));
    const times = await opened();
    await times.save();
    times.observe('a', 100);
    times.observe('a', 90);
    expect(times.dirty).toBe(false);
    times.observe('a', 101);
    expect(times.dirty).toBe(true);
    times.observe('older', 50);
    await times.save();
    expect(stored().map(({ bootId, lastMs }) => [bootId, lastMs])).toEqual([
      ['older', 50],
      ['a', 101],
      ['now', 0],
    ]);
    times.observe('after a', 2, 'a');
    times.freeze('now', 0);
    await times.save();
    expect(stored().map(({ bootId }) => bootId)).toEqual(['older', 'a', 'after a', 'now']);
  });
});

describe('what the clock says', () => {
  it('is not believed while it is not right, and not when two looks at it lie too far apart', async () => {
    timeSync.become(false);
    const times = await opened();
    expect([times.look('now', 1), times.isDecided('now')]).toEqual([undefined, false]);
    timeSync.become(true);
    clock.betweenLooksMs = 6;
    times.refresh();
    expect(times.look('now', 1)).toBeUndefined();
    clock.betweenLooksMs = 0;
    times.refresh();
    expect([times.look('now', 1), times.isDecided('now')]).toEqual([WALL_MS + 1, true]);
  });

  it('serves what was taken before it was right, too', async () => {
    const times = await opened();
    expect(times.stretchAt('now', 0)).toEqual({ fromMs: EVER, untilMs: FOR_EVER, offsetMs: WALL_MS, uncertain: false });
  });

  it.each([
    [99, [0, 0]],
    [-99, [0, 0]],
    [100, [0, 100]],
    [-100, [0, -100]],
  ])('after a step of %i ms moves what comes, and nothing that was given out', async (byMs, moved) => {
    const times = await opened();
    times.freeze('now', 999);
    await step(times, byMs);
    const later = Math.floor(clock.monotonicMs()) + 1;
    expect([999, later].map((ms) => (times.look('now', ms) as number) - ms - WALL_MS)).toEqual(moved);
  });

  it('is corrected as a whole while nothing was given out, and followed when the machine stood still', async () => {
    const times = await opened();
    await step(times, 9_999);
    expect(times.stretchAt('now', 0)).toMatchObject({ fromMs: EVER, untilMs: FOR_EVER, offsetMs: WALL_MS + 9_999 });
    await step(times, 10_000);
    expect(times.stretchAt('now', 0)).toMatchObject({ fromMs: EVER, offsetMs: WALL_MS + 9_999 });
    expect(times.stretchAt('now', 2_000)).toMatchObject({ untilMs: FOR_EVER, offsetMs: WALL_MS + 19_999 });
  });

  it('moves nothing of before the first time that the machine stood still when it stands still again, or is corrected', async () => {
    const times = await opened();
    await step(times, 20_000);
    await step(times, 0);
    const between = Math.floor(clock.monotonicMs()) - 1;
    await step(times, 30_000);
    await step(times, 1_000);
    const later = clock.monotonicMs() + 1;
    const moved = [900, between, later].map((ms) => (times.look('now', ms) as number) - ms - WALL_MS);
    expect(moved).toEqual([0, 20_000, 51_000]);
  });

  it('follows a step from after the last moment that was committed or given out in this boot, whatever others are told', async () => {
    const times = await opened();
    times.freeze('now', 1_000);
    times.hold('other', 9_000);
    times.hold('now', 1_500);
    times.hold('now', 1_200);
    await step(times, 5_000);
    expect(times.stretchAt('now', 1_500)).toEqual({
      fromMs: EVER,
      untilMs: 1_501,
      offsetMs: WALL_MS,
      uncertain: false,
    });
    expect(times.stretchAt('now', 1_501)).toEqual({
      fromMs: 1_501,
      untilMs: FOR_EVER,
      offsetMs: WALL_MS + 5_000,
      uncertain: false,
    });
  });

  it('moves no time that was given out ahead of the clock, with what lies beside it in its block or by itself', async () => {
    for (const give of [
      (times: BootTimes) => void times.freeze('now', 9_000),
      (times: BootTimes) => times.give('now', 8_000, 9_000),
    ]) {
      const times = await opened();
      const offsetMs = times.stretchAt('now', 9_000)?.offsetMs as number;
      give(times);
      await step(times, 20_000);
      expect([9_000, 9_001].map((ms) => times.stretchAt('now', ms)?.offsetMs)).toEqual([offsetMs, offsetMs + 20_000]);
    }
  });

  it('came at some time since it was last seen to agree', async () => {
    const times = await opened();
    times.freeze('now', 1_000);
    await clock.advance(4_000);
    times.refresh();
    await step(times, 5_000, 3_000);
    expect(times.stretchAt('now', 5_000)?.fromMs).toBe(5_000);
    expect(times.stretchAt('now', 4_999)?.untilMs).toBe(5_000);
  });

  it('that jumps on and on keeps its last offsets, and no more than there is room for', async () => {
    const times = await opened();
    for (let jump = 1; jump <= 80; jump += 1) {
      times.freeze('now', clock.monotonicMs());
      await step(times, 1_000, 100);
    }
    await times.save();
    expect(stored()[0]?.offsets).toHaveLength(64);
    expect(times.look('now', clock.monotonicMs() + 1)).toBe(WALL_MS + 80_000 + clock.monotonicMs() + 1);
  });
});

describe('what was given out as a guess', () => {
  it('may be all that an earlier run took, also ahead of the clock, and nothing for what another boot took', async () => {
    timeSync.become(false);
    const offset = { fromMs: 0, offsetMs: WALL_MS - 50_000, certainty: 'guessed', frozen: true };
    put({ ...known('now', 0, 0), offsets: [offset] });
    const again = await open('send');
    again.observe('now', 5_000);
    clock.bootId = 'next';
    const next = await open('send');
    next.freeze('next', 700);
    next.give('now', 0, 5_000);
    timeSync.become(true);
    next.refresh();
    expect([699, 700, 701].map((ms) => next.stretchAt('next', ms)?.uncertain)).toEqual([false, true, false]);
    clock.bootId = 'now';
    again.refresh();
    expect([5_000, 5_001].map((ms) => again.stretchAt('now', ms)?.uncertain)).toEqual([true, false]);
  });

  it('is a guess for ever with all that lies between, and nothing beside it', async () => {
    timeSync.become(false);
    const times = await open('send');
    await clock.advance(100_000);
    for (const at of [1_300, 20_300]) times.give('now', at, at + 100);
    times.freeze('now', 5_350);
    timeSync.become(true);
    clock.stepWall(7_000);
    times.refresh();
    const isGuess = (ms: number): boolean => times.stretchAt('now', ms)?.uncertain === true;
    expect([1_299, 1_300, 20_400, 20_401].map(isGuess)).toEqual([false, true, true, false]);
    expect(times.look('now', 900)).toBe(WALL_MS + 7_900);
    await times.save();
    expect(stored()[0]?.offsets).toHaveLength(3);
    // A correction reaches all that was not given out.
    clock.stepWall(1_000);
    times.refresh();
    expect([900, 5_350, 30_000].map((ms) => (times.look('now', ms) as number) - ms - WALL_MS)).toEqual([
      8_000, 0, 8_000,
    ]);
  });
});

describe('times that were given out', () => {
  it('stay over a restart', async () => {
    const first = await opened();
    const given = first.freeze('now', 700);
    await first.save();
    clock.stepWall(50_000);
    const second = await open();
    second.observe('now', 700);
    second.refresh();
    expect(second.freeze('now', 700).offsetMs).toBe(given.offsetMs);
    expect(second.look('now', clock.monotonicMs() + 1)).toBe(WALL_MS + 50_000 + clock.monotonicMs() + 1);
    expect(second.dirty).toBe(true);
  });

  it('need no writing again', async () => {
    const times = await opened();
    times.freeze('now', 700);
    await times.save();
    times.freeze('now', 900);
    expect(times.dirty).toBe(false);
  });

  it('of a boot between known ones are where its neighbours leave room, and stay there', async () => {
    put(known('before', 1_000, 0), unknown('lost', 500), known('after', 100, 2_000));
    const times = await opened();
    // 2,000 - 1,000 - 500 ms are left, one half on either side.
    expect(times.stretchAt('lost', 3)).toEqual({ fromMs: EVER, untilMs: FOR_EVER, offsetMs: 1_250, uncertain: false });
    expect(times.freeze('lost', 3)).toEqual({ fromMs: EVER, untilMs: FOR_EVER, offsetMs: 1_250, uncertain: false });
    expect(times.isDecided('lost')).toBe(true);
    await times.save();
    expect(stored()[1]?.offsets).toEqual([{ fromMs: 0, offsetMs: 1_250, certainty: 'bounded', frozen: true }]);
  });

  it.each([
    ['no more than there is', 0, 1_500, 1_000],
    ['less than there is', 0, 1_499, undefined],
    ['as much as can be decided', 0, 121_500, 61_000],
    ['more than can be decided', 0, 121_501, undefined],
  ])('can be decided or not between neighbours that leave %s', async (_name, beforeMs, afterMs, offsetMs) => {
    put(known('before', 1_000, beforeMs), unknown('lost', 500), known('after', 100, afterMs));
    expect((await opened()).stretchAt('lost', 0)?.offsetMs).toBe(offsetMs);
  });

  it('cannot be decided without a neighbour on either side', async () => {
    put(unknown('first', 5), known('a', 10, 0));
    timeSync.become(false);
    const times = await open();
    expect([
      times.isDecided('first'),
      times.isDecided('now'),
      times.isDecided('nobody'),
      times.look('first', 1),
    ]).toEqual([false, false, false, undefined]);
  });

  it('of an unknown boot are held, or guessed as if it had ended when this one began', async () => {
    const times = await open('send');
    expect([times.canResolve('lost'), (await open()).canResolve('lost')]).toEqual([true, false]);
    expect(times.freeze('lost', 400)).toEqual({
      fromMs: EVER,
      untilMs: FOR_EVER,
      offsetMs: WALL_MS - 400,
      uncertain: true,
    });
    put(unknown('before', 50));
    expect((await open('send')).freeze('before', 10)).toMatchObject({ offsetMs: 5, uncertain: true });
  });
});

describe('the time that machines ran since', () => {
  it('a moment of this boot is what its clock says, and of an earlier one all that was seen to pass', async () => {
    put(known('a', 1_000, 0), unknown('b', 300), known('c', 20, 9_000));
    const times = await opened();
    expect(times.ranSince('now', 400)).toBe(600);
    expect(times.ranSince('a', 900)).toBe(100 + 300 + 20 + 1_000);
    expect(times.ranSince('c', 20)).toBe(1_000);
    // Some time in it, and after all that was seen of it.
    expect(times.ranSince('b', FOR_EVER)).toBe(20 + 1_000);
    expect(times.ranSince('nobody', 0)).toBe(1_000);
  });
});
