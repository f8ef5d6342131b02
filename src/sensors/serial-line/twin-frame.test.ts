/** Frames that twins send, as the driver reads them. */
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { type BoardBench, openBoardBench, until } from '../../../test/support/board-bench.ts';
import { sensorConfig, sensorDeps } from '../../../test/support/sensor-bench.ts';
import { open as openSerialLine } from './driver.ts';
import { twin } from './twin.ts';

let bench: BoardBench;
afterEach(() => bench.close());

it.each([
  [
    { frame: { start: '42 4d', length: 12 }, check: 'sum16', fields: { pm1: { at: 4 }, pm10: { at: 6 } } },
    { pm1: 20, pm10: 21 },
  ],
  [
    {
      frame: { start: 'aa c0', end: 'ab' },
      check: { kind: 'sum8', from: 2, at: -2 },
      fields: { t: { at: 2, order: 'little' } },
    },
    { t: 20 },
  ],
  [
    {
      frame: { start: '68', length: { at: 1, add: 4 } },
      check: 'crc16-modbus',
      fields: { a: { at: 3, type: 'float32' } },
    },
    { a: 20 },
  ],
  [
    {
      frame: { start: 'ff 86', length: 9 },
      check: { kind: 'sum8-negative', from: 1 },
      requestHex: 'FF 01',
      fields: { co2: { at: 2 } },
    },
    { co2: 20 },
  ],
  [
    {
      frame: { start: '01', length: 7 },
      check: 'lrc',
      request: '?',
      fields: { x: { at: 2, type: 'float32', order: 'little' } },
    },
    { x: 20 },
  ],
])('of %j is read', async (options, values) => {
  const written = { name: 'device', kind: 'serial-line', ...options } as const;
  const config = sensorConfig({ ...written, port: '/dev/device' });
  const talk = twin.fitting?.(config as never, []).talk ?? { kind: 'echo' };
  bench = await openBoardBench((folder) => ({ serial: [{ port: join(folder, 'device'), talk }] }));
  const sensor = await openSerialLine(
    { ...config, port: join(bench.folder, 'device') },
    sensorDeps(bench),
    AbortSignal.timeout(5_000),
  );
  let last: unknown;
  await until('a reading', async () => {
    const readings = await sensor.read(AbortSignal.timeout(2_000)).catch(() => []);
    last = Object.fromEntries(readings.map(({ key, value }) => [key, value]));
    return readings.length > 0;
  });
  expect(last).toEqual(values);
  await sensor.close();
});
