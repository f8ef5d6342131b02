/** Commands before and after a read: a device is woken, asked and put to sleep, whatever becomes of the read. */
import { beforeEach, expect, it } from 'vitest';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { MemoryFiles } from '../../../test/support/memory-files.ts';
import { OF_THIS_MACHINE, sensorConfig } from '../../../test/support/sensor-bench.ts';
import { sensorSchema } from '../../config/schema/sensors.ts';
import { SerialBuses } from '../../hardware/serial-buses.ts';
import type { SerialPort, SerialPorts } from '../../hardware/serial-port.ts';
import { silentLog } from '../../host/log.ts';
import type { Sensor } from '../kind/sensor.ts';
import type { SensorDeps } from '../kind/sensor-deps.ts';
import { serialLine } from './definition.ts';
import { open } from './driver.ts';

const never = new AbortController().signal;
const DUST = {
  name: 'dust',
  kind: 'serial-line',
  port: '/dev/ttyUSB0',
  request: 'READ',
  format: 'number',
  period: '5m',
  before: [{ send: 'WORK', pause: '30s' }],
  after: [{ send: 'SLEEP' }],
} as const;
let clock: FakeClock;
let told: string[];
let isMute: boolean;
let sensor: Sensor;
let isClosed: boolean;
let refused: string | undefined;

beforeEach(async () => {
  clock = new FakeClock();
  [told, isMute, isClosed, refused] = [[], false, false, undefined];
  const listeners = new Set<(bytes: Uint8Array) => void>();
  const port: SerialPort = {
    path: DUST.port,
    plugged: true,
    onBytes: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    onPlug: () => () => {},
    write: async (bytes) => {
      const word = Buffer.from(bytes).toString();
      if (word === refused) throw new Error('the port is not there');
      told.push(word);
      if (word === 'READ' && !isMute) for (const listener of listeners) listener(Buffer.from('7\n'));
    },
    close: async () => {
      isClosed = true;
    },
  };
  const serial = { open: async () => port } as Partial<SerialPorts> as SerialPorts;
  const ports = { serialBuses: new SerialBuses(serial, clock) } as Partial<SensorDeps['ports']> as SensorDeps['ports'];
  const deps = { ...OF_THIS_MACHINE, ports, clock, files: new MemoryFiles(), log: silentLog, stateFolder: '/' };
  sensor = await open(sensorConfig(DUST), deps, never);
});

it('wakes the device, waits, asks it, and puts it to sleep', async () => {
  const reading = sensor.read(never);
  await clock.advance(29_900);
  expect(told).toEqual(['WORK']);
  await clock.advance(1_000);
  expect([await reading, told]).toMatchObject([[{ value: 7 }], ['WORK', 'READ', 'SLEEP']]);
});

it('puts it to sleep when the read has failed or its time is over', async () => {
  isMute = true;
  const deadline = new AbortController();
  const reading = sensor.read(deadline.signal).catch(() => 'failed');
  await clock.advance(31_000);
  deadline.abort();
  await clock.advance(1_000);
  expect([await reading, told]).toEqual(['failed', ['WORK', 'READ', 'SLEEP']]);
});

it('puts it to sleep when the agent stops in the pause, and then closes the port', async () => {
  const reading = sensor.read(never).catch(() => 'failed');
  await clock.advance(10_000);
  const closing = sensor.close();
  await clock.advance(1_000);
  await closing;
  expect([await reading, told, isClosed]).toEqual(['failed', ['WORK', 'SLEEP'], true]);
});

it('puts it to sleep when the agent stops, where that could not be sent behind the read', async () => {
  refused = 'SLEEP';
  const reading = sensor.read(never);
  await clock.advance(31_000);
  expect([await reading, told]).toMatchObject([[{ value: 7 }], ['WORK', 'READ']]);
  refused = undefined;
  const closing = sensor.close();
  await clock.advance(1_000);
  await closing;
  expect([told, isClosed]).toEqual([['WORK', 'READ', 'SLEEP'], true]);
});

it('needs a period that is longer than its pauses, and a request', () => {
  const problems = (options: object): readonly unknown[] =>
    (serialLine.faults?.(sensorSchema.parse({ ...DUST, ...options }) as never, ['sensors', 0]) ?? []).map(
      ({ problem }) => problem,
    );
  expect(problems({})).toEqual([]);
  expect(problems({ period: '20s' })).toEqual(['pauses of 30s do not fit into the']);
  expect(problems({ request: undefined })).toContain('before has no effect');
  expect(problems({ after: [{}] })).toEqual(['sends nothing']);
});
