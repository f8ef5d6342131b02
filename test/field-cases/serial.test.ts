/** Devices on serial lines as people have them: bytes instead of text, several lines to one request, damaged lines, frames. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { opener } from '../../src/actuators/serial-write/driver.ts';
import { sensorSchema } from '../../src/config/schema/sensors.ts';
import { linuxPorts } from '../../src/hardware/linux-ports.ts';
import { systemClock } from '../../src/host/clock.ts';
import { systemFiles } from '../../src/host/files.ts';
import { silentLog } from '../../src/host/log.ts';
import { createSensor } from '../../src/sensors/create-sensor.ts';
import type { Sensor } from '../../src/sensors/kind/sensor.ts';
import { PtyWire } from '../../src/simulated-board/serial-wire.ts';
import { COMMON, opensWith } from '../support/actuator-driver.ts';
import { until } from '../support/board-bench.ts';
import { OF_THIS_MACHINE, sensorConfig } from '../support/sensor-bench.ts';

const { signal } = new AbortController();
const ports = linuxPorts(systemClock, 'sysfs');
let folder: string;
let wire: PtyWire;
let sensor: Sensor | undefined;
let heard: Buffer;
/** Pieces in which the device answers what it hears. */
let answer: readonly (string | Uint8Array)[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnstone-serial-'));
  [heard, answer, sensor] = [Buffer.alloc(0), [], undefined];
  wire = new PtyWire(join(folder, 'port'), (bytes) => {
    heard = Buffer.concat([heard, bytes]);
    for (const piece of answer) wire.send(Buffer.from(piece as string));
  });
});
afterEach(async () => {
  await sensor?.close();
  wire.close();
  await rm(folder, { recursive: true });
});

async function openWith(options: Readonly<Record<string, unknown>>): Promise<Sensor> {
  const config = sensorConfig({ name: 'meter', kind: 'serial-line', port: join(folder, 'port'), ...options });
  const deps = { ...OF_THIS_MACHINE, ports, clock: systemClock, files: systemFiles, log: silentLog, stateFolder: folder };
  sensor = await createSensor(config, deps, signal);
  return sensor;
}

const pairsOf = (readings: readonly { readonly key: string; readonly value: unknown }[]) =>
  Object.fromEntries(readings.map(({ key, value }) => [key, value]));

it.each([{ request: '\xff\x01\x86\0\0\0\0\0\x79' }, { requestHex: 'FF 01 86 00 00 00 00 00 79' }])(
  'row 5: a request is the bytes as they are written: %o',
  async (request) => {
    answer = ['7\n'];
    const asked = await openWith({ ...request, format: 'number' });
    expect(pairsOf(await asked.read(AbortSignal.timeout(5_000)))).toEqual({ value: 7 });
    expect(heard.toString('hex')).toBe('ff0186000000000079');
  },
);

it('row 5: a request of characters that are no bytes is refused, and requestHex named', () => {
  const parsed = sensorSchema.safeParse({ name: 'meter', kind: 'serial-line', port: '/dev/ttyS0', request: 'Ω' });
  expect(parsed.error?.issues.map(({ message }) => message)).toEqual([expect.stringContaining('requestHex')]);
});

it('row 5: the template of an output is bytes, too', async () => {
  const config = {
    ...{
      ...COMMON,
      kind: 'serial-write' as const,
      port: join(folder, 'port'),
      baudRate: 9600,
      dataBits: 8 as const,
      parity: 'none' as const,
    },
    ...{ stopBits: 1 as const, valueType: 'number' as const, template: '\xff\x01{value}\xa5', replyTimeoutMs: 50 },
  };
  const driver = await opensWith(opener)(config, { serial: ports.serial });
  await driver.write(5, signal);
  await until('the bytes', () => heard.length >= 4);
  await driver.close();
  expect(heard.toString('hex')).toBe('ff0135a5');
});
