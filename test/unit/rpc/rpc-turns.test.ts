/** Commands of a device whose poll stands in turns: a platform that was not polled may have restarted unseen. */
import { expect, it } from 'vitest';
import { silentLog } from '../../../src/host/log.ts';
import { PollTurns } from '../../../src/platform/poll-turns.ts';
import { MethodTable } from '../../../src/rpc/method-table.ts';
import { RpcExecutor } from '../../../src/rpc/rpc-executor.ts';
import { RpcJournal } from '../../../src/rpc/rpc-journal.ts';
import { runRpcLoop } from '../../../src/rpc/rpc-loop.ts';
import type { JsonValue } from '../../../src/values/json.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { MemoryJournalStorage } from '../../support/memory-journal-storage.ts';

/** One movement of `movementMs`, whose request is handed out until it is answered, beside another device that takes its turn in between. */
async function answers(
  movementMs: number,
  givenAtMs: number,
): Promise<{ readonly replies: readonly JsonValue[]; readonly moved: number }> {
  const clock = new FakeClock({ jitter: 0 });
  const stop = new AbortController();
  const turns = new PollTurns({ clock, max: 1 });
  const replies: JsonValue[] = [];
  let moved = 0;
  const move = async (): Promise<JsonValue> => {
    moved += 1;
    await clock.sleep(movementMs, stop.signal);
    return 'done';
  };
  const methods = new MethodTable({
    clock,
    permissions: {},
    locked: () => false,
    methods: [
      { name: 'move', description: '', params: {}, effect: 'move', moves: true, deadlineMs: 60_000, run: move },
    ],
  });
  const journal = await RpcJournal.open({ file: new MemoryJournalStorage().file, clock, log: silentLog });
  const executor = new RpcExecutor({ journal, methods, clock, log: silentLog });
  const isGiven = (): boolean => clock.monotonicMs() >= 10_000 + givenAtMs && replies.length === 0;
  const deviceApi = {
    pollRpc: async (timeoutMs: number, signal: AbortSignal) => {
      const untilMs = clock.monotonicMs() + timeoutMs;
      while (!isGiven() && clock.monotonicMs() < untilMs && !signal.aborted) await clock.sleep(100, signal);
      return isGiven() ? { id: 0, method: 'move', params: null } : undefined;
    },
    replyRpc: async (_id: number, reply: JsonValue) => void replies.push(reply),
    failRpc: async () => {},
  };
  const running = runRpcLoop({ executor, deviceApi, clock, log: silentLog, place: turns.place('rpc') }, stop.signal);
  const other = takeTurns(turns, clock, stop.signal);
  await clock.advance(120_000);
  stop.abort();
  await clock.advance(0);
  await Promise.all([running, other]);
  await journal.close();
  return { replies, moved };
}

it('a movement that outlives its turn by seconds keeps the turn, and its reply comes home', async () => {
  expect(await answers(5_000, 18_500)).toEqual({ replies: [{ result: 'done' }], moved: 1 });
});

it('a movement that takes longer than the turn waits for is answered as one of unknown outcome, and is not done again', async () => {
  const { replies, moved } = await answers(30_000, 18_500);
  expect(moved).toBe(1);
  expect(replies).toMatchObject([{ error: { code: 'outcome-unknown' } }]);
});

/** Another device, to which nothing is ever said. */
async function takeTurns(turns: PollTurns, clock: FakeClock, signal: AbortSignal): Promise<void> {
  const place = turns.place('rpc');
  while (!signal.aborted) {
    const turn = await place.enter({ timeoutMs: 20_000 }, signal);
    if (turn !== undefined) await clock.sleep(turn.timeoutMs, signal);
  }
  place.leave();
}
