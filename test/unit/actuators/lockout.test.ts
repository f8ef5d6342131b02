import { mkdtemp, rm, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Lockout } from '../../../src/actuators/lockout.ts';
import type { GpioPort, InputRequest, Level, LineEdge } from '../../../src/hardware/gpio-port.ts';
import { silentLog } from '../../../src/host/log.ts';
import { FakeClock } from '../../support/fake-clock.ts';

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
  Lockout.open({ settings: { activeLow: false, ...settings }, gpio, clock, log: silentLog }, stop.signal);

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

  it('is open when nothing is declared', async () => {
    expect((await open({})).locked).toBe(false);
  });
});
