import { mkdtemp, rm, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Lockout } from '../../../src/actuators/lockout.ts';
import type { GpioPort, InputRequest, Level, LineEdge } from '../../../src/hardware/gpio-port.ts';
import { systemFiles } from '../../../src/host/files.ts';
import { silentLog } from '../../../src/host/log.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { MemoryFiles } from '../../support/memory-files.ts';

const stop = new AbortController();
let clock: FakeClock;
let folder: string;
let level: Level | Error;
let edge: (edge: LineEdge) => void;
let asked: InputRequest[];
let closed: boolean;

const gpio = {
  openInput: async (request: InputRequest) => {
    asked.push(request);
    if (level instanceof Error) throw level;
    return {
      read: async () => {
        if (level instanceof Error) throw level;
        return level;
      },
      watch: (listener: (edge: LineEdge) => void) => {
        edge = listener;
        return () => {};
      },
      close: async () => {
        closed = true;
      },
    };
  },
} as Partial<GpioPort> as GpioPort;

beforeEach(async () => {
  clock = new FakeClock();
  folder = await mkdtemp(join(tmpdir(), 'turnstone-lockout-'));
  level = 0;
  asked = [];
  closed = false;
});
afterEach(() => rm(folder, { recursive: true }));

const open = (settings: { readonly file?: string; readonly line?: string }): Promise<Lockout> =>
  Lockout.open(
    { settings: { activeLow: false, ...settings }, gpio, clock, files: systemFiles, log: silentLog },
    stop.signal,
  );

describe('lockout', () => {
  it('holds while its file is there, from one moment to the next', async () => {
    const file = join(folder, 'lockout');
    const lockout = await open({ file });
    expect(lockout.locked).toBe(false);
    await writeFile(file, '');
    expect(lockout.locked).toBe(true);
    await unlink(file);
    expect(lockout.locked).toBe(false);
  });

  it('holds while nobody can tell whether its file is there', async () => {
    const files = new MemoryFiles();
    const settings = { activeLow: false, file: '/etc/turnstone/lockout' };
    const lockout = await Lockout.open({ settings, gpio, clock, files, log: silentLog }, stop.signal);
    expect(lockout.locked).toBe(false);
    files.faults = { fail: (operation) => (operation === 'facts' ? { code: 'EIO' } : undefined) };
    expect(lockout.locked).toBe(true);
  });

  it('holds when it cannot be told whether the file is there', async () => {
    await writeFile(join(folder, 'loop'), '');
    expect((await open({ file: join(folder, 'loop', 'below a file') })).locked).toBe(false);
    expect((await open({ file: join(folder, 'x'.repeat(300)) })).locked).toBe(true);
  });

  it('follows a key switch at its edges, and finds what an edge missed', async () => {
    const lockout = await open({ line: 'KEY' });
    const end = new AbortController();
    const running = lockout.run(end.signal);
    expect(lockout.locked).toBe(false);
    edge({ level: 1, monotonicMs: 0, missed: 0 });
    expect(lockout.locked).toBe(true);
    await clock.advance(600);
    expect(lockout.locked).toBe(false);
    level = 1;
    await clock.advance(600);
    expect(lockout.locked).toBe(true);
    end.abort();
    await clock.advance(0);
    await running;
    expect([asked.length, closed]).toEqual([1, true]);
  });

  it('holds while the switch cannot be read, also from the start', async () => {
    level = new Error('no such line');
    const lockout = await open({ line: 'KEY' });
    expect(lockout.locked).toBe(true);
    const end = new AbortController();
    void lockout.run(end.signal);
    level = 0;
    await clock.advance(600);
    expect(lockout.locked).toBe(false);
    level = new Error('board gone');
    await clock.advance(600);
    expect(lockout.locked).toBe(true);
    end.abort();
  });

  it('holds when the switch does not answer in time, says so once, and again after it has answered', async () => {
    const said: unknown[] = [];
    let answers = false;
    const hanging = {
      openInput: async (_request: InputRequest, signal: AbortSignal) => {
        if (!answers)
          await new Promise((_answer, reject) => signal.addEventListener('abort', () => reject(new Error('too late'))));
        return {
          read: async () => (answers ? 0 : Promise.reject(new Error('gone'))),
          watch: () => () => {},
          close: async () => {},
        };
      },
    } as unknown as GpioPort;
    const log = { ...silentLog, error: (fields: object) => void said.push(fields) };
    const opening = Lockout.open(
      { settings: { activeLow: true, line: 'KEY' }, gpio: hanging, clock, files: systemFiles, log },
      stop.signal,
    );
    let isOpen = false;
    void opening.then(() => {
      isOpen = true;
    });
    await clock.advance(399);
    expect(isOpen).toBe(false);
    await clock.advance(1);
    const lockout = await opening;
    expect([lockout.locked, said, clock.pending]).toEqual([
      true,
      [{ error: 'the key switch: no answer within the deadline' }],
      0,
    ]);
    const end = new AbortController();
    const running = lockout.run(end.signal);
    await clock.advance(2_000);
    expect(said.length).toBe(1);
    answers = true;
    await clock.advance(1_000);
    expect(lockout.locked).toBe(false);
    answers = false;
    await clock.advance(1_000);
    expect([lockout.locked, said.at(-1)]).toEqual([true, { error: 'gone' }]);
    expect(said.length).toBe(2);
    end.abort();
    await clock.advance(0);
    await running;
    expect(clock.pending).toBe(0);
  });

  it('opens a line anew that was pulled out and is back, and hears no edge of the one before', async () => {
    let generation = 1;
    const edges: ((edge: LineEdge) => void)[] = [];
    let closes = 0;
    const pluggable = {
      openInput: async () => {
        const mine = generation;
        return {
          read: async () => (mine === generation ? 0 : Promise.reject(new Error('ENODEV'))),
          watch: (listener: (edge: LineEdge) => void) => edges.push(listener),
          close: async () => {
            closes += 1;
          },
        };
      },
    } as unknown as GpioPort;
    const settings = { activeLow: false, line: 'KEY' };
    const lockout = await Lockout.open(
      { settings, gpio: pluggable, clock, files: systemFiles, log: silentLog },
      stop.signal,
    );
    const end = new AbortController();
    const running = lockout.run(end.signal);
    await clock.advance(0);
    generation = 2;
    await clock.advance(500);
    expect(lockout.locked).toBe(true);
    edges[0]?.({ level: 0, monotonicMs: 0, missed: 0 });
    expect(lockout.locked).toBe(true);
    await clock.advance(1_000);
    expect([lockout.locked, closes]).toEqual([false, 1]);
    end.abort();
    await clock.advance(0);
    await running;
    expect(closes).toBe(2);
  });

  it('holds while a line that heeds no deadline hangs, and does not ask for it again and again', async () => {
    let asks = 0;
    let answer: (level: Level) => void = () => {};
    const stuck = {
      openInput: async () => {
        asks += 1;
        await new Promise<Level>((resolve) => {
          answer = resolve;
        });
        return { read: async () => 0, watch: () => () => {}, close: async () => {} };
      },
    } as unknown as GpioPort;
    const settings = { activeLow: false, line: 'KEY' };
    const opening = Lockout.open({ settings, gpio: stuck, clock, files: systemFiles, log: silentLog }, stop.signal);
    await clock.advance(400);
    const lockout = await opening;
    const end = new AbortController();
    void lockout.run(end.signal);
    await clock.advance(60_000);
    expect([lockout.locked, asks]).toEqual([true, 1]);
    answer(0);
    await clock.advance(1_000);
    expect(lockout.locked).toBe(false);
    end.abort();
  });

  it('says nothing of a switch when it is the agent that ends', async () => {
    const said: unknown[] = [];
    level = new Error('gone');
    const ended = new AbortController();
    ended.abort();
    const log = { ...silentLog, error: (fields: object) => void said.push(fields) };
    const lockout = await Lockout.open(
      { settings: { activeLow: false, line: 'KEY' }, gpio, clock, files: systemFiles, log },
      ended.signal,
    );
    await lockout.run(ended.signal);
    expect([said, lockout.locked]).toEqual([[], true]);
  });

  it('asks for its line as it is declared, and for both edges', async () => {
    await Lockout.open(
      { settings: { activeLow: true, line: 'KEY' }, gpio, clock, files: systemFiles, log: silentLog },
      stop.signal,
    );
    expect(asked).toEqual([{ line: 'KEY', activeLow: true, edges: 'both' }]);
    const unused = await open({});
    await unused.run(stop.signal);
    expect([asked.length, clock.pending]).toEqual([1, 0]);
  });

  it('is open when nothing is declared', async () => {
    expect((await open({})).locked).toBe(false);
  });
});
