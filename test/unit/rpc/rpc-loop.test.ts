import { beforeEach, describe, expect, it } from 'vitest';
import { AgentError } from '../../../src/errors.ts';
import type { JsonValue } from '../../../src/host/json.ts';
import { silentLog } from '../../../src/host/log.ts';
import type { RpcRequest } from '../../../src/platform/device-api.ts';
import { MethodTable } from '../../../src/rpc/method-table.ts';
import { RpcExecutor } from '../../../src/rpc/rpc-executor.ts';
import { RpcJournal } from '../../../src/rpc/rpc-journal.ts';
import { runRpcLoop } from '../../../src/rpc/rpc-loop.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { MemoryJournalStorage } from '../../support/memory-journal-storage.ts';

let clock: FakeClock;
let stop: AbortController;
/** What the platform hands out; `silence` answers as late as asked, `dead` never. */
let polls: (RpcRequest | 'silence' | 'at-once' | 'dead' | Error)[];
let happened: string[];
let replyFaults: (Error | undefined)[];
let restarts: number;
let requestsHandled: number;

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
  replyRpc: async (id: number, reply: JsonValue): Promise<void> => {
    const fault = replyFaults.shift();
    happened.push(`reply ${id} ${fault === undefined ? JSON.stringify(reply) : 'fails'}`);
    if (fault !== undefined) throw fault;
  },
};

function countRestart(): void {
  restarts += 1;
}

async function run(): Promise<void> {
  const journal = await RpcJournal.open({ storage: new MemoryJournalStorage(), clock, log: silentLog });
  const echo = {
    ...({ name: 'echo', description: '', params: {}, effect: 'read', moves: false, deadlineMs: 1_000 } as const),
    run: (params: JsonValue) => {
      requestsHandled += 1;
      return params;
    },
  };
  const restart = { ...echo, name: 'restart', effect: 'move' as const, afterReply: countRestart };
  const methods = new MethodTable({ clock, methods: [echo, restart], leaves: {}, locked: () => false });
  const executor = new RpcExecutor({ journal, methods, clock, log: silentLog });
  const loop = runRpcLoop({ deviceApi, executor, clock, log: silentLog, random: () => 0.5 }, stop.signal);
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
  restarts = 0;
  requestsHandled = 0;
});

describe('the RPC loop', () => {
  it('answers before it polls again, and polls again at once', async () => {
    polls = [echo(0), echo(1)];
    void run();
    await clock.advance(0);
    expect(happened).toEqual(['poll@0', 'reply 0 {"result":0}', 'poll@0', 'reply 1 {"result":1}', 'poll@0']);
  });

  it('polls again at once after a silent poll of 20 to 25 s', async () => {
    void run();
    await clock.advance(50_000);
    expect(happened).toEqual(['poll@0', 'poll@22500', 'poll@45000']);
  });

  it('notices a dead connection within the poll time and 10 s', async () => {
    polls = ['dead'];
    void run();
    await clock.advance(22_500 + 10_000 + 1_000);
    expect(happened.length).toBe(2);
  });

  it('waits longer after each failure, and not at all after a success', async () => {
    polls = [busy, busy, busy, echo(0)];
    void run();
    await clock.advance(10_000);
    expect(happened).toEqual(['poll@0', 'poll@550', 'poll@1650', 'poll@3850', 'reply 0 {"result":0}', 'poll@3850']);
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
    expect(happened.filter((what) => what.startsWith('reply'))).toEqual(['reply 0 fails', 'reply 0 fails', 'reply 0 {"result":0}']);
  });

  it('goes back to polling when a reply is never taken, and gives the stored one at the next hand-out', async () => {
    polls = [echo(0)];
    replyFaults = Array(1_000).fill(busy);
    void run();
    await clock.advance(26_000);
    replyFaults = [];
    polls = [echo(0)];
    await clock.advance(60_000);
    expect(happened.filter((what) => what.endsWith('{"result":0}')).length).toBe(1);
    expect(requestsHandled).toBe(1);
  });

  it('replaces a reply that the platform refuses by an error', async () => {
    polls = [echo(0)];
    replyFaults = [refused];
    void run();
    await clock.advance(100);
    expect(happened).toContain('reply 0 {"error":{"code":"reply-refused","message":"the platform did not take the reply"}}');
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
    expect([restarts, happened.some((what) => what.startsWith('reply 5 {'))]).toEqual([1, true]);
  });

  it('ends when told to', async () => {
    const loop = run();
    await clock.advance(1_000);
    stop.abort();
    await clock.advance(0);
    await loop;
  });
});
