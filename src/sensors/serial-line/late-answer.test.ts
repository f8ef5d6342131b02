/** Devices on a shared port whose answers come later than anybody waits for them. */
import { beforeEach, expect, it } from 'vitest';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { MemoryFiles } from '../../../test/support/memory-files.ts';
import { OF_THIS_MACHINE, sensorConfig } from '../../../test/support/sensor-bench.ts';
import { SerialBuses } from '../../hardware/serial-buses.ts';
import type { SerialPort, SerialPorts } from '../../hardware/serial-port.ts';
import { silentLog } from '../../host/log.ts';
import type { Sensor } from '../kind/sensor.ts';
import type { SensorDeps } from '../kind/sensor-deps.ts';
import { open } from './driver.ts';

const never = new AbortController().signal;
let clock: FakeClock;
let answerMs: number;
let scale: Sensor;
let lamp: Sensor;

beforeEach(async () => {
  clock = new FakeClock();
  answerMs = 4_200;
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
      if (Buffer.from(bytes).toString() !== 'S') return;
      clock.after(answerMs, () => {
        for (const listener of listeners) listener(Buffer.from('7\n'));
      });
    },
    close: async () => {},
  };
  const serial = { open: async () => port } as Partial<SerialPorts> as SerialPorts;
  const ports = { serialBuses: new SerialBuses(serial, clock) } as Partial<SensorDeps['ports']> as SensorDeps['ports'];
  const deps = { ...OF_THIS_MACHINE, ports, clock, files: new MemoryFiles(), log: silentLog, stateFolder: '/' };
  const opened = (name: string, request: string): Promise<Sensor> =>
    open(
      sensorConfig({ name, kind: 'serial-line', port: port.path, request, format: 'number', period: '10s' }),
      deps,
      never,
    );
  scale = await opened('scale', 'S');
  lamp = await opened('lamp', 'L');
});

/** Returns what a read gave, or why it failed, 10 s later. */
async function outcomeOf(sensor: Sensor): Promise<unknown> {
  const reading = sensor.read(never).then(
    ([first]) => first?.value,
    (error: Error) => error.message,
  );
  await clock.advance(10_000);
  return await reading;
}

it('are told to need a longer wait from their second answer on, and are read once they come in time', async () => {
  expect(await outcomeOf(scale)).toBe('nothing comes on /dev/ttyUSB0');
  expect(await outcomeOf(scale)).toBe(
    'answers come on /dev/ttyUSB0 within 5s of the request: make responseTimeout (1s) longer',
  );
  answerMs = 500;
  expect(await outcomeOf(scale)).toBe(7);
});

it('lend their answers to no device that was asked since', async () => {
  const late = scale.read(never).catch(() => {});
  await clock.advance(2_000);
  const mute = lamp.read(never).catch(() => {});
  await clock.advance(10_000);
  await Promise.all([late, mute]);
  expect(await outcomeOf(scale)).toBe('nothing comes on /dev/ttyUSB0');
});
