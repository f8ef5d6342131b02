/** An actuator whose own time-out is longer than a caller waits, and what is asked for behind it. */
import { beforeEach, describe, expect, it } from 'vitest';
import { silentLog } from '../../../src/host/log.ts';
import { type Operation, operationsOn } from '../../../src/operations/operation.ts';
import { OUTPUT_OPERATIONS } from '../../../src/operations/output-operations.ts';
import type { RpcRequest } from '../../../src/platform/device-api.ts';
import { MethodTable } from '../../../src/rpc/method-table.ts';
import { RpcExecutor } from '../../../src/rpc/rpc-executor.ts';
import { RpcJournal } from '../../../src/rpc/rpc-journal.ts';
import { runRpcLoop } from '../../../src/rpc/rpc-loop.ts';
import type { JsonObject, JsonValue } from '../../../src/values/json.ts';
import { ActuatorBench, SlowActuator } from '../../support/actuator-bench.ts';
import { relaySettings } from '../../support/fake-actuator.ts';
import { MemoryJournalStorage } from '../../support/memory-journal-storage.ts';

const never = new AbortController().signal;
let bench: ActuatorBench;
let gate: SlowActuator;
let executor: RpcExecutor;
let storage: MemoryJournalStorage;
let takesMs: number;
let id: number;
/** Runs for as long as no deadline ends it. */
const program: Operation = {
  name: 'program',
  description: '',
  params: {},
  effect: 'set' as const,
  moves: true,
  deadlineMs: 600_000,
  run: () => new Promise(() => {}),
};

beforeEach(async () => {
  bench = new ActuatorBench();
  takesMs = 11_000;
  gate = new SlowActuator(bench.clock, { takesMs: (value) => (value === true ? takesMs : 0), listens: true });
  bench.drivers.gate = gate;
  await bench.open(relaySettings('gate', { deadlineMs: 120_500, idempotent: false }), relaySettings('pump'));
  await soon(bench.set('gate', false));
  await soon(bench.set('pump', true));
  storage = new MemoryJournalStorage();
  await start();
  id = 0;
});

async function soon<T>(work: Promise<T>): Promise<T> {
  await bench.clock.advance(0);
  return await work;
}

async function start(): Promise<void> {
  const { clock } = bench;
  const journal = await RpcJournal.open({ file: storage.file, clock, log: silentLog });
  const methods = new MethodTable({
    clock,
    permissions: {},
    locked: () => false,
    methods: [...operationsOn(OUTPUT_OPERATIONS, bench.control), program],
  });
  executor = new RpcExecutor({ journal, methods, clock, log: silentLog });
}

const answer = async (method: string, params: JsonValue): Promise<JsonValue> => {
  id += 1;
  return (await executor.answer({ id, method, params }, never)).reply ?? null;
};

const MOVEMENTS: readonly [string, JsonObject][] = [
  ['setActuator', { name: 'gate', value: true }],
  ['toggle', { name: 'gate' }],
  ['pulse', { name: 'gate', durationMs: 30_000 }],
];

it.each(MOVEMENTS)('%s is answered after eight seconds, and not ended in the middle', async (method, params) => {
  const answering = answer(method, params);
  await bench.clock.advance(8_000);
  expect(await answering).toMatchObject({ error: { code: 'under-way' } });
  await bench.clock.advance(2_999);
  expect([gate.told, gate.shown]).toEqual([[false, true], false]);
  await bench.clock.advance(1);
  expect([gate.shown, bench.control.state('gate').value]).toEqual([true, true]);
});

it.each(MOVEMENTS)('%s that ends in time is answered by what came of it', async (method, params) => {
  takesMs = 7_999;
  const answering = answer(method, params);
  await bench.clock.advance(7_999);
  expect(await answering).toMatchObject({ result: { name: 'gate', value: true } });
});

it('a second one that waits for its turn is given up after eight seconds, and moves nothing', async () => {
  void answer('setActuator', { name: 'gate', value: true });
  await bench.clock.advance(1_000);
  const second = answer('setActuator', { name: 'gate', value: true });
  await bench.clock.advance(8_000);
  expect(await second).toMatchObject({ error: { code: 'given-up' } });
  await bench.clock.advance(30_000);
  expect(gate.told).toEqual([false, true]);
});

it('nothing is over for a stop before the movement is, whatever comes of it', async () => {
  void answer('setActuator', { name: 'gate', value: true });
  await bench.clock.advance(8_000);
  let isOver = false;
  void executor.ended().then(() => (isOver = true));
  await bench.clock.advance(2_999);
  expect(isOver).toBe(false);
  await soon(bench.set('gate', false));
  expect(isOver).toBe(true);
});

it('of what is set in motion sixteen are under way, and no more', async () => {
  const answers = Array.from({ length: 17 }, (_, n) => answer('program', { n }));
  await bench.clock.advance(1_000);
  const replies = await Promise.all(answers.map((one) => Promise.race([one, soon(Promise.resolve('under way'))])));
  expect(replies).toEqual([
    ...Array.from({ length: 16 }, () => 'under way'),
    { error: expect.objectContaining({ code: 'too-many' }) },
  ]);
});

describe('what was answered as under way', () => {
  const on = { method: 'toggle', params: { name: 'gate' } };

  beforeEach(async () => {
    const answering = executor.answer({ id: 7, ...on }, never);
    await bench.clock.advance(8_000);
    await answering;
  });

  it('is answered so again, and does not move again, when the platform has not taken it', async () => {
    expect(await executor.answer({ id: 7, ...on }, never)).toMatchObject({
      reply: { error: { code: 'under-way' } },
      repeat: true,
    });
    await bench.clock.advance(3_000);
    expect(await executor.answer({ id: 7, ...on }, never)).toMatchObject({
      reply: { error: { code: 'under-way' } },
      repeat: true,
    });
    expect(gate.told).toEqual([false, true]);
  });

  it.each([0, 3_000])(
    'is told once, also by the next life of the agent, when the platform has taken it %i ms before',
    async (thenMs) => {
      executor.answered({ id: 7, ...on });
      await bench.clock.advance(thenMs);
      storage = storage.afterKill();
      await start();
      await bench.clock.advance(11_000);
      expect(await executor.answer({ id: 7, ...on }, never)).toMatchObject({
        reply: { error: { code: 'outcome-unknown' } },
      });
      executor.answered({ id: 7, ...on });
      expect((await soon(executor.answer({ id: 8, ...on }, never))).reply).toMatchObject({ result: { value: false } });
    },
  );
});

describe('off behind a gate that takes ninety seconds', () => {
  let happened: string[];
  let sent: { readonly request: RpcRequest; readonly kind: string; readonly untilMs: number }[];
  let handedOut: number;
  let startMs: number;

  /** Hands out its oldest request: a one-way one once, the others at every poll until they are answered or their time is over. */
  const deviceApi = {
    pollRpc: async (timeoutMs: number, signal: AbortSignal): Promise<RpcRequest | undefined> => {
      const { clock } = bench;
      for (
        const endMs = clock.monotonicMs() + timeoutMs;
        clock.monotonicMs() < endMs && !signal.aborted;
        await clock.sleep(50, signal)
      ) {
        const next = sent.find(({ untilMs }) => clock.monotonicMs() < untilMs);
        if (next === undefined) continue;
        handedOut += 1;
        if (next.kind === 'one-way') sent = sent.filter((one) => one !== next);
        return next.request;
      }
      return undefined;
    },
    failRpc: async () => {},
    replyRpc: async (replyId: number, reply: JsonValue): Promise<void> => {
      if (!sent.some(({ request }) => request.id === replyId)) return;
      sent = sent.filter(({ request }) => request.id !== replyId);
      happened.push(`${replyId} ${JSON.stringify(reply).includes('"result"') ? 'done' : 'not yet'}`);
    },
  };

  const send = (kind: string, method: string, params: JsonValue): void => {
    id += 1;
    const untilMs = kind === 'two-way' ? bench.clock.monotonicMs() + 10_000 : Number.POSITIVE_INFINITY;
    sent.push({ request: { id, method, params }, kind, untilMs });
  };

  const offAtMs = async (name: string, withinMs: number): Promise<number> => {
    for (const endMs = startMs + withinMs; bench.clock.monotonicMs() < endMs; await bench.clock.advance(50))
      if (name === 'pump' ? bench.control.state('pump').value === false : gate.told.length > 2) break;
    return bench.clock.monotonicMs() - startMs;
  };

  beforeEach(() => {
    takesMs = 90_000;
    happened = [];
    sent = [];
    handedOut = 0;
    startMs = bench.clock.monotonicMs();
    void runRpcLoop({ deviceApi, executor, clock: bench.clock, log: silentLog }, never);
  });

  it.each([
    ['persistent', 'pump', 8_200],
    ['persistent', 'gate', 8_200],
    ['two-way', 'pump', 8_200],
    ['two-way', 'gate', 8_200],
    ['one-way', 'pump', 4_500],
    ['one-way', 'gate', 4_500],
  ])('%s, reaches the %s soon', async (kind, name, withinMs) => {
    send(kind, 'setActuator', { name: 'gate', value: true });
    await bench.clock.advance(2_500);
    send(kind, 'setActuator', { name, value: false });
    expect(await offAtMs(name, 120_000)).toBeLessThanOrEqual(withinMs);
    await bench.clock.advance(1_000);
    expect(happened).toEqual(kind === 'one-way' ? [] : ['1 not yet', '2 done']);
    await bench.clock.advance(90_000);
    expect([gate.told, gate.shown]).toEqual(name === 'pump' ? [[false, true], true] : [[false, true, false], false]);
  });

  it('comes as soon as nobody waits for the gate any longer', async () => {
    send('two-way', 'program', {});
    await bench.clock.advance(2_500);
    send('persistent', 'setActuator', { name: 'pump', value: false });
    expect(await offAtMs('pump', 120_000)).toBeLessThanOrEqual(12_500);
  });

  it('is carried out where more is under way than may be, which is sixteen', async () => {
    for (let n = 0; n < 40; n += 1) send('one-way', 'program', { n });
    await bench.clock.advance(120_000);
    send('two-way', 'program', {});
    await bench.clock.advance(3_000);
    send('two-way', 'setActuator', { name: 'pump', value: false });
    await bench.clock.advance(3_000);
    expect(happened).toEqual(['41 not yet', '42 done']);
    expect(handedOut).toBe(42);
  });
});
