/** M-Bus meters on a pty that are asked to go to another speed for their telegrams. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { bytes, openPeerBench, type PeerBench } from '../../../test/support/modbus-peer.ts';
import { sensorConfig, sensorDeps } from '../../../test/support/sensor-bench.ts';
import type { Sensor } from '../kind/sensor.ts';
import { mbus } from './definition.ts';
import { open as openMbus } from './driver.ts';
import { longFrame, shortFrame, speedOrder } from './frames.ts';

const { signal } = new AbortController();
let bench: PeerBench;
let path = '';
let sensor: Sensor | undefined;
beforeEach(async () => {
  bench = await openPeerBench();
});
afterEach(async () => {
  await sensor?.close();
  await bench.close();
});

const run = promisify(execFile);
const hex = (frame: Uint8Array | undefined) => Buffer.from(frame ?? []).toString('hex');
const lineSpeed = async () => Number((await run('stty', ['-F', path, 'speed'])).stdout);
const TELEGRAM = longFrame(bytes('080172420000007452010400000000 0406010000 00'));
const ACKNOWLEDGED = Uint8Array.of(0xe5);
const [RESET, FIRST, AGAIN] = [0x40, 0x7b, 0x5b].map((control) => hex(shortFrame(control, 1)));
const [FASTER, SLOWER] = [9600, 2400].map((speed) => hex(speedOrder(speed, 1)));

interface Habits {
  /** Speed at which it begins. */
  readonly speed?: number;
  readonly takesOrders?: boolean;
  /** Acknowledges an order, and does not go. */
  readonly isDeaf?: boolean;
  /** Speed at which its telegrams are not heard. */
  readonly mute?: number;
}

/** A meter that hears what is sent at its speed alone. */
async function meterWith({ speed = 2400, takesOrders = true, isDeaf = false, mute }: Habits) {
  let own = speed;
  const heard: string[] = [];
  path = await bench.pty((asked, send) => {
    void lineSpeed().then((now) => {
      const request = hex(asked);
      if (now !== own || now === mute) return;
      heard.push(`${now} ${request}`);
      if (request === RESET) send(ACKNOWLEDGED);
      if (request === FIRST || request === AGAIN) send(TELEGRAM);
      if (!takesOrders || (request !== FASTER && request !== SLOWER)) return;
      if (!isDeaf) own = request === FASTER ? 9600 : 2400;
      send(ACKNOWLEDGED);
    });
  });
  const config = sensorConfig({
    name: 'heat',
    kind: 'mbus',
    port: path,
    address: 1,
    responseTimeout: '300ms',
    readBaudRate: 9600,
  });
  sensor = await openMbus(config, sensorDeps(bench), signal);
  return { meter: sensor, heard, speedOf: () => own };
}
const read = async (meter: Sensor) =>
  Object.fromEntries((await meter.read(signal)).map(({ key, value }) => [key, value]));

it.each([
  [300, '6803036873 01b8'],
  [2400, '6803036873 01bb'],
  [38400, '6803036873 01bf'],
])('an order to go to %i baud is a frame of its own', (speed, begin) => {
  expect(hex(speedOrder(speed, 1))).toMatch(new RegExp(`^${begin.replace(' ', '')}`));
  expect(speedOrder(57_600, 1)).toBeUndefined();
});

it('it acknowledges at the old speed, is read at the new one, and is sent back', async () => {
  const { meter, heard, speedOf } = await meterWith({});
  expect(await read(meter)).toMatchObject({ heatEnergy: 1 });
  expect(heard).toEqual([`2400 ${RESET}`, `2400 ${FASTER}`, `9600 ${FIRST}`, `9600 ${SLOWER}`]);
  expect([speedOf(), await lineSpeed()]).toEqual([2400, 2400]);
});

it('one that does not take the order is read as it is', async () => {
  const { meter, heard } = await meterWith({ takesOrders: false });
  expect(await read(meter)).toMatchObject({ heatEnergy: 1 });
  expect(heard.at(-1)).toBe(`2400 ${FIRST}`);
});

it('one that a broken reading left at the new speed is met there, and sent back', async () => {
  const { meter, heard, speedOf } = await meterWith({ speed: 9600 });
  expect(await read(meter)).toMatchObject({ heatEnergy: 1 });
  expect(heard).toEqual([`9600 ${RESET}`, `9600 ${FIRST}`, `9600 ${SLOWER}`]);
  expect(speedOf()).toBe(2400);
});

it('one that is heard no more at the new speed is told as such, and the line goes back to the usual one', async () => {
  const { meter } = await meterWith({ mute: 9600 });
  await expect(meter.read(signal)).rejects.toMatchObject({
    code: 'sensors/silent',
    message: expect.stringMatching(
      /went to 9600 baud and answers neither there nor at 2400: .* leave out readBaudRate/,
    ),
  });
  expect(await lineSpeed()).toBe(2400);
});

it('one that acknowledges and stays is read at the old speed', async () => {
  const { meter, heard } = await meterWith({ isDeaf: true });
  expect(await read(meter)).toMatchObject({ heatEnergy: 1 });
  expect(await read(meter)).toMatchObject({ heatEnergy: 1 });
  expect(heard.filter((one) => one === `2400 ${FASTER}`)).toHaveLength(1);
});

it.each([
  ['tcp://adapter:4001', 1],
  ['rfc2217://adapter:4001', 0],
  ['/dev/ttyUSB0', 0],
])('at %s has %i faults', (port, count) => {
  const config = sensorConfig({ name: 'heat', kind: 'mbus', port, address: 1, readBaudRate: 9600 });
  expect(mbus.faults?.(config, ['sensors', 0])).toHaveLength(count);
});
