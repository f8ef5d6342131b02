/** Uploads from a real outbox to platforms that are ill in many ways, for hours: no good entry is lost or held up, and a bad one is found. */
import { afterEach, describe, expect, it } from 'vitest';
import type { TelemetryRows, UploadAnswer } from '../../../../src/platform/device-api.ts';
import { UploadBench } from '../../../support/upload-bench.ts';

const ACCEPTED: UploadAnswer = { kind: 'accepted' };
const REFUSED: UploadAnswer = { kind: 'refused', status: 500, text: '{"status":500}' };
const SILENT: UploadAnswer = { kind: 'busy', status: 500, text: '' };
const TOO_LARGE: UploadAnswer = { kind: 'too-large', status: 413 };
const CUT: UploadAnswer = { kind: 'busy', text: 'no answer', cut: true };

let gateway: UploadBench;
afterEach(() => gateway.close());

const ACCEPTED_BUT_ONE = (rows: TelemetryRows): UploadAnswer => (has(rows, 'bad') ? REFUSED : ACCEPTED);

const has = (rows: TelemetryRows, start: string): boolean => rows.keys.some((key) => key.startsWith(start));
const numbered = (name: string, count: number): string[] =>
  Array.from({ length: count }, (_none, at) => `${name}${at}`);

describe('a key of which the platform refuses each entry', () => {
  const BAD_REQUEST: UploadAnswer = { kind: 'refused', status: 400, text: 'no' };

  /** Seconds with a good reading each, and one of each of these keys every five seconds. */
  async function seconds(count: number, keys: readonly string[]): Promise<void> {
    for (let second = 0; second < count; second += 1) {
      await gateway.commit(second % 5 === 0 ? ['good', ...keys] : ['good']);
      await gateway.fixture.clock.advance(1_000);
    }
  }

  const goodOnes = (): number => gateway.taken.filter((key) => key === 'good').length;

  it.each([[['bad']], [['bad1', 'bad2']]])('%j every five seconds starves no reading of each second', async (keys) => {
    gateway = await UploadBench.open();
    gateway.answer = (rows) => (has(rows, 'bad') ? BAD_REQUEST : ACCEPTED);
    await seconds(300, keys);
    const refusedBefore = gateway.posts.filter(({ answer }) => answer !== ACCEPTED).length;
    await seconds(300, keys);
    expect(goodOnes()).toBeGreaterThan(590);
    const refused = gateway.posts.filter(({ answer }) => answer !== ACCEPTED);
    expect(refused.slice(refusedBefore).filter((post) => post.keys.length > 1)).toEqual([]);
    expect(gateway.outbox.status().heldEntries).toBeLessThan(20);
  });

  it('goes with the others again once one of its entries passes', async () => {
    gateway = await UploadBench.open();
    gateway.answer = (rows) => (has(rows, 'bad') ? BAD_REQUEST : ACCEPTED);
    await seconds(120, ['bad']);
    gateway.answer = () => ACCEPTED;
    await seconds(60, ['bad']);
    const before = gateway.posts.length;
    await seconds(20, ['bad']);
    const withBad = gateway.posts.slice(before).filter(({ keys }) => keys.includes('bad'));
    expect(withBad.length).toBeGreaterThan(0);
    for (const { keys } of withBad) expect(keys).toContain('good');
  });
});

describe('an entry that the platform refuses', () => {
  it.each([
    ['500 with text', REFUSED, 4],
    // Which a limit of posts would say, too.
    ['an empty 500', SILENT, 6],
    ['413 beyond what it took before', TOO_LARGE, 4],
    ['a timeout', CUT, 4],
  ])('by %s is a dead letter, and all others are delivered within minutes', async (_name, fault, withinMinutes) => {
    gateway = await UploadBench.open();
    gateway.answer = (rows) => (has(rows, 'bad') ? fault : ACCEPTED);
    await gateway.commit([...numbered('a', 700), 'bad', ...numbered('b', 300)], {});
    await gateway.minutes(withinMinutes);
    for (const key of [...numbered('a', 700), ...numbered('b', 300)]) expect(gateway.taken).toContain(key);
    await gateway.minutes(15);
    expect([gateway.deadLetters(), await gateway.rejected()]).toEqual([['bad'], []]);
    expect(gateway.outbox.status()).toMatchObject({ heldEntries: 0, dropped: 0, deadLetters: 1 });
  });

  it('and is refused for a week, is tried about daily, then rejected and kept, and goes when a person sends it again', async () => {
    gateway = await UploadBench.open();
    gateway.answer = (rows) => (has(rows, 'bad') ? REFUSED : ACCEPTED);
    await gateway.commit(['bad']);
    const { clock } = gateway.fixture;
    const triedAtHours = (): number[] =>
      gateway.posts.filter(({ keys }) => keys[0] === 'bad').map(({ atMs }) => Math.round(atMs / 3_600_000));
    for (let hour = 0; hour < 7 * 24; hour += 1) {
      await gateway.commit(['live']);
      await clock.advance(3_600_000);
    }
    expect(gateway.outbox.status()).toMatchObject({ rejected: 0, dropped: 0, heldEntries: 0, deadLetters: 1 });
    expect([...new Set(triedAtHours())]).toEqual([0, 1, 7, 31, 55, 79, 103, 127, 151]);
    for (let hour = 0; hour < 24; hour += 1) {
      await gateway.commit(['live']);
      await clock.advance(3_600_000);
    }
    expect(gateway.outbox.status()).toMatchObject({ rejected: 1, dropped: 0, heldEntries: 0 });
    expect(gateway.deadLetters()).toEqual([]);
    expect(await gateway.outbox.rejected()).toMatchObject([{ key: 'bad', answer: '500 {"status":500}' }]);
    gateway.answer = () => ACCEPTED;
    await gateway.fixture.until(gateway.outbox.resendRejected(() => true));
    await gateway.minutes(1);
    expect(gateway.taken).toContain('bad');
  });

  it.each([
    ['refused', REFUSED],
    ['not answered in time', CUT],
  ])(
    'as an alarm, %s by a platform that is ill for minutes, arrives soon after, though the budget of the day is spent',
    async (_how, fault) => {
      gateway = await UploadBench.open();
      gateway.hasHistory = false;
      gateway.answer = (rows) => (has(rows, 'fire') ? fault : ACCEPTED);
      await gateway.commit(['live']);
      await gateway.commit(['fire'], { class: 'alarm' });
      await gateway.minutes(2);
      gateway.answer = () => ACCEPTED;
      await gateway.minutes(5);
      expect(gateway.taken).toContain('fire');
    },
  );

  it('is not judged while nothing else waits that could show whether the platform is well', async () => {
    gateway = await UploadBench.open();
    gateway.answer = (rows) => (has(rows, 'bad') ? REFUSED : ACCEPTED);
    await gateway.commit(['bad']);
    await gateway.minutes(120, []);
    expect(await gateway.rejected()).toEqual([]);
    expect(gateway.outbox.status()).toMatchObject({ heldEntries: 1, dropped: 0 });
    expect(gateway.uploader.state).toMatchObject({ state: 'backing-off', reason: 'the platform refuses (status 500)' });
    await gateway.minutes(2);
    expect(gateway.deadLetters()).toEqual(['bad']);
  });

  it('does not hold up others, however many are like it', async () => {
    gateway = await UploadBench.open();
    gateway.answer = (rows) => (has(rows, 'bad') ? REFUSED : ACCEPTED);
    await gateway.commit(numbered('bad', 40), { class: 'alarm' });
    await gateway.commit(numbered('good', 40));
    await gateway.minutes(20);
    expect(gateway.taken).toEqual(expect.arrayContaining(numbered('good', 40)));
    await gateway.minutes(220);
    expect([gateway.deadLetters().sort(), await gateway.rejected()]).toEqual([numbered('bad', 40).sort(), []]);
    expect(gateway.mostFailuresAMinute).toBeLessThanOrEqual(30);
  });

  it('keeps nothing good from being sent at a stop, though it is due', async () => {
    gateway = await UploadBench.open();
    gateway.answer = (rows) => (has(rows, 'bad') ? REFUSED : ACCEPTED);
    await gateway.commit(['bad', 'good']);
    await gateway.minutes(5);
    await gateway.stop();
    await gateway.commit(['last']);
    await gateway.fixture.clock.advance(900_000);
    await gateway.uploader.drain(new AbortController().signal);
    expect(gateway.posts.at(-1)).toMatchObject({ keys: ['last'], answer: ACCEPTED });
    expect(gateway.waiting).toBe(1);
  });

  it('costs no byte of a budget that is spent', async () => {
    gateway = await UploadBench.open();
    gateway.answer = (rows) => (has(rows, 'bad') ? REFUSED : ACCEPTED);
    await gateway.commit(['bad']);
    await gateway.minutes(1);
    gateway.hasHistory = false;
    const before = gateway.posts.length;
    await gateway.minutes(30);
    expect(gateway.posts.slice(before).filter(({ keys }) => keys.includes('bad'))).toEqual([]);
    gateway.hasHistory = true;
    await gateway.minutes(1);
    expect(gateway.posts.slice(before).filter(({ keys }) => keys.includes('bad'))).not.toEqual([]);
  });

  it('waits when the disk cannot keep it as a dead letter, and holds up nothing', async () => {
    gateway = await UploadBench.open();
    gateway.answer = (rows) => (has(rows, 'bad') ? REFUSED : ACCEPTED);
    gateway.files.faults = {
      fail: (operation, path) =>
        operation === 'open' && path.includes('dead-letters.jsonl') ? { code: 'EIO' } : undefined,
    };
    await gateway.commit(['bad']);
    await gateway.minutes(60);
    expect(gateway.outbox.status()).toMatchObject({ rejected: 0, dropped: 0, heldEntries: 1 });
    expect(gateway.taken.filter((key) => key === 'live')).toHaveLength(60);
    gateway.files.faults = {};
    await gateway.minutes(15);
    expect(gateway.deadLetters()).toEqual(['bad']);
  });
});

describe('a stop', () => {
  it('sends all that waits although the disk takes longer for each look than anybody waits, and ends when nothing is left', async () => {
    gateway = await UploadBench.open();
    await gateway.stop();
    await gateway.commit(['fire'], { class: 'alarm' });
    await gateway.commit(numbered('a', 300));
    await gateway.fixture.clock.advance(60_000);
    await gateway.commit(numbered('b', 300));
    gateway.files.addFaults({
      delay: (operation) =>
        operation === 'read' ? gateway.fixture.clock.sleep(4_000, new AbortController().signal) : undefined,
    });
    const startedMs = gateway.fixture.clock.monotonicMs();
    await gateway.fixture.until(gateway.uploader.drain(new AbortController().signal));
    expect(gateway.taken.toSorted()).toEqual(['fire', ...numbered('a', 300), ...numbered('b', 300)].toSorted());
    expect(gateway.fixture.clock.monotonicMs() - startedMs).toBeLessThan(30_000);
  });

  it('waits for a disk that does not come back no longer than it may take, and not at all beside a platform that takes nothing', async () => {
    gateway = await UploadBench.open();
    await gateway.stop();
    await gateway.commit(['fire'], { class: 'alarm' });
    await gateway.commit(['a']);
    const { promise, resolve } = Promise.withResolvers<void>();
    gateway.files.addFaults({ delay: (operation) => (operation === 'read' ? promise : undefined) });
    const { clock } = gateway.fixture;
    const over = new AbortController();
    const drained = gateway.uploader.drain(over.signal);
    let isOver = false;
    void drained.then(() => {
      isOver = true;
    });
    await clock.advance(30_000);
    expect([isOver, gateway.taken]).toEqual([false, ['fire']]);
    over.abort();
    await drained;
    await gateway.commit(['storm'], { class: 'alarm' });
    gateway.answer = () => ({ kind: 'busy', status: 503, text: '' });
    await gateway.fixture.until(gateway.uploader.drain(new AbortController().signal));
    expect(gateway.posts.map(({ keys }) => keys)).toEqual([['fire'], ['storm']]);
    resolve();
  });
});

describe('an entry at which no answer comes in time', () => {
  const POISONED: [string, UploadAnswer][] = [
    ['504', { kind: 'busy', status: 504, text: '' }],
    ['408', { kind: 'busy', status: 408, text: '' }],
    ['a broken connection', CUT],
  ];

  it.each(POISONED)(
    'but %s holds up others for seconds, alarms least of all, and goes when it passes',
    async (_name, fault) => {
      gateway = await UploadBench.open();
      let isPassable = false;
      gateway.answer = (rows) => (has(rows, 'slow') && !isPassable ? fault : ACCEPTED);
      await gateway.commit([...numbered('a', 70), 'slow1', ...numbered('b', 30)]);
      await gateway.commit(['slow2', 'slow3'], { class: 'alarm' });
      await gateway.commit(['fire'], { class: 'alarm' });
      await gateway.fixture.clock.advance(40_000);
      expect(gateway.taken).toContain('fire');
      await gateway.minutes(3);
      expect(gateway.taken).toEqual(expect.arrayContaining([...numbered('a', 70), ...numbered('b', 30)]));
      await gateway.minutes(300);
      expect(gateway.taken.filter((key) => key === 'live')).toHaveLength(303);
      expect(gateway.posts.filter(({ answer }) => answer.kind === 'busy').length).toBeLessThan(200);
      isPassable = true;
      // Each is due within some hours.
      await gateway.minutes(180);
      expect(gateway.taken).toEqual(expect.arrayContaining(['slow1', 'slow2', 'slow3']));
      expect([await gateway.rejected(), gateway.outbox.status().dropped]).toEqual([[], 0]);
    },
  );

  it('is no suspect for an outage, after which all goes together again', async () => {
    gateway = await UploadBench.open();
    await gateway.commit(['before']);
    await gateway.fixture.clock.advance(1_000);
    gateway.answer = () => CUT;
    await gateway.commit(numbered('kept', 300));
    await gateway.minutes(300);
    const during = gateway.posts.length;
    gateway.answer = () => ACCEPTED;
    await gateway.drained();
    expect(gateway.posts.slice(during).length).toBeLessThan(30);
    expect(gateway.uploader.state.reason).toBeUndefined();
  });

  it('keeps nothing good from being sent at a stop', async () => {
    gateway = await UploadBench.open();
    await gateway.stop();
    gateway.answer = (rows) => (has(rows, 'slow') ? CUT : has(rows, 'bad') ? REFUSED : ACCEPTED);
    await gateway.commit(['slow'], { class: 'alarm' });
    await gateway.commit([...numbered('a', 20), 'bad', ...numbered('b', 20)]);
    const drained = gateway.uploader.drain(new AbortController().signal);
    await gateway.fixture.until(drained);
    expect(gateway.taken).toEqual(expect.arrayContaining([...numbered('a', 20), ...numbered('b', 20)]));
    expect(gateway.waiting).toBe(2);
  });

  it('ends a stop when nothing passes', async () => {
    gateway = await UploadBench.open();
    await gateway.stop();
    gateway.answer = () => CUT;
    await gateway.commit(numbered('a', 2_000));
    await gateway.fixture.until(gateway.uploader.drain(new AbortController().signal));
    expect(gateway.posts).toHaveLength(12);
  });
});

describe('a history that was thinned', () => {
  it.each([
    ['refuses everything', () => REFUSED],
    ['gives no answer in time', () => CUT],
    ['refuses one key', ACCEPTED_BUT_ONE],
  ])(
    'meets a platform that %s: no post is empty, nobody is said to have taken one, and each entry is accounted for',
    async (_name, answer) => {
      gateway = await UploadBench.open({ maxBytes: 60_000 });
      gateway.answer = () => CUT;
      let appended = 0;
      for (; gateway.outbox.status().thinned < 200; appended += 13) {
        const { fixture } = gateway;
        const key = appended % 91 === 39 ? 'bad' : 'k';
        const readings = Array.from({ length: 12 }, (_none, at) =>
          fixture.entry(`${key}${at % 2}`, 1e6 * at + appended),
        );
        await fixture.commit(gateway.outbox, readings);
        await fixture.commit(gateway.outbox, [
          fixture.entry('alarm', `a${appended}${Math.sin(appended)}`, { class: 'alarm' }),
        ]);
      }
      const own = (keys: readonly string[]): number => keys.filter((key) => !key.startsWith('outbox')).length;
      // Until little is left small posts pass.
      gateway.answer = (rows) => (rows.keys.length > 8 ? CUT : ACCEPTED);
      for (let second = 0; second < 3_600 && gateway.outbox.status().heldEntries > 150; second += 1)
        await gateway.fixture.clock.advance(1_000);
      const taken = gateway.taken.length;
      gateway.answer = answer;
      await gateway.minutes(180, []);
      expect(Math.min(...gateway.posts.map(({ keys }) => keys.length))).toBeGreaterThan(0);
      if (answer !== ACCEPTED_BUT_ONE) expect(gateway.taken.length).toBe(taken);
      gateway.answer = () => ACCEPTED;
      await gateway.minutes(30, []);
      const { heldEntries, thinned, dropped, rejected, damaged, deadLetters = 0 } = gateway.outbox.status();
      expect([heldEntries, dropped, damaged]).toEqual([0, 0, 0]);
      expect(own(gateway.taken) + thinned + rejected + deadLetters).toBe(appended);
    },
  );
});

describe('a platform that is ill', () => {
  const ILLNESSES: [string, (rows: TelemetryRows, post: number) => UploadAnswer][] = [
    ['refuses everything', () => REFUSED],
    ['says nothing but 500', () => SILENT],
    ['finds everything too large', () => TOO_LARGE],
    ['answers nothing in time', () => CUT],
    ['refuses every second post', (_rows, post) => (post % 2 === 0 ? REFUSED : ACCEPTED)],
    ['refuses two of three posts', (_rows, post) => (post % 3 === 0 ? ACCEPTED : REFUSED)],
    ['refuses nine of ten posts', (_rows, post) => ((post * 7919) % 10 === 3 ? ACCEPTED : REFUSED)],
    ['says 500 to every second post', (_rows, post) => (post % 2 === 0 ? SILENT : ACCEPTED)],
    ['refuses what has more than three rows', (rows) => (rows.keys.length > 3 ? REFUSED : ACCEPTED)],
  ];

  it.each(ILLNESSES)(
    'and %s for three hours costs no entry, and is asked at most once in two seconds',
    async (_name, answer) => {
      gateway = await UploadBench.open();
      await gateway.commit(numbered('alarm', 12), { class: 'alarm' });
      await gateway.commit(numbered('kept', 300));
      gateway.answer = (rows) => answer(rows, gateway.posts.length);
      await gateway.minutes(180);
      expect(await gateway.rejected()).toEqual([]);
      expect(gateway.mostFailuresAMinute).toBeLessThanOrEqual(31);
      gateway.answer = () => ACCEPTED;
      await gateway.minutes(1);
      await gateway.drained();
      expect(new Set(gateway.taken)).toEqual(new Set([...numbered('alarm', 12), ...numbered('kept', 300), 'live']));
    },
  );

  it('gets what it refused, alarms before all, within a minute of being well again', async () => {
    gateway = await UploadBench.open();
    gateway.answer = () => REFUSED;
    await gateway.commit(['fire'], { class: 'alarm' });
    await gateway.commit(numbered('kept', 5));
    await gateway.minutes(60, []);
    gateway.answer = () => ACCEPTED;
    await gateway.minutes(1, []);
    expect(gateway.outbox.status()).toMatchObject({ heldEntries: 0 });
    expect(gateway.taken).toEqual(expect.arrayContaining(['fire', ...numbered('kept', 5)]));
  });

  it('and refuses some entries, and others later, costs none: what it takes at last brings all of them back', async () => {
    gateway = await UploadBench.open();
    let refuse = true;
    gateway.answer = (rows) => (refuse && has(rows, 'odd') ? REFUSED : ACCEPTED);
    await gateway.commit(['odd1', 'odd2']);
    await gateway.minutes(15);
    // These wait for an hour now, the next one for ten minutes.
    await gateway.commit(['odd3']);
    await gateway.minutes(9);
    refuse = false;
    expect(gateway.deadLetters()).toEqual(['odd1', 'odd2', 'odd3']);
    await gateway.minutes(3);
    expect(gateway.taken).toEqual(expect.arrayContaining(['odd1', 'odd2', 'odd3']));
    expect([await gateway.rejected(), gateway.waiting]).toEqual([[], 0]);
  });
});

describe('an alarm', () => {
  it('waits seconds and not minutes for an upload that does not end, of which half goes after it', async () => {
    gateway = await UploadBench.open();
    gateway.tookMs = (rows) => (rows.keys.length > 300 ? 600_000 : 0);
    const { clock } = gateway.fixture;
    await gateway.commit(numbered('k', 600));
    await clock.advance(60_000);
    expect(gateway.posts).toEqual([]);
    await gateway.commit(['fire'], { class: 'alarm' });
    await clock.advance(5_000);
    expect(gateway.posts.map(({ keys, answer }) => [keys[0], keys.length, answer.kind])).toEqual([
      ['k0', 600, 'busy'],
      ['fire', 1, 'accepted'],
      ['k0', 300, 'accepted'],
      ['k300', 300, 'accepted'],
    ]);
  });

  it('that overtakes an upload of a stop goes, and the rest after it', async () => {
    gateway = await UploadBench.open();
    await gateway.stop();
    gateway.tookMs = (rows) => (rows.keys.length > 300 ? 20_000 : 0);
    await gateway.commit(numbered('k', 400));
    const drained = gateway.uploader.drain(new AbortController().signal);
    await gateway.commit(['fire'], { class: 'alarm' });
    await gateway.fixture.until(drained);
    expect(gateway.taken).toEqual(['fire', ...numbered('k', 400)]);
  });

  it('goes next when an upload was ended for it, whose turn it ever was', async () => {
    gateway = await UploadBench.open({ order: 'oldest-first' });
    gateway.tookMs = (rows) => (has(rows, 'slow') ? 60_000 : 0);
    gateway.answer = (rows) => (has(rows, 'slow') ? CUT : ACCEPTED);
    await gateway.commit(['slow1']);
    await gateway.fixture.clock.advance(65_000);
    await gateway.commit(['slow2']);
    await gateway.commit(['fire'], { class: 'alarm' });
    await gateway.fixture.clock.advance(50_000);
    expect(gateway.taken).toEqual(['fire']);
  });

  it.each<[string, UploadAnswer]>([
    ['503', { kind: 'busy', status: 503, text: '' }],
    ['a page of somebody else', { kind: 'portal', status: 403 }],
  ])('has its turn while others are answered with %s, after one was refused', async (_name, answer) => {
    gateway = await UploadBench.open({ order: 'oldest-first' });
    gateway.answer = (rows) => (has(rows, 'bad') ? REFUSED : has(rows, 'ill') ? answer : ACCEPTED);
    await gateway.commit(['bad']);
    await gateway.commit(['ill']);
    await gateway.commit(['fire'], { class: 'alarm' });
    await gateway.minutes(6, []);
    expect(gateway.taken).toEqual(['fire']);
  });

  it('ends no upload that may still be answered in its time, nor one for an alarm that is in quarantine', async () => {
    gateway = await UploadBench.open();
    gateway.answer = (rows) => (has(rows, 'bad') ? REFUSED : ACCEPTED);
    await gateway.commit(['bad'], { class: 'alarm' });
    await gateway.minutes(1);
    gateway.tookMs = (rows) => (rows.keys.length > 300 ? 60_000 : rows.keys.length > 50 ? 14_000 : 0);
    await gateway.commit(numbered('k', 600));
    await gateway.minutes(2, []);
    expect(gateway.taken).toContain('k599');
    await gateway.commit(numbered('n', 100));
    await gateway.commit(['fire'], { class: 'alarm' });
    await gateway.minutes(1, []);
    expect(gateway.posts.filter(({ answer }) => answer.kind === 'busy')).toEqual([]);
    expect(gateway.taken).toEqual(expect.arrayContaining(['n99', 'fire']));
  });
});

describe('the size of a post', () => {
  it('meets a limit of data points a second, and everything drains', async () => {
    gateway = await UploadBench.open();
    let tokens = 100;
    let filledMs = 0;
    gateway.answer = (rows, atMs) => {
      tokens = Math.min(100, tokens + ((atMs - filledMs) * 100) / 1_000);
      filledMs = atMs;
      if (rows.keys.length > tokens) return SILENT;
      tokens -= rows.keys.length;
      return ACCEPTED;
    };
    await gateway.commit(numbered('k', 2_000));
    await gateway.drained();
  });

  it('is small behind a proxy that takes little, and the posts are few all the same; an alarm waits for none of them', async () => {
    gateway = await UploadBench.open();
    gateway.answer = (rows) => (rows.keys.length > 15 ? TOO_LARGE : ACCEPTED);
    await gateway.commit(numbered('k', 2_000));
    await gateway.minutes(1, []);
    for (let alarm = 0; alarm < 5; alarm += 1) {
      await gateway.commit([`fire${alarm}`], { class: 'alarm' });
      await gateway.fixture.clock.advance(100);
      expect(gateway.taken).toContain(`fire${alarm}`);
    }
    await gateway.drained();
    const sentAt = gateway.posts.map(({ atMs }) => atMs);
    expect(
      Math.max(...sentAt.map((from) => sentAt.filter((at) => at >= from && at < from + 60_000).length)),
    ).toBeLessThanOrEqual(70);
  });

  it.each([
    ['six posts a minute', 6, 60_000],
    ['sixty posts an hour', 60, 3_600_000],
  ])(
    'grows within a limit of %s, refilled steadily, until all that is read gets through, the past beside the present',
    async (_name, posts, perMs) => {
      gateway = await UploadBench.open();
      let tokens = posts;
      let filledMs = 0;
      gateway.answer = (_rows, atMs) => {
        tokens = Math.min(posts, tokens + ((atMs - filledMs) * posts) / perMs);
        filledMs = atMs;
        if (tokens < 1) return SILENT;
        tokens -= 1;
        return ACCEPTED;
      };
      await gateway.commit(numbered('kept', 3_000));
      for (let step = 0; step < 1_440; step += 1) {
        await gateway.commit([`live${step}`]);
        await gateway.fixture.clock.advance(5_000);
      }
      expect(gateway.outbox.status()).toMatchObject({ rejected: 0, dropped: 0 });
      expect(gateway.outbox.status().heldEntries).toBeLessThan((2 * perMs) / posts / 5_000 + 10);
      expect(gateway.mostFailuresAMinute).toBeLessThanOrEqual(31);
    },
  );

  it('is remembered: a limit of its own is met without failing again and again', async () => {
    gateway = await UploadBench.open();
    gateway.answer = (rows) => (rows.keys.length > 100 ? TOO_LARGE : ACCEPTED);
    await gateway.commit(numbered('k', 2_000));
    await gateway.minutes(2, []);
    await gateway.commit(numbered('k', 2_000));
    await gateway.minutes(2, []);
    const failed = gateway.posts.filter(({ answer }) => answer.kind !== 'accepted');
    expect(gateway.outbox.status().heldEntries).toBe(0);
    expect(failed.length).toBeLessThan(15);
  });

  it('grows again when the line is quick again', async () => {
    gateway = await UploadBench.open();
    gateway.answer = (rows) => (rows.keys.length > 10 ? CUT : ACCEPTED);
    await gateway.commit(numbered('k', 500));
    await gateway.minutes(30, []);
    expect(gateway.outbox.status().heldEntries).toBe(0);
    gateway.answer = () => ACCEPTED;
    for (let round = 0; round < 3; round += 1) {
      await gateway.commit(numbered('k', 2_000));
      await gateway.minutes(2, []);
    }
    expect(Math.max(...gateway.posts.slice(-20).map(({ keys }) => keys.length))).toBeGreaterThanOrEqual(1_000);
  });
});
