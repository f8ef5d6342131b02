/** Pace of requests that the platform answers with a fault: not more than one in two seconds, by all loops together. */
import { describe, expect, it } from 'vitest';
import { FAILURE_EVERY_MS, HostPace, type Way } from '../../../src/platform/host-pace.ts';
import { PlatformError } from '../../../src/platform/platform-error.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const LANES: readonly Way[] = ['upload', 'calls', 'attribute-poll', 'rpc-poll', 'download'];
const MINUTE_MS = 60_000;

function given(answer: (lane: Way, request: number) => boolean | Error) {
  const clock = new FakeClock({ monotonicMs: 0 });
  const pace = new HostPace({ clock });
  const stop = new AbortController();
  const asked: { readonly lane: Way; readonly atMs: number; readonly good: boolean }[] = [];
  const ask = (lane: Way, signal = stop.signal): Promise<boolean> =>
    pace.paceRequest(
      lane,
      {
        faultIn: (value) => (value ? undefined : 'answered'),
        work: async () => {
          const said = answer(lane, asked.length);
          asked.push({ lane, atMs: clock.monotonicMs(), good: said === true });
          if (said instanceof Error) throw said;
          return said;
        },
      },
      signal,
    );
  /** A loop without any manners of its own. */
  const hammer = async (lane: Way): Promise<void> => {
    while (!stop.signal.aborted) {
      await ask(lane).catch(() => {});
      await clock.sleep(10, stop.signal);
    }
  };
  return { clock, stop, asked, ask, hammer };
}

const faulty = (asked: readonly { readonly good: boolean }[]): number => asked.filter(({ good }) => !good).length;

describe.each<[string, () => boolean | Error]>([
  ['answers with a fault', () => false],
  ['is not reached', () => new Error('no network')],
])('a host that %s', (_what, answer) => {
  it('hears from all lanes together once in two seconds', async () => {
    const { clock, stop, asked, hammer } = given(answer);
    const running = Promise.all(LANES.map(hammer));
    await clock.advance(10 * MINUTE_MS);
    // Each lane may learn of it by itself, and three may ask at once after a quiet time; from then on they take turns.
    expect(asked.length).toBeLessThanOrEqual((10 * MINUTE_MS) / FAILURE_EVERY_MS + LANES.length + 2);
    expect(asked.length).toBeGreaterThan(230);
    expect(new Set(asked.map(({ lane }) => lane)).size).toBe(LANES.length);
    stop.abort();
    await clock.advance(0);
    await running;
    expect(clock.pending).toBe(0);
  });
});

it.each<[string, boolean | Error]>([
  ['a fault', false],
  ['a gateway that reaches nobody', new PlatformError('busy', 'gone', { status: 504 })],
])(
  'a host that answers all lanes now well and now with %s hears no more than one in two seconds of them',
  async (_what, bad) => {
    let seed = 7;
    const { clock, stop, asked, hammer } = given(() => {
      seed = (seed * 48_271) % 2_147_483_647;
      return seed % 2 === 0 ? true : bad;
    });
    const running = Promise.all(LANES.map(hammer));
    await clock.advance(10 * MINUTE_MS);
    expect(faulty(asked)).toBeLessThanOrEqual(300);
    // Requests that it answers well cost nobody a turn.
    expect(asked.length - faulty(asked)).toBeGreaterThan(200);
    stop.abort();
    await clock.advance(0);
    await running;
  },
);

it('nobody waits for ever', async () => {
  const { clock, stop, asked, ask, hammer } = given(() => false);
  const running = Promise.all((['upload', 'rpc-poll', 'calls', 'attribute-poll'] as const).map(hammer));
  await clock.advance(MINUTE_MS);
  for (let call = 0; call < 3; call += 1) await Promise.all([ask('replies'), clock.advance(20_000)]);
  const askedAtMs = clock.monotonicMs();
  const reply = ask('replies');
  await clock.advance(4 * FAILURE_EVERY_MS);
  await reply;
  expect(asked.some(({ lane, atMs }) => lane === 'replies' && atMs >= askedAtMs)).toBe(true);
  await clock.advance(MINUTE_MS);
  const last = asked.filter(({ atMs }) => atMs > clock.monotonicMs() - MINUTE_MS);
  expect(new Set(last.map(({ lane }) => lane))).toEqual(new Set(['upload', 'rpc-poll', 'calls', 'attribute-poll']));
  stop.abort();
  await clock.advance(0);
  await running;
});

it('a reply does not wait for other calls that are refused', async () => {
  const { clock, asked, ask, hammer, stop } = given((lane) => lane === 'replies');
  const running = hammer('calls');
  await clock.advance(MINUTE_MS);
  const before = asked.length;
  for (let call = 0; call < 20; call += 1) await ask('replies');
  expect(asked.length - before).toBe(20);
  stop.abort();
  await clock.advance(0);
  await running;
});

it('a host that takes every third request hears no more faults for it', async () => {
  const { clock, stop, asked, hammer } = given((_lane, request) => request % 3 === 0);
  const running = hammer('upload');
  await clock.advance(10 * MINUTE_MS);
  expect(faulty(asked)).toBeLessThanOrEqual(303);
  stop.abort();
  await clock.advance(0);
  await running;
});

it('a lane that works does not wait for one that is refused, and one that was refused goes on at once when it works again', async () => {
  let ill = true;
  const { clock, asked, ask, hammer, stop } = given((lane) => lane !== 'upload' || !ill);
  const running = hammer('upload');
  await clock.advance(MINUTE_MS);
  const before = asked.length;
  for (let call = 0; call < 50; call += 1) await ask('rpc-poll');
  expect(asked.length - before).toBe(50);
  ill = false;
  await clock.advance(4_000);
  const well = asked.length;
  await clock.advance(1_000);
  expect(asked.length - well).toBeGreaterThan(50);
  stop.abort();
  await clock.advance(0);
  await running;
});

it('an outage costs a lane no turn that another lane knows to be over', async () => {
  let gone = true;
  const { clock, asked, ask, stop } = given(() => (gone ? new Error('no network') : true));
  const all = () => Promise.all(LANES.map((lane) => ask(lane).catch(() => {})));
  for (let cut = 0; cut < 5; cut += 1) {
    const asking = all();
    await clock.advance(30_000);
    await asking;
  }
  gone = false;
  const before = asked.length;
  const back = all();
  await clock.advance(0);
  await back;
  expect(asked.slice(before).map(({ lane }) => lane)).toHaveLength(LANES.length);
  stop.abort();
  expect(clock.pending).toBe(0);
});

it('a host that is reached and refuses one lane goes on refusing it once in two seconds', async () => {
  const { clock, asked, ask, hammer, stop } = given((lane) => lane !== 'upload');
  const running = hammer('upload');
  const well = works();
  await clock.advance(MINUTE_MS);
  expect(faulty(asked)).toBeLessThanOrEqual(34);
  stop.abort();
  await clock.advance(100);
  await Promise.all([running, well]);

  async function works(): Promise<void> {
    while (!stop.signal.aborted) {
      await ask('calls');
      await clock.sleep(100, stop.signal);
    }
  }
});

it.each([502, 503, 504])(
  'a proxy that answers %i for a server that is gone costs no turn once it is back',
  async (status) => {
    let gone = true;
    const { clock, asked, ask } = given(() => (gone ? new PlatformError('busy', 'gone', { status }) : true));
    const first = Promise.all(LANES.map((lane) => ask(lane).catch(() => {})));
    await clock.advance(0);
    await first;
    gone = false;
    const back = Promise.all([...LANES, 'calls' as const, 'calls' as const].map((lane) => ask(lane)));
    await clock.advance(0);
    await back;
    expect(asked).toHaveLength(2 * LANES.length + 2);
  },
);

it('a lane that works again keeps none of its callers waiting', async () => {
  let ill = true;
  const { clock, asked, ask } = given(() => !ill);
  for (let call = 0; call < 4; call += 1) void ask('calls');
  await clock.advance(0);
  ill = false;
  const later = Promise.all(Array.from({ length: 6 }, () => ask('calls')));
  await clock.advance(FAILURE_EVERY_MS);
  await later;
  expect(asked).toHaveLength(10);
});

it('a caller that gives up gives its turn to the next', async () => {
  const { clock, asked, ask } = given(() => false);
  for (let call = 0; call < 3; call += 1) await ask('calls');
  const impatient = new AbortController();
  const given100 = Promise.all(Array.from({ length: 100 }, () => ask('calls', impatient.signal)));
  await clock.advance(0);
  impatient.abort();
  await given100;
  const before = asked.length;
  const patient = ask('calls');
  await clock.advance(FAILURE_EVERY_MS);
  await patient;
  expect(asked.length - before).toBe(1);
});

it('a request that was answered with a fault is one, also where the fault is thrown', async () => {
  const { clock, asked, hammer, stop, ask } = given((lane) =>
    lane === 'download' ? new PlatformError('not-found', 'none', { status: 404 }) : true,
  );
  const running = hammer('download');
  const polling = (async () => {
    while (!stop.signal.aborted) {
      await ask('rpc-poll');
      await clock.sleep(100, stop.signal);
    }
  })();
  await clock.advance(MINUTE_MS);
  expect(faulty(asked)).toBeLessThanOrEqual(34);
  stop.abort();
  await clock.advance(100);
  await Promise.all([running, polling]);
});

it('a few faults after a quiet time cost no wait: a token is changed over with them', async () => {
  const { clock, asked, ask } = given(() => false);
  for (let call = 0; call < 3; call += 1) await ask('calls');
  expect(asked.map(({ atMs }) => atMs)).toEqual([0, 0, 0]);
  const fourth = ask('calls');
  await clock.advance(FAILURE_EVERY_MS);
  await fourth;
  expect(asked.at(-1)?.atMs).toBe(FAILURE_EVERY_MS);
});

it('what the agent ended itself is no fault', async () => {
  const { clock, asked, ask, stop } = given(() => new Error('aborted'));
  stop.abort();
  for (let call = 0; call < 20; call += 1) await ask('calls').catch(() => {});
  expect(asked).toHaveLength(20);
  expect(clock.pending).toBe(0);
});
