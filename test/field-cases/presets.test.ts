/** Devices on serial lines whose bytes differ from those of the recorded one: fewer probes, a sign, a value that is not there. */

import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { readConfig } from '../../src/config/read-config.ts';
import { linuxPorts } from '../../src/hardware/linux-ports.ts';
import { systemClock } from '../../src/host/clock.ts';
import { createSensor } from '../../src/sensors/create-sensor.ts';
import { PtyWire } from '../../src/stand-ins/simulated-board/serial-wire.ts';
import { until } from '../support/board-bench.ts';
import { SMALLEST } from '../support/config-file.ts';
import { sensorDeps } from '../support/sensor-bench.ts';

const { signal } = new AbortController();
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnstone-presets-'));
});
afterEach(() => rm(folder, { recursive: true }));

/** Values, before conversion, that a sensor with this preset reads from a device that sends these bytes. */
async function valuesOf(preset: string, bytes: Buffer, options = ''): Promise<Record<string, unknown>> {
  const port = join(folder, 'port');
  const text = `${SMALLEST}sensors:\n  - { name: meter, kind: serial-line, port: ${port}, preset: ${preset}${options} }\n`;
  const file = join(folder, 'turnstone.yaml');
  await writeFile(file, text, { mode: 0o600 });
  const { config, faults } = await readConfig(file, { environment: {} });
  expect(faults).toEqual([]);
  const [meter] = config?.sensors ?? [];
  if (meter === undefined) throw new Error('no sensor');
  const wire = new PtyWire(port, () => wire.send(bytes));
  const sensor = await createSensor(meter, sensorDeps({ ports: linuxPorts(systemClock, 'sysfs'), folder }), signal);
  try {
    const found: Record<string, unknown> = {};
    await until('an answer', async () => {
      if (sensor.speaksByItself) wire.send(bytes);
      for (const { key, value } of await sensor.read(AbortSignal.timeout(2_000)).catch(() => [])) found[key] = value;
      return Object.keys(found).length > 0;
    });
    return found;
  } finally {
    await sensor.close();
    wire.close();
  }
}

/** Answer of a JBD battery with these probes, in 0.1 K, and what the maker puts behind them. */
function jbdFrame(probes: readonly number[], behind = ''): Buffer {
  const head = Buffer.from('052aff3813882710000c2a91000000000000205003'.padEnd(44, '4'), 'hex');
  const temperatures = Buffer.alloc(2 * probes.length);
  for (const [index, probe] of probes.entries()) temperatures.writeUInt16BE(probe, 2 * index);
  const data = Buffer.concat([head, Buffer.of(probes.length), temperatures, Buffer.from(behind, 'hex')]);
  const summed = Buffer.concat([Buffer.of(0, data.length), data]);
  const sum = -summed.reduce((total, byte) => total + byte, 0) & 0xffff;
  return Buffer.concat([Buffer.of(0xdd, 3), summed, Buffer.of(sum >> 8, sum & 0xff, 0x77)]);
}

it('a battery with one temperature probe has one temperature', async () => {
  const recorded = 'dd030019052aff3813882710000c2a9100000000000020500304010b91fbd477';
  const values = await valuesOf('jbd-bms', Buffer.from(recorded, 'hex'));
  expect(values).toMatchObject({ batteryVoltage: 13.22, batteryCurrent: -2, temperature1: 23 });
  expect(Object.keys(values)).not.toContain('temperature2');
});

it.each([
  ['no probe', jbdFrame([]), []],
  ['no probe and more behind', jbdFrame([], '0b910b91'), []],
  ['one probe and more behind', jbdFrame([2_961], '00320064'), ['temperature1']],
  ['three probes', jbdFrame([2_961, 2_971, 2_981]), ['temperature1', 'temperature2']],
])('a battery with %s has the temperatures that it counts', async (_, frame, keys) => {
  const values = await valuesOf('jbd-bms', frame);
  expect(values).toHaveProperty('batterySoc');
  expect(Object.keys(values).filter((key) => key.startsWith('temperature'))).toEqual(keys);
});

it('a field that lies in the check sum gives no value, and the others do', async () => {
  const frame = jbdFrame([2_961]);
  const values = await valuesOf(
    'jbd-bms',
    frame,
    ', fields: { sum: { at: 29, type: uint16 }, end: { at: 31, type: uint8 }, half: { at: 28, type: uint16 } }',
  );
  expect(values).toHaveProperty('temperature1');
  for (const key of ['sum', 'end', 'half']) expect(values).not.toHaveProperty(key);
});

it.each([
  ['-000997.90', '-000240.11', -997.9, -240.11],
  ['000997.90', '-000001.05', 997.9, -1.05],
])('an EasyMeter that says %s W and %s W has these powers', async (total, phase, powerTotal, powerL2) => {
  const telegram = `/ESY5Q3DB1024 V3.04\r\n\r\n1-0:1.8.0*255(00052185.7825309*kWh)\r\n1-0:41.7.0*255(${phase}*W)\r\n1-0:1.7.0*255(${total}*W)\r\n!\r\n`;
  const values = await valuesOf('d0-easymeter', Buffer.from(telegram));
  expect(values).toMatchObject({ powerTotal, powerL2 });
});

it.each([
  ['(230.1 000.0 230.0 012 50.0 13.6 --.- 00001001', 'temperature', 7],
  ['(230.1 ---.- 230.0 --- 50.0 13.6 25.0 00001001', 'load', 6],
])('a UPS that says %s gives all but what it lacks', async (line, lacking, count) => {
  const values = await valuesOf('ups-megatec', Buffer.from(`${line}\r`));
  expect(values).toMatchObject({ gridVoltage: 230.1, batteryVoltage: 13.6 });
  expect(values).not.toHaveProperty(lacking);
  expect(Object.keys(values)).toHaveLength(count);
});

it('a UPS in the cold has a temperature below zero', async () => {
  const line = '(230.1 230.1 230.0 012 50.0 13.6 -4.5 00001001\r';
  expect(await valuesOf('ups-megatec', Buffer.from(line))).toMatchObject({ temperature: -4.5, batteryVoltage: 13.6 });
});

/** Frame of VE.Direct text with its check sum, and these HEX messages put in at a place behind it. */
function veDirect(text: string, at: number, messages: string): Buffer {
  const summed = Buffer.from(`${text}\r\nChecksum\t`, 'latin1');
  const sum = -summed.reduce((total, byte) => total + byte, 0) & 0xff;
  return Buffer.concat([summed.subarray(0, at), Buffer.from(messages), summed.subarray(at), Buffer.of(sum)]);
}

const VE_TEXT = '\r\nPID\t0xA053\r\nV\t12800\r\nI\t-250\r\nPPV\t42';

it.each([
  ['between two lines', VE_TEXT.indexOf('\r\nV'), ':A0102000543\n'],
  ['within a value', VE_TEXT.indexOf('800'), ':A4F10000A00\n:7F0ED0096\n'],
  ['before the sum', VE_TEXT.length, ':A0102000543\n'],
])('a solar charger with HEX messages %s gives its frame', async (_, at, messages) => {
  const frame = veDirect(VE_TEXT, at, messages);
  const values = await valuesOf('vedirect-mppt', Buffer.concat([frame, frame]));
  expect(values).toMatchObject({ batteryVoltage: 12800, batteryCurrent: -250, dcPower: 42 });
});

it.each([
  ['rainDay', 0x1434],
  ['rainYear', 0x98cc],
])('a weather station that has no %s leaves it out alone', async (key, sum) => {
  const { bytes } = JSON.parse(
    await readFile(join(import.meta.dirname, '../fixtures/presets/davis-vantage.json'), 'utf8'),
  );
  const whole = Buffer.from(bytes, 'hex');
  const packet = whole.subarray(whole.indexOf('LOO')).subarray(0, 99);
  packet.writeUInt16BE(0xffff, key === 'rainDay' ? 50 : 54);
  packet.writeUInt16BE(sum, 97);
  const values = await valuesOf('davis-vantage', packet);
  expect(values).toHaveProperty(key === 'rainDay' ? 'rainYear' : 'rainDay');
  expect(values).not.toHaveProperty(key);
});

/** Telegram of a P1 port with these lines behind those of electricity. */
function p1Telegram(...lines: readonly string[]): Buffer {
  const summed = Buffer.from(`/FLU5\\253770234_A\r\n\r\n1-0:1.8.1(000123.456*kWh)\r\n${lines.join('\r\n')}\r\n!`);
  let sum = 0;
  for (const byte of summed) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit += 1) sum = (sum & 1) === 1 ? (sum >> 1) ^ 0xa001 : sum >> 1;
  }
  return Buffer.concat([summed, Buffer.from(`${sum.toString(16).toUpperCase().padStart(4, '0')}\r\n`)]);
}

const BELGIAN_WATER = ['0-1:24.1.0(007)', '0-1:24.2.1(200512134558S)(00389.732*m3)'];
const BELGIAN_GAS = ['0-2:24.1.0(003)', '0-2:24.2.3(200512134558S)(02559.077*m3)'];

it.each([
  ['water alone', BELGIAN_WATER, { water: 389.732 }],
  ['water and gas', [...BELGIAN_WATER, ...BELGIAN_GAS], { water: 389.732, gas: 2559.077 }],
  ['gas before water', [...BELGIAN_GAS, ...BELGIAN_WATER], { water: 389.732, gas: 2559.077 }],
  ['heat', ['0-3:24.1.0(012)', '0-3:24.2.1(200426223001S)(00012.345*GJ)'], { heat: 12.345 }],
  ['a channel beyond the fourth', ['0-12:24.1.0(007)', '0-12:24.2.1(200426223001S)(00001.500*m3)'], { water: 1.5 }],
  [
    'two gas meters, one of them dead',
    [
      '0-1:24.1.0(003)',
      '0-1:24.2.1(200426223001S)(06805.499*m3)',
      '0-2:24.1.0(003)',
      '0-2:24.2.1(170101000000W)(00001.287*m3)',
    ],
    { gas1: 6805.499, gas2: 1.287 },
  ],
  ['a gas meter, and a channel without a value', [...BELGIAN_GAS, '0-1:24.1.0(003)'], { gas: 2559.077 }],
  ['a type that nobody knows', ['0-1:24.1.0(099)', '0-1:24.2.1(200426223001S)(00001.287*m3)'], {}],
])('a P1 port with %s gives each meter its own key', async (_, lines, expected) => {
  expect(await valuesOf('dsmr', p1Telegram(...lines))).toEqual({ energyImportT1: 123.456, ...expected });
});

it('an old P1 port with water and heat gives each meter its own key', async () => {
  const lines = [
    '1-0:1.8.1(00001.001*kWh)',
    '0-1:24.1.0(7)',
    '0-1:24.3.0(161107190000)(00)(60)(1)(0-1:24.2.1)(m3)',
    '(00087.001)',
    '0-2:24.1.0(04)',
    '0-2:24.3.0(161107190000)(00)(60)(1)(0-2:24.2.1)(GJ)',
    '(00012.500)',
  ];
  const values = await valuesOf('dsmr-v2', Buffer.from(`/ISk5\\2MT382-1004\r\n\r\n${lines.join('\r\n')}\r\n!\r\n`));
  expect(values).toEqual({ energyImportT1: 1.001, water: 87.001, heat: 12.5 });
});

it.each([
  ['', 10.922],
  [', variant: bucket-0.01in', 10.922],
  [', variant: bucket-0.2mm', 8.6],
  [', variant: bucket-0.1mm', 4.3],
])('a weather station%s counts its rain by its bucket', async (variant, rain) => {
  const { bytes } = JSON.parse(
    await readFile(join(import.meta.dirname, '../fixtures/presets/davis-vantage.json'), 'utf8'),
  );
  const whole = Buffer.from(bytes, 'hex');
  const packet = whole.subarray(whole.indexOf('LOO')).subarray(0, 99);
  packet.writeUInt16LE(43, 50);
  packet.writeUInt16LE(0xffff, 54);
  packet.writeUInt16BE(crcOf(packet.subarray(0, 97)), 97);
  const values = await valuesOf('davis-vantage', packet, variant);
  expect(values.rainDay).toBeCloseTo(rain, 9);
  expect(values).not.toHaveProperty('rainYear');
});

/** Check sum of a Davis packet. */
function crcOf(bytes: Uint8Array): number {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit += 1) crc = ((crc << 1) ^ (crc & 0x8000 ? 0x1021 : 0)) & 0xffff;
  }
  return crc;
}
