/** Turns at downloads and commands: one at a time, the gateway before all others, and nobody forgotten. */
import { beforeEach, describe, expect, it } from 'vitest';
import { UpdateTurns } from '../../../src/firmware/update-turns.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const never = new AbortController().signal;

let clock: FakeClock;
let turns: UpdateTurns;
let begun: string[];

beforeEach(() => {
  clock = new FakeClock();
  turns = new UpdateTurns(clock);
  begun = [];
});

function ask(name: string, signal = never) {
  const turn = turns.next(signal);
  turn.then(
    () => begun.push(name),
    () => {},
  );
  return turn;
}

describe('turns', () => {
  it('are taken one after the other, in the order of asking', async () => {
    const first = await ask('a');
    const second = ask('b');
    void ask('c');
    await clock.advance(0);
    expect(begun).toEqual(['a']);
    first.end();
    first.end();
    await second;
    await clock.advance(0);
    expect(begun).toEqual(['a', 'b']);
    (await second).end();
    await clock.advance(0);
    expect(begun).toEqual(['a', 'b', 'c']);
  });

  it('are the gateway’s at once; who has one gives way, and nobody begins before it ends', async () => {
    const first = await ask('a');
    const own = turns.own();
    expect(first.isOver.aborted).toBe(true);
    first.end();
    void ask('b');
    await clock.advance(3_600_000);
    expect(begun).toEqual(['a']);
    own.end();
    own.end();
    await clock.advance(0);
    expect(begun).toEqual(['a', 'b']);
    expect(turns.isTaken).toBe(true);
  });

  it('that nothing comes of for five minutes are over, when another waits', async () => {
    const first = await ask('a');
    await clock.advance(3_600_000);
    expect(first.isOver.aborted).toBe(false);
    void ask('b');
    first.progressed();
    await clock.advance(299_000);
    expect(first.isOver.aborted).toBe(false);
    await clock.advance(301_000);
    expect(first.isOver.aborted).toBe(true);
  });

  it('last as long as it goes on, whoever waits', async () => {
    const first = await ask('a');
    void ask('b');
    for (let minute = 0; minute < 60; minute += 1) {
      first.progressed();
      await clock.advance(60_000);
    }
    expect(first.isOver.aborted).toBe(false);
  });

  it('of who has given up waiting pass to the next', async () => {
    const first = await ask('a');
    const gone = new AbortController();
    const second = ask('b', gone.signal);
    void ask('c');
    gone.abort();
    await expect(second).rejects.toBeDefined();
    first.end();
    await clock.advance(0);
    expect(begun).toEqual(['a', 'c']);
    await expect(turns.next(gone.signal)).rejects.toBeDefined();
  });
});
