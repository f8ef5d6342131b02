/** Commands to a sensor's device as methods. */
import { expect, it } from 'vitest';
import { FakeClock } from '../../test/support/fake-clock.ts';
import { sensorConfig } from '../../test/support/sensor-bench.ts';
import { rpcSchema } from '../config/schema/rpc.ts';
import { SerialBuses } from '../hardware/serial-buses.ts';
import type { SerialPort, SerialPorts } from '../hardware/serial-port.ts';
import type { Operation } from '../operations/operation.ts';
import { lineMethods } from './line-methods.ts';

const never = new AbortController().signal;
const CALL = { asker: 'platform', note: undefined, signal: never } as const;

function tare(
  answer: string,
  afterMs = 0,
): { readonly clock: FakeClock; readonly told: string[]; readonly method: Operation } {
  const clock = new FakeClock();
  const told: string[] = [];
  const listeners = new Set<(bytes: Uint8Array) => void>();
  const port: SerialPort = {
    path: '/dev/ttyUSB0',
    plugged: true,
    onBytes: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    onPlug: () => () => {},
    write: async (bytes) => {
      told.push(Buffer.from(bytes).toString());
      const say = (): void => {
        for (const piece of answer) for (const listener of listeners) listener(Buffer.from(piece));
      };
      if (afterMs === 0) say();
      else clock.after(afterMs, say);
    },
    close: async () => {},
  };
  const serialBuses = new SerialBuses({ open: async () => port } as Partial<SerialPorts> as SerialPorts, clock);
  const scale = sensorConfig({ name: 'scale', kind: 'serial-line', port: port.path, request: 'S', format: 'number' });
  const { methods } = rpcSchema.parse({
    methods: { tare: { sensor: 'scale', send: 'T\r\n', expect: '^T', deadline: '4s' }, read: { sensor: 'scale' } },
  });
  const [method, ...others] = lineMethods(methods, [scale], { clock, ports: { serialBuses } });
  expect(others).toEqual([]);
  return { clock, told, method: method as Operation };
}

it('is a movement that the journal sees to', () => {
  expect(tare('').method).toMatchObject({ name: 'tare', effect: 'move', moves: true, isDeclared: true });
});

it('gives the line that proves it, in whatever pieces', async () => {
  const { told, method } = tare('noise\r\nT S 0.00 kg\r\n');
  expect(await method.run({}, CALL)).toEqual({ sent: true, answer: 'T S 0.00 kg' });
  expect(told).toEqual(['T\r\n']);
});

it('fails once, and tells it as perhaps done, when the answer does not come', async () => {
  const { clock, told, method } = tare('ES\r\n');
  const running = Promise.resolve(method.run({}, CALL)).catch((error: unknown) => error);
  await clock.advance(4_000);
  expect(await running).toMatchObject({
    code: 'rpc/no-proof',
    recovery: 'drop',
    message: expect.stringContaining('it may have done it'),
  });
  expect(told).toEqual(['T\r\n']);
});

it('is not proven by the answer of an earlier one', async () => {
  // Later than the first one waits, and while the second does.
  const { clock, told, method } = tare('T S 0.00 kg\r\n', 3_100);
  const run = (): Promise<unknown> => Promise.resolve(method.run({}, CALL)).catch((error: unknown) => error);
  const first = run();
  await clock.advance(3_050);
  expect(await first).toMatchObject({ code: 'rpc/no-proof', message: expect.stringContaining('nothing came') });
  const second = run();
  await clock.advance(3_050);
  expect(await second).toMatchObject({
    code: 'rpc/no-proof',
    message: expect.stringContaining('the answer may be that of an earlier command: it may have done it'),
  });
  expect(told).toEqual(['T\r\n', 'T\r\n']);
});
