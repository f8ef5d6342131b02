/** Several users of one serial port: whose turn it is, who hears, and what is left of an answer that comes too late. */
import { beforeEach, expect, it } from 'vitest';
import { FakeClock } from '../../test/support/fake-clock.ts';
import { SerialBuses } from './serial-buses.ts';
import type { SerialPort, SerialPorts } from './serial-port.ts';

const never = new AbortController().signal;
const SETTINGS = { port: '/dev/ttyUSB0', baudRate: 9_600 };
let clock: FakeClock;
let buses: SerialBuses;
let say: (text: string) => void;
let port: () => Promise<SerialPort>;
let opened: number;
let closed: number;

beforeEach(() => {
  clock = new FakeClock();
  [opened, closed] = [0, 0];
  const listeners = new Set<(bytes: Uint8Array) => void>();
  say = (text) => {
    for (const listener of listeners) listener(Buffer.from(text));
  };
  port = async () => {
    opened += 1;
    return {
      path: SETTINGS.port,
      plugged: true,
      write: async () => {},
      onBytes: (listener) => {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
      onPlug: () => () => {},
      close: async () => {
        closed += 1;
      },
    };
  };
  buses = new SerialBuses({ open: port } as Partial<SerialPorts> as SerialPorts, clock);
});

/** A user, with what it has heard. */
async function user() {
  const bus = await buses.open(SETTINGS, never);
  const heard: string[] = [];
  bus.onBytes((bytes) => heard.push(Buffer.from(bytes).toString()));
  return { bus, heard };
}

it('opens a port once, and closes it behind the last user', async () => {
  const [a, b] = [await user(), await user()];
  expect([opened, a.bus.isShared]).toEqual([1, true]);
  await a.bus.close();
  await a.bus.close();
  expect([closed, b.bus.isShared]).toEqual([0, false]);
  await b.bus.close();
  expect(closed).toBe(1);
});

it('refuses a user with other settings', async () => {
  await user();
  await expect(buses.open({ ...SETTINGS, baudRate: 4_800 }, never)).rejects.toMatchObject({
    code: 'hardware/serial-busy',
    recovery: 'retry',
  });
});

it('lets only that user hear whose turn it is', async () => {
  const [a, b] = [await user(), await user()];
  await a.bus.run(async () => say('for a'), { what: 'asking', hears: true }, never);
  say('for nobody');
  expect([a.heard, b.heard]).toEqual([['for a'], []]);
});

it('waits on when bytes that came in the quiet are told behind its end, as after a stand-still of this process', async () => {
  const late = ['late', 'later'];
  const standing = {
    monotonicMs: () => 0,
    sleep: async () => {
      const piece = late.shift();
      if (piece !== undefined) setImmediate(() => say(piece));
    },
  };
  buses = new SerialBuses({ open: port } as Partial<SerialPorts> as SerialPorts, standing);
  const [a, b] = [await user(), await user()];
  await a.bus.run(async () => {}, { what: 'telling', hears: false }, never);
  await b.bus.run(async () => say('its own'), { what: 'asking', hears: true }, never);
  expect([late, b.heard]).toEqual([[], ['its own']]);
});

it('gives an answer that comes too late to nobody else', async () => {
  const [a, b] = [await user(), await user()];
  const fails = async (): Promise<void> => {
    throw new Error('silent');
  };
  await a.bus.run(fails, { what: 'asking', hears: true }, never).catch(() => {});
  let isAsked = false;
  const asking = b.bus.run(
    async () => {
      isAsked = true;
      say('for b');
    },
    { what: 'asking', hears: true },
    never,
  );
  await clock.advance(250);
  say('late for a');
  await clock.advance(250);
  expect([isAsked, b.heard]).toEqual([false, []]);
  await clock.advance(200);
  await asking;
  expect(b.heard).toEqual(['for b']);
});

it('puts what switches off before what is read, and tears no turn', async () => {
  const [a, b, c] = [await user(), await user(), await user()];
  const order: string[] = [];
  const turn = (name: string) => async (): Promise<void> => {
    order.push(`${name} begins`);
    await clock.sleep(100, never);
    order.push(`${name} ends`);
  };
  const all = [
    a.bus.run(turn('read'), { what: 'reading', hears: false }, never),
    b.bus.run(turn('later read'), { what: 'reading', hears: false }, never),
    c.bus.run(turn('off'), { what: 'writing', rank: 'off', hears: false }, never),
  ];
  await clock.advance(1_000);
  await Promise.all(all);
  expect(order).toEqual(['read begins', 'read ends', 'off begins', 'off ends', 'later read begins', 'later read ends']);
});

it('tells nothing for who has given up while others had their turns', async () => {
  const [a, b] = [await user(), await user()];
  const caller = new AbortController();
  void a.bus.run(() => clock.sleep(100, never), { what: 'reading', hears: true }, never);
  let isTold = false;
  const writing = b.bus.run(
    async () => {
      isTold = true;
    },
    { what: 'writing', hears: false },
    caller.signal,
  );
  caller.abort();
  await expect(writing).rejects.toMatchObject({ code: 'hardware/deadline' });
  await clock.advance(1_000);
  expect(isTold).toBe(false);
});
