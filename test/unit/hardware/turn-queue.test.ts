import { beforeEach, describe, expect, it } from 'vitest';
import { TurnQueue, type TurnRank } from '../../../src/hardware/turn-queue.ts';

const never = new AbortController().signal;

let queue: TurnQueue;
let begun: string[];
let ends: Map<string, () => void>;

beforeEach(() => {
  queue = new TurnQueue();
  begun = [];
  ends = new Map();
});

function ask(what: string, rank?: TurnRank, signal: AbortSignal = never): Promise<string> {
  const work = (): Promise<string> => {
    begun.push(what);
    return new Promise((resolve) => ends.set(what, () => resolve(what)));
  };
  return queue.run(work, rank === undefined ? { what } : { what, rank }, signal);
}

/** Lets one transfer end after the other. */
async function endAll(): Promise<void> {
  for (let at = 0; at < begun.length; at += 1) {
    ends.get(begun[at] ?? '')?.();
    await new Promise((resolve) => setImmediate(resolve));
  }
}

describe('turns on a line', () => {
  it('go to all that switches off first, then to movements, readings and what is told again, each in the order in which they came', async () => {
    const all = [
      ask('a'),
      ask('told again', 'again'),
      ask('b'),
      ask('on', 'movement'),
      ask('off', 'off'),
      ask('off 2', 'off'),
    ];
    await endAll();
    expect(begun).toEqual(['a', 'off', 'off 2', 'on', 'b', 'told again']);
    expect(await Promise.all(all)).toEqual(['a', 'told again', 'b', 'on', 'off', 'off 2']);
  });

  it('go to everything in time, however often what moves, what is read and what is told again are asked for again', async () => {
    let left = 24;
    const askAgain = async (what: string, rank: TurnRank): Promise<void> => {
      await ask(what, rank);
      left -= 1;
      if (left > 0) void askAgain(what, rank);
    };
    void ask('first');
    for (const at of [1, 2]) {
      void askAgain(`again ${at}`, 'again');
      void askAgain(`look ${at}`, 'movement');
      void askAgain(`read ${at}`, 'reading');
    }
    await endAll();
    expect(begun.slice(0, 9)).toEqual([
      'first',
      'look 1',
      'read 1',
      'look 2',
      'again 1',
      'look 1',
      'read 2',
      'look 2',
      'again 2',
    ]);
    expect(begun.slice(9, 13)).toEqual(['look 1', 'read 1', 'look 2', 'again 1']);
  });

  it('go to what switches off next, whoever would have had the turn; and to movements after one other at most, also when that is let go', async () => {
    const end = new AbortController();
    void ask('first');
    void ask('on', 'movement');
    const waited = ask('let go', 'reading', end.signal);
    ends.get('first')?.();
    await new Promise((resolve) => setImmediate(resolve));
    end.abort();
    await expect(waited).rejects.toMatchObject({ code: 'hardware/deadline' });
    void ask('on 2', 'movement');
    void ask('on 3', 'movement');
    void ask('reading');
    void ask('off', 'off');
    await endAll();
    expect(begun).toEqual(['first', 'on', 'off', 'reading', 'on 2', 'on 3']);
  });

  it.each(['movement', 'reading'] as const)(
    'go to what closes before what is opened anew as a %s, whatever hangs before both',
    async (rank) => {
      const all = [ask('hangs'), queue.runAtLast(async () => void begun.push('close'), 'closing'), ask('open', rank)];
      await endAll();
      await Promise.all(all);
      expect(begun).toEqual(['hangs', 'close', 'open']);
    },
  );

  it('are given up by who was let go, whose transfer is not made', async () => {
    const end = new AbortController();
    void ask('hangs');
    const waited = ask('let go', 'off', end.signal);
    end.abort();
    await expect(waited).rejects.toMatchObject({
      code: 'hardware/deadline',
      message: expect.stringContaining('waiting for its turn: the deadline was over while others had theirs'),
    });
    await expect(ask('too late', 'off', end.signal)).rejects.toMatchObject({ code: 'hardware/deadline' });
    void ask('next');
    await endAll();
    expect(begun).toEqual(['hangs', 'next']);
  });

  it('come only when the transfer before has really ended, however it ends', async () => {
    const end = new AbortController();
    const first = ask('slow', 'reading', end.signal);
    const second = ask('second');
    end.abort();
    await expect(first).rejects.toMatchObject({ code: 'hardware/deadline' });
    expect(begun).toEqual(['slow']);
    await endAll();
    expect(await second).toBe('second');
    const failing = queue.run(() => Promise.reject(new Error('no answer')), { what: 'fails' }, never);
    const after = ask('after');
    await expect(failing).rejects.toThrow('no answer');
    await endAll();
    expect(await after).toBe('after');
  });

  it('are over when everything that was asked for has ended', async () => {
    let isIdle = false;
    await queue.idle();
    void ask('a');
    void ask('b');
    const idle = queue.idle().then(() => {
      isIdle = true;
    });
    ends.get('a')?.();
    await new Promise((resolve) => setImmediate(resolve));
    expect([begun, isIdle]).toEqual([['a', 'b'], false]);
    await endAll();
    await idle;
    expect(isIdle).toBe(true);
  });
});
