import { beforeEach, describe, expect, it } from 'vitest';
import { AgentError } from '../../../src/errors/agent-error.ts';
import { silentLog } from '../../../src/host/log.ts';
import type { Operation } from '../../../src/operations/operation.ts';
import { type MethodPermission, MethodTable } from '../../../src/rpc/method-table.ts';
import { type Checkpoint, type RpcAnswer, RpcExecutor } from '../../../src/rpc/rpc-executor.ts';
import { RpcJournal } from '../../../src/rpc/rpc-journal.ts';
import type { ToldCommand } from '../../../src/rpc/told-command.ts';
import type { JsonObject, JsonValue } from '../../../src/values/json.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { MemoryJournalStorage } from '../../support/memory-journal-storage.ts';

const never = new AbortController().signal;
let clock: FakeClock;
let storage: MemoryJournalStorage;
let moved: number;
let told: ToldCommand[];
let permissions: Record<string, MethodPermission>;
let locked: boolean;
let extra: Operation[];
let dieAt: Checkpoint | undefined;

const method = (name: string, changes: Partial<Operation>): Operation => ({
  name,
  description: name,
  params: {},
  effect: 'read',
  moves: false,
  deadlineMs: 1_000,
  run: () => 'done',
  ...changes,
});

/** State of the file and the machine at the kill; the executor's acts after it count for nothing. */
let atKill: { readonly left: MemoryJournalStorage; readonly movedThen: number } | undefined;

function killed(): NonNullable<typeof atKill> {
  if (atKill === undefined) throw new Error('the point of the kill was never reached');
  return atKill;
}

async function start(from = storage): Promise<{ executor: RpcExecutor; journal: RpcJournal }> {
  storage = from;
  const journal = await RpcJournal.open({ file: storage.file, clock, log: silentLog });
  const move = (): string => {
    moved += 1;
    return 'moved';
  };
  const methods = new MethodTable({
    clock,
    permissions,
    locked: () => locked,
    methods: [
      method('read', {}),
      method('set', {
        effect: 'set',
        moves: true,
        run: move,
        params: { type: 'object', properties: { value: { type: 'boolean' } } },
      }),
      method('pulse', { effect: 'move', moves: true, run: move, prepare: () => ({ before: moved }) }),
      ...extra,
    ],
  });
  const checkpoint = (name: Checkpoint): void => {
    if (name === dieAt) atKill ??= { left: storage.afterKill(), movedThen: moved };
  };
  return {
    executor: new RpcExecutor({
      journal,
      methods,
      clock,
      log: silentLog,
      checkpoint,
      onCommand: (one) => told.push(one),
    }),
    journal,
  };
}

async function call(executor: RpcExecutor, name: string, params: JsonValue = {}, id = 0) {
  return await executor.answer({ id, method: name, params }, never);
}

beforeEach(() => {
  clock = new FakeClock();
  storage = new MemoryJournalStorage();
  moved = 0;
  told = [];
  permissions = {};
  locked = false;
  extra = [];
  atKill = undefined;
  dieAt = undefined;
});

describe('the RPC executor', () => {
  it('moves once for a request that comes again, and gives both the same reply', async () => {
    const { executor } = await start();
    const first = await call(executor, 'pulse');
    const second = await call(executor, 'pulse');
    expect([first.reply, second.reply, second.repeat, moved]).toEqual([
      { result: 'moved' },
      { result: 'moved' },
      true,
      1,
    ]);
  });

  it('moves once for a request that comes again while the first is under way', async () => {
    const { executor } = await start();
    const answers = await Promise.all([call(executor, 'pulse'), call(executor, 'pulse')]);
    expect([answers.map(({ repeat }) => repeat), moved]).toEqual([[false, true], 1]);
  });

  it('answers faults of widgets’ names and declared methods in words, and others as JSON', async () => {
    const { executor } = await start();
    const bodyOf = async (name: string) =>
      executor.bodyOf({ id: 0, method: name, params: null }, (await call(executor, name, null)).reply ?? {});
    for (const name of ['getValue', 'getState', 'checkStatus', 'getGpioStatus', 'setValue'])
      expect(await bodyOf(name)).toEqual({ text: `fault: there is no method ${name}; listMethods names them` });
    expect(await bodyOf('getOther')).toMatchObject({ json: { error: { code: 'unknown-method' } } });
    extra = [method('setValue', { isDeclared: true }), method('ownName', {}), method('ownState', { bare: true })];
    const { executor: declared } = await start();
    const formOf = (name: string, reply: JsonObject) => declared.bodyOf({ id: 1, method: name, params: null }, reply);
    const refused = { error: { code: 'locked-out', message: 'somebody works on it' } };
    expect(formOf('setValue', refused)).toEqual({ text: 'fault: somebody works on it' });
    expect(formOf('setValue', { result: { value: true } })).toEqual({ json: { result: { value: true } } });
    expect(formOf('ownName', refused)).toEqual({ json: refused });
    expect(formOf('ownState', { result: false })).toEqual({ json: false });
  });

  it('tells each command once, refused ones too, and no question', async () => {
    const { executor } = await start();
    for (const name of ['read', 'pulse', 'pulse', 'nothing']) await call(executor, name);
    locked = true;
    await call(executor, 'set', { value: true });
    expect(told).toEqual([
      { method: 'pulse', params: {}, reply: { result: 'moved' } },
      { method: 'set', params: { value: true }, reply: { error: expect.objectContaining({ code: 'locked-out' }) } },
    ]);
  });

  it('moves again for the same id with other params', async () => {
    const { executor } = await start();
    await call(executor, 'pulse', { n: 1 });
    await call(executor, 'pulse', { n: 2 });
    expect(moved).toBe(2);
  });

  it('has the intent on disk before the movement, and nothing on disk before a set', async () => {
    extra = [
      method('pulseSeen', {
        effect: 'move',
        run: () => storage.synced === storage.content.length && storage.calls.includes('sync'),
      }),
      method('setSeen', { effect: 'set', run: () => storage.calls.length }),
    ];
    const { executor, journal } = await start();
    await journal.flush();
    expect((await call(executor, 'setSeen')).reply).toEqual({ result: 1 });
    expect((await call(executor, 'pulseSeen')).reply).toEqual({ result: true });
  });

  it.each<[Checkpoint, number, 'moves' | 'outcome-unknown' | 'same-reply']>([
    ['before-intent', 0, 'moves'],
    ['after-intent', 0, 'outcome-unknown'],
    ['after-movement', 1, 'outcome-unknown'],
    // By then the disk has the reply, which nobody waited for.
    ['after-reply', 1, 'same-reply'],
  ])('killed %s: the repeat never moves twice', async (point, movedBefore, then) => {
    dieAt = point;
    const { executor } = await start();
    const request = { id: 0, method: 'pulse', params: {} };
    await executor.answer(request, never);
    executor.answered(request);
    const { left, movedThen } = killed();
    moved = movedThen;
    const { reply, repeat } = await call((await start(left)).executor, 'pulse');
    expect([movedThen, moved]).toEqual([movedBefore, 1 - Number(point === 'after-intent')]);
    if (then !== 'outcome-unknown') expect([reply, repeat]).toEqual([{ result: 'moved' }, then === 'same-reply']);
    if (then === 'outcome-unknown')
      expect([reply, repeat]).toMatchObject([{ error: { code: 'outcome-unknown' } }, true]);
  });

  it('tells what became of an interrupted movement when the method can read it back', async () => {
    extra = [
      method('toggle', {
        effect: 'move',
        prepare: () => ({ to: true }),
        recover: ({ to }) => ({ moved: to === true }),
      }),
    ];
    dieAt = 'after-intent';
    const { executor } = await start();
    await call(executor, 'toggle');
    const { reply } = await call((await start(killed().left)).executor, 'toggle');
    expect(reply).toEqual({ result: { moved: true } });
  });

  it('refuses a movement while the disk hangs, does not make it later, and answers its repeats the same', async () => {
    const { executor, journal } = await start();
    let release = (): void => {};
    storage.beforeSync = () => new Promise((resolve) => (release = resolve));
    const answers: RpcAnswer[] = [];
    void call(executor, 'pulse').then((answer) => answers.push(answer));
    await clock.advance(1_000);
    expect(answers).toMatchObject([{ reply: { error: { code: 'disk-stalled' } } }]);
    expect((await call(executor, 'set', { value: true }, 1)).reply).toEqual({ result: 'moved' });
    release();
    storage.beforeSync = async () => {};
    await journal.flush();
    expect((await call(executor, 'pulse')).reply).toMatchObject({ error: { code: 'disk-stalled' } });
    expect((await call((await start(storage.afterKill())).executor, 'pulse')).reply).toMatchObject({
      error: { code: 'disk-stalled' },
    });
    expect(moved).toBe(1);
  });

  it('answers every request, whatever is wrong with it', async () => {
    permissions = {
      read: { enabled: false },
      set: { allowed: { properties: { value: { enum: [false] } } } },
      slow: { deadlineMs: 50 },
    };
    extra = [
      method('slow', { run: () => new Promise(() => {}) }),
      method('throws', { run: () => Promise.reject(new TypeError('secret detail')) }),
      method('refuses', {
        run: () => Promise.reject(new AgentError('actuators/interlocked', 'never both', { recovery: 'drop' })),
      }),
    ];
    const { executor } = await start();
    const codeOf = async (name: string, params: JsonValue): Promise<unknown> => {
      const answering = call(executor, name, params);
      await clock.advance(1_000);
      const { error } = (await answering).reply as { error?: { code: string; message: string } };
      expect(error?.message).not.toContain('secret detail');
      return error?.code;
    };
    expect(await codeOf('nothing', {})).toBe('unknown-method');
    expect(await codeOf('__proto__', {})).toBe('unknown-method');
    expect(await codeOf('read', {})).toBe('disabled');
    expect(await codeOf('set', { value: 'on' })).toBe('bad-params');
    expect(await codeOf('set', { value: true })).toBe('not-allowed');
    expect(await codeOf('slow', {})).toBe('deadline-passed');
    expect(await codeOf('throws', {})).toBe('internal');
    expect(await codeOf('refuses', {})).toBe('interlocked');
    locked = true;
    expect(await codeOf('pulse', {})).toBe('locked-out');
    expect(await codeOf('set', { value: false })).toBe('locked-out');
    expect(moved).toBe(0);
  });

  it('moves for the command of another day, whatever became of the reply to the one with its id', async () => {
    const { executor } = await start();
    await call(executor, 'pulse');
    await clock.advance(14 * 24 * 3_600_000);
    expect([(await call(executor, 'pulse')).reply, moved]).toEqual([{ result: 'moved' }, 2]);
  });

  it('never gives an old answer to a command that may be new: nothing moves, until it is given again', async () => {
    const { executor } = await start();
    await call(executor, 'pulse');
    await clock.advance(100_000);
    const first = await call(executor, 'pulse');
    expect([first.reply, first.repeat, moved]).toMatchObject([{ error: { code: 'outcome-unknown' } }, true, 1]);
    executor.answered({ id: 0, method: 'pulse', params: {} });
    expect([(await call(executor, 'pulse', {}, 1)).reply, moved]).toEqual([{ result: 'moved' }, 2]);
  });

  it('sets again and answers anew where a repeat cannot be told from a new command', async () => {
    const { executor } = await start();
    await call(executor, 'set', { value: true });
    executor.doubtPlatform();
    const again = await call(executor, 'set', { value: true });
    expect([again.reply, again.repeat, moved]).toEqual([{ result: 'moved' }, true, 2]);
  });

  it.each([1, 34, 60, 599])(
    'never moves again for an id that is handed out every %i s, each reply taken',
    async (everyS) => {
      const { executor } = await start();
      const request = { id: 0, method: 'pulse', params: {} };
      for (let time = 0; time < 50; time += 1) {
        await executor.answer(request, never);
        executor.answered(request);
        await clock.advance(everyS * 1_000);
      }
      expect(moved).toBe(1);
    },
  );

  it('does not move for a persistent command that comes again under a new id after a restart of the platform', async () => {
    const { executor } = await start();
    await call(executor, 'pulse', { n: 1 }, 7);
    executor.doubtPlatform();
    expect((await call(executor, 'pulse', { n: 1 }, 0)).reply).toMatchObject({ error: { code: 'outcome-unknown' } });
    expect((await call(executor, 'pulse', { n: 2 }, 1)).reply).toEqual({ result: 'moved' });
    expect(moved).toBe(2);
  });

  it('tries anew what was refused before anything moved', async () => {
    locked = true;
    const { executor } = await start();
    expect((await call(executor, 'pulse')).reply).toMatchObject({ error: { code: 'locked-out' } });
    locked = false;
    executor.doubtPlatform();
    expect([(await call(executor, 'pulse')).reply, moved]).toEqual([{ result: 'moved' }, 1]);
  });

  it('moves for the command that its own gates refused before, also in another life of the platform', async () => {
    let closed = true;
    const prepare = (): undefined => {
      if (closed) throw new AgentError('actuators/interlocked', 'never both', { recovery: 'retry' });
    };
    extra = [method('gated', { effect: 'move', moves: true, prepare, run: () => ++moved })];
    const { executor } = await start();
    expect((await call(executor, 'gated', {}, 7)).reply).toMatchObject({ error: { code: 'interlocked' } });
    executor.doubtPlatform();
    closed = false;
    expect((await call(executor, 'gated', {}, 3)).reply).toEqual({ result: 1 });
  });

  it.each(['set', 'read'] as const)(
    'does not take a movement for a %s because that came under the same id before',
    async (effect) => {
      // The same words were refused, or did another thing, in an earlier life of the platform.
      locked = effect === 'read';
      extra = [
        method('gate', {
          effect: () => (moved === 0 && effect === 'set' ? 'set' : 'move'),
          moves: true,
          run: () => ++moved,
        }),
      ];
      const { executor } = await start();
      await call(executor, 'gate', {}, 0);
      executor.answered({ id: 0, method: 'gate', params: {} });
      locked = false;
      const before = moved;
      expect((await call(executor, 'gate', {}, 1)).reply).toEqual({ result: before + 1 });
      executor.doubtPlatform();
      await clock.advance(300_000);
      expect((await call(executor, 'gate', {}, 0)).reply).toMatchObject({ error: { code: 'outcome-unknown' } });
      expect(moved).toBe(before + 1);
    },
  );

  it('moves for every new id though no reply is ever taken', async () => {
    const { executor } = await start();
    for (let id = 0; id < 200; id += 1) {
      await call(executor, 'pulse', {}, id);
      executor.doubtPlatform();
      await clock.advance(20_000);
    }
    expect(moved).toBe(200);
  });

  it('counts calls of a minute, not repeats', async () => {
    permissions = { pulse: { mostPerMinute: 2 } };
    const { executor } = await start();
    for (const id of [0, 0, 0, 1]) await call(executor, 'pulse', {}, id);
    expect((await call(executor, 'pulse', {}, 2)).reply).toMatchObject({ error: { code: 'too-often' } });
    await clock.advance(60_000);
    expect((await call(executor, 'pulse', {}, 3)).reply).toEqual({ result: 'moved' });
  });

  it('refuses no switching off for the calls of a minute, though it counts as one', async () => {
    permissions = { relay: { mostPerMinute: 3 }, ask: { mostPerMinute: 1 } };
    const moves = (params: JsonValue): boolean => (params as { readonly on: boolean }).on;
    extra = [method('relay', { effect: 'set', moves, run: (params) => params }), method('ask', {})];
    const { executor } = await start();
    let id = 0;
    const isTaken = async (name: string, params: JsonValue): Promise<boolean> => {
      id += 1;
      return (await call(executor, name, params, id)).reply?.error === undefined;
    };
    const taken: boolean[] = [];
    for (const on of [true, false, true, false, false, true]) taken.push(await isTaken('relay', { on }));
    expect(taken).toEqual([true, true, true, true, true, false]);
    await clock.advance(60_000);
    expect(await isTaken('relay', { on: true })).toBe(true);
    expect([await isTaken('ask', {}), await isTaken('ask', {})]).toEqual([true, false]);
  });

  it('cuts replies that the platform would not take, and says so', async () => {
    extra = [method('long', { run: () => ({ text: '"ü'.repeat(100_000) }) })];
    const { executor } = await start();
    const { reply } = await call(executor, 'long');
    expect(Buffer.byteLength(JSON.stringify(reply))).toBeLessThanOrEqual(64 * 1024);
    expect(reply).toMatchObject({
      result: { cut: true, notice: expect.stringMatching(/^a reply of \d+ bytes was cut/) },
    });
  });

  it('lists what may be called, with the shapes that are checked', async () => {
    permissions = { read: { enabled: false }, set: { mostPerMinute: 5 } };
    const { executor } = await start();
    const { reply } = await call(executor, 'listMethods');
    const listed = reply?.result as { name: string; params: JsonValue; mostPerMinute?: number }[];
    expect(listed.map(({ name }) => name)).toEqual(['set', 'pulse', 'listMethods']);
    expect(listed[0]).toMatchObject({
      params: { type: 'object', properties: { value: { type: 'boolean' } } },
      mostPerMinute: 5,
    });
  });
});
