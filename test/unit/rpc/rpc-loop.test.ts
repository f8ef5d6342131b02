import { beforeEach, describe, expect, it } from 'vitest';
import { AgentError } from '../../../src/errors/agent-error.ts';
import { silentLog } from '../../../src/host/log.ts';
import type { RpcRequest } from '../../../src/platform/device-api.ts';
import { PlatformError } from '../../../src/platform/platform-error.ts';
import { MethodTable } from '../../../src/rpc/method-table.ts';
import { RpcExecutor } from '../../../src/rpc/rpc-executor.ts';
import { RpcJournal } from '../../../src/rpc/rpc-journal.ts';
import { runRpcLoop } from '../../../src/rpc/rpc-loop.ts';
import type { JsonValue } from '../../../src/values/json.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { MemoryJournalStorage } from '../../support/memory-journal-storage.ts';

let clock: FakeClock;
let stop: AbortController;
/** Messages that the platform hands out; `silence` answers as late as asked, `dead` never. */
let polls: (RpcRequest | 'silence' | 'at-once' | 'dead' | Error)[];
let happened: string[];
let replyFaults: (Error | undefined)[];
let restarts: number;
/** How long the slow methods take. */
let slowMs: number;
let requestsHandled: number;
/** Calls that end only when they are given up. */
let replyHangs: number;
let replyTried: () => void;
/** How much had happened at each contact. */
let contacts: number[];
/** Requests whose reply counts as taken. */
let noted: number[];

const busy = new AgentError('platform/busy', 'busy', { recovery: 'retry' });
const refused = new AgentError('platform/refused', 'refused', { recovery: 'drop' });
const unauthorised = new AgentError('platform/unauthorised', 'unauthorised', { recovery: 'hold' });

const deviceApi = {
  pollRpc: async (timeoutMs: number, signal: AbortSignal): Promise<RpcRequest | undefined> => {
    const next = polls.shift() ?? 'silence';
    happened.push(`poll@${Math.round(clock.monotonicMs())}`);
    if (next instanceof Error) throw next;
    if (next === 'at-once') return undefined;
    if (next === 'silence') return void (await clock.sleep(timeoutMs, signal));
    if (next === 'dead') return await new Promise(() => {});
    return next;
  },
  failRpc: async (id: number, text: string): Promise<void> => {
    happened.push(`reply ${id} in words: ${text}`);
  },
  replyRpc: async (id: number, reply: JsonValue, signal: AbortSignal): Promise<void> => {
    if (replyHangs > 0 && replyFaults.length === 0) {
      replyHangs -= 1;
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
      happened.push(`reply ${id} given up`);
      throw busy;
    }
    const fault = replyFaults.shift();
    replyTried();
    happened.push(`reply ${id} ${fault === undefined ? JSON.stringify(reply) : 'fails'}`);
    if (fault !== undefined) throw fault;
  },
};

class NotingExecutor extends RpcExecutor {
  override answered(request: RpcRequest): void {
    noted.push(request.id);
    super.answered(request);
  }
}

async function slowly(): Promise<JsonValue> {
  requestsHandled += 1;
  await clock.sleep(slowMs, new AbortController().signal);
  return requestsHandled;
}

function noMore(): void {
  polls = [];
}

function countRestart(): void {
  restarts += 1;
}

async function run(): Promise<void> {
  const journal = await RpcJournal.open({ file: new MemoryJournalStorage().file, clock, log: silentLog });
  const echo = {
    name: 'echo',
    description: '',
    params: {},
    effect: 'read' as const,
    moves: false,
    deadlineMs: 1_000,
    run: (params: JsonValue) => {
      requestsHandled += 1;
      return params;
    },
  };
  const restart = { ...echo, name: 'restart', effect: 'move' as const, afterReply: countRestart };
  const slow = { ...echo, name: 'slow', effect: 'read' as const, deadlineMs: 600_000, run: () => slowly() };
  const slowMove = { ...slow, name: 'slowMove', effect: 'move' as const };
  const methods = new MethodTable({
    clock,
    methods: [echo, restart, slow, slowMove],
    permissions: {},
    locked: () => false,
  });
  const executor = new NotingExecutor({ journal, methods, clock, log: silentLog });
  const loop = runRpcLoop(
    { deviceApi, executor, clock, log: silentLog, onContact: () => contacts.push(happened.length) },
    stop.signal,
  );
  await clock.advance(0);
  await loop;
}

const echo = (id: number, params: JsonValue = id): RpcRequest => ({ id, method: 'echo', params });

beforeEach(() => {
  clock = new FakeClock({ monotonicMs: 0 });
  stop = new AbortController();
  polls = [];
  happened = [];
  replyFaults = [];
  replyHangs = 0;
  replyTried = () => {};
  contacts = [];
  restarts = 0;
  slowMs = 0;
  requestsHandled = 0;
  noted = [];
});

describe('the RPC loop', () => {
  it('answers before it polls again, and polls again at once', async () => {
    polls = [echo(0), echo(1)];
    void run();
    await clock.advance(0);
    expect(happened).toEqual(['poll@0', 'reply 0 {"result":0}', 'poll@0', 'reply 1 {"result":1}', 'poll@0']);
  });

  it('takes a request for contact, and neither silence nor a fault', async () => {
    polls = ['silence', echo(0), 'at-once', busy, echo(1)];
    void run();
    await clock.advance(60_000);
    expect(contacts).toEqual([2, 6]);
  });

  it('polls again at once after a silent poll of 20 to 25 s, and then longer ones', async () => {
    void run();
    await clock.advance(90_000);
    expect(happened).toEqual(['poll@0', 'poll@22500', 'poll@82500']);
  });

  it('gives up a poll that never ends, within its time and 30 s', async () => {
    polls = ['dead'];
    void run();
    await clock.advance(22_500 + 30_000 + 1_000);
    expect(happened.length).toBe(2);
  });

  it('waits longer after each failure, and not at all after a success', async () => {
    polls = [busy, busy, busy, echo(0)];
    void run();
    await clock.advance(10_000);
    expect(happened).toEqual(['poll@0', 'poll@550', 'poll@1650', 'poll@3850', 'reply 0 {"result":0}', 'poll@3850']);
  });

  it('waits as long as the server asks, of which it believes five minutes, and a share more', async () => {
    polls = [
      new PlatformError('busy', 'later', { retryAfterMs: 120_000 }),
      new PlatformError('busy', 'much later', { retryAfterMs: 3_600_000 }),
    ];
    void run();
    await clock.advance(500_000);
    expect(happened.slice(0, 3)).toEqual(['poll@0', 'poll@135000', 'poll@472500']);
  });

  it('asks once a minute at most while the token is refused', async () => {
    polls = Array(100).fill(unauthorised);
    void run();
    await clock.advance(600_000);
    expect(happened.length).toBeLessThanOrEqual(11);
  });

  it('slows down for a server that says "nothing" without delay', async () => {
    polls = Array(10_000).fill('at-once');
    void run();
    await clock.advance(60_000);
    expect(happened.length).toBeLessThan(30);
  });

  it('handles no more than 100 requests a second of an endless flood, and slows down for repeats', async () => {
    polls = Array.from({ length: 5_000 }, (_, id) => echo(id));
    void run();
    await clock.advance(5_000);
    expect(requestsHandled).toBeGreaterThan(500);
    expect(requestsHandled).toBeLessThanOrEqual(701);
    polls = Array(10_000).fill(echo(9_999));
    const before = happened.length;
    await clock.advance(10_000);
    expect(happened.length - before).toBeLessThan(40);
  });

  it('tries a reply again that the platform cannot take now', async () => {
    polls = [echo(0)];
    replyFaults = [busy, busy];
    void run();
    await clock.advance(2_000);
    expect(happened.filter((what) => what.startsWith('reply'))).toEqual([
      'reply 0 fails',
      'reply 0 fails',
      'reply 0 {"result":0}',
    ]);
  });

  it('goes back to polling when a reply is never taken, and answers the next hand-out', async () => {
    polls = [echo(0)];
    replyFaults = Array(1_000).fill(busy);
    void run();
    await clock.advance(26_000);
    expect(happened.filter((what) => what === 'reply 0 fails').length).toBeLessThan(20);
    replyFaults = [];
    polls = [echo(0)];
    await clock.advance(60_000);
    expect(happened.filter((what) => what.endsWith('{"result":0}')).length).toBe(1);
  });

  it.each<[string, (RpcRequest | 'silence' | 'at-once' | 'dead' | Error)[]]>([
    ['a poll that failed', [busy]],
    ['a poll that was cut', ['at-once']],
    ['a poll that never ended', ['dead']],
  ])(
    'does not give the old answer to what may be a new command after %s, and moves for the one after',
    async (_, between) => {
      const restart = (id: number): RpcRequest => ({ id, method: 'restart', params: {} });
      polls = [restart(0), ...between, restart(0), restart(1)];
      // Not taken: of a platform that is the same one, the next would be a repeat, and get the old answer.
      replyFaults = [refused, refused];
      void run();
      await clock.advance(120_000);
      expect(happened.filter((what) => what.startsWith('reply') && !what.endsWith('fails'))).toEqual([
        expect.stringContaining('reply 0 {"error":{"code":"outcome-unknown"'),
        expect.stringContaining('reply 1 {"result"'),
      ]);
      expect(restarts).toBe(2);
    },
  );

  it('takes a poll that brought nothing in its whole time for no sign of a restart', async () => {
    const restart = { id: 0, method: 'restart', params: {} };
    polls = [restart, 'silence', restart];
    replyFaults = [refused, refused];
    void run();
    await clock.advance(30_000);
    expect(happened.filter((what) => what.startsWith('reply 0')).at(-1)).toContain('{"result"');
    expect(restarts).toBe(1);
  });

  it('takes a refused reply for no sign of a restart', async () => {
    const restart = { id: 0, method: 'restart', params: {} };
    polls = [restart, restart];
    replyFaults = [refused, refused];
    void run();
    await clock.advance(1_000);
    expect(happened.filter((what) => what.startsWith('reply')).at(-1)).toContain('{"result"');
    expect(restarts).toBe(1);
  });

  it('takes a reply for taken only when the platform has taken it', async () => {
    polls = [echo(0), 'silence', echo(1)];
    replyFaults = [...Array(1_000).fill(busy)];
    void run();
    await clock.advance(4_000);
    expect(noted).toEqual([]);
    replyFaults = [];
    await clock.advance(60_000);
    expect(noted).toEqual([1]);
  });

  it('tries a reply for 3 s, and then at the next hand-out', async () => {
    polls = Array(2).fill({ id: 0, method: 'slowMove', params: {} });
    replyFaults = Array(6).fill(busy);
    const tried: number[] = [];
    replyTried = () => tried.push(Math.round(clock.monotonicMs()));
    void run();
    await clock.advance(20_000);
    expect(tried).toEqual([0, 110, 330, 770, 1_650, 1_650, 1_760]);
    expect([happened.at(6), happened.at(-2), requestsHandled]).toEqual(['poll@1650', 'reply 0 {"result":1}', 1]);
  });

  it('does not give the answer to what asks after replies that failed for too long', async () => {
    polls = Array(1_000).fill({ id: 0, method: 'slowMove', params: {} });
    replyFaults = Array(1_000).fill(busy);
    void run();
    await clock.advance(60_000);
    replyFaults = [];
    replyTried = noMore;
    await clock.advance(60_000);
    const said = happened.filter((what) => what.startsWith('reply') && !what.endsWith('fails'));
    expect([said, requestsHandled]).toEqual([[expect.stringContaining('outcome-unknown')], 1]);
  });

  it('sends no reply to what may have the id after the pause that was asked for', async () => {
    const restart = { id: 0, method: 'restart', params: {} };
    polls = [restart, echo(0, 'new')];
    replyFaults = [new PlatformError('busy', 'later', { retryAfterMs: 60_000 })];
    void run();
    await clock.advance(70_000);
    expect(happened.slice(0, 4)).toEqual(['poll@0', 'reply 0 fails', 'poll@60000', 'reply 0 {"result":"new"}']);
  });

  it.each([
    [0, ['reply 0 given up', 'poll@30000']],
    [1, ['reply 0 fails', 'reply 0 given up', 'poll@3000']],
  ])('sends no reply in a turn that comes too late, with %i failed before it', async (failed, then) => {
    polls = [echo(0)];
    replyFaults = Array(failed).fill(busy);
    replyHangs = 1;
    void run();
    await clock.advance(30_000);
    expect(happened.slice(1, then.length + 1)).toEqual(then);
  });

  it.each([
    [4_999, '"result"'],
    [5_000, '"outcome-unknown"'],
  ])('takes a failed reply, and %i ms until the next hand-out, for %s', async (retryAfterMs, answer) => {
    const move = { id: 0, method: 'slowMove', params: {} };
    polls = [move, move];
    replyFaults = [new PlatformError('busy', 'later', { retryAfterMs })];
    void run();
    await clock.advance(10_000);
    expect([happened.at(3), requestsHandled]).toEqual([expect.stringContaining(answer), 1]);
  });

  describe('while a method takes minutes', () => {
    const slow = (id: number, method = 'slowMove'): RpcRequest => ({ id, method, params: {} });
    const replies = (): string[] => happened.filter((what) => what.startsWith('reply'));

    it.each(['slow', 'slowMove'])(
      'asks whether %s is still waited for, and answers its last hand-out',
      async (method) => {
        slowMs = 300_000;
        polls = Array(1_000).fill(slow(0, method));
        replyTried = noMore;
        void run();
        await clock.advance(299_000);
        expect([happened.length >= 12, replies()]).toEqual([true, []]);
        await clock.advance(20_000);
        expect([replies(), requestsHandled]).toEqual([['reply 0 {"result":1}'], 1]);
      },
    );

    it('answers another command meanwhile, and nobody with what is too late', async () => {
      slowMs = 60_000;
      polls = [slow(0), echo(0, 'another life')];
      void run();
      await clock.advance(120_000);
      expect(replies()).toEqual(['reply 0 {"result":"another life"}']);
    });

    it('does not give its answer to what may be the same command of another life', async () => {
      slowMs = 60_000;
      polls = [slow(0), busy, ...Array(100).fill(slow(0))];
      replyTried = noMore;
      void run();
      await clock.advance(120_000);
      expect(replies()).toEqual([expect.stringContaining('outcome-unknown')]);
      expect(requestsHandled).toBe(1);
    });

    it('ends, when told to, only after it', async () => {
      slowMs = 60_000;
      polls = [slow(0)];
      let isOver = false;
      const loop = run().then(() => (isOver = true));
      await clock.advance(30_000);
      stop.abort();
      await clock.advance(29_000);
      expect(isOver).toBe(false);
      await clock.advance(1_000);
      await loop;
    });
  });

  it.each([unauthorised, new Error('a fault of the program')])('does not try a reply again after %s', async (fault) => {
    polls = [echo(0), echo(1)];
    replyFaults = [fault];
    void run();
    await clock.advance(0);
    expect([happened.slice(1, 4), noted]).toEqual([['reply 0 fails', 'poll@0', 'reply 1 {"result":1}'], [1]]);
  });

  it('replaces a reply that the platform refuses by an error', async () => {
    polls = [echo(0)];
    replyFaults = [refused];
    void run();
    await clock.advance(100);
    expect(happened).toContain(
      'reply 0 {"error":{"code":"reply-refused","message":"the platform did not take the reply"}}',
    );
  });

  it('restarts at once after a reply that was taken, and 20 s after one that failed, as the next hand-out may bring it home', async () => {
    polls = [{ id: 5, method: 'restart', params: {} }];
    void run();
    await clock.advance(0);
    expect(restarts).toBe(1);
    polls = ['silence', { id: 6, method: 'restart', params: {} }];
    replyFaults = Array(1_000).fill(busy);
    const gaveUpMs = 22_500 + 60_000 + 1_650;
    await clock.advance(gaveUpMs + 19_900);
    expect([happened.filter((what) => what === 'reply 6 fails').length, restarts]).toEqual([5, 1]);
    await clock.advance(200);
    expect(restarts).toBe(2);
  });

  it('restarts after the reply, once, also when the reply fails and the request comes again', async () => {
    polls = [{ id: 5, method: 'restart', params: {} }];
    replyFaults = Array(1_000).fill(busy);
    void run();
    await clock.advance(26_000);
    expect(restarts).toBe(1);
    replyFaults = [];
    polls = [{ id: 5, method: 'restart', params: {} }];
    await clock.advance(60_000);
    expect([restarts, happened.some((what) => what.startsWith('reply 5 {"error":{"code":"outcome-unknown"'))]).toEqual([
      1,
      true,
    ]);
  });

  it('ends when told to', async () => {
    const loop = run();
    await clock.advance(1_000);
    stop.abort();
    await clock.advance(0);
    await loop;
  });
});
