/** SunSpec units over TCP: blocks that are found, scaled, left out, found again, and the twin on the board. */
import { createServer } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { openBoardBench } from '../../../test/support/board-bench.ts';
import { sensorConfig, sensorDeps } from '../../../test/support/sensor-bench.ts';
import { boardForConfig } from '../../cli/board-for-config.ts';
import { linuxPorts } from '../../hardware/linux-ports.ts';
import { systemClock } from '../../host/clock.ts';
import { loadTwins } from '../../kinds/twins.ts';
import type { Reading } from '../kind/sensor.ts';
import { type SunspecConfig, sunspec } from './definition.ts';
import { open as openSunspec } from './driver.ts';

const { signal } = new AbortController();
const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

type Words = readonly number[];

/** Holding registers of a unit, which the test may change, and the requests that came: `address+count`. @param isAnswered whether one is. */
async function unitWith(words: Map<number, number>, isAnswered: (request: string) => boolean = () => true) {
  const requests: string[] = [];
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.on('data', (frame) => {
      const [from, count] = [frame.readUInt16BE(8), frame.readUInt16BE(10)];
      requests.push(`${from}+${count}`);
      if (!isAnswered(`${from}+${count}`)) return;
      const isThere = words.has(from) && words.has(from + count - 1);
      const pdu = isThere ? Buffer.alloc(2 + 2 * count) : Buffer.of(0x83, 2);
      if (isThere) {
        pdu.set([3, 2 * count]);
        for (let at = 0; at < count; at += 1) pdu.writeUInt16BE(words.get(from + at) ?? 0, 2 + 2 * at);
      }
      const head = Buffer.from(frame.subarray(0, 7));
      head.writeUInt16BE(pdu.length + 1, 4);
      socket.write(Buffer.concat([head, pdu]));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push(() => server.close());
  const { port } = server.address() as { readonly port: number };
  const ports = linuxPorts(systemClock, 'auto');
  closing.push(() => ports.close());
  const open = async (options: Readonly<Record<string, unknown>> = {}) => {
    const config = sensorConfig({
      name: 'roof',
      kind: 'sunspec',
      connection: { transport: 'tcp', host: '127.0.0.1', port },
      ...options,
    });
    return await openAgain({ ...config, deadlineMs: 2_000 });
  };
  const openAgain = async (config: SunspecConfig) => {
    const sensor = await openSunspec(config, sensorDeps({ ports, folder: '/' }), signal);
    closing.push(() => sensor.close());
    return sensor;
  };
  return { requests, open, openAgain, port };
}

const letters = (text: string, registers: number): Words => {
  const bytes = Buffer.from(text.padEnd(2 * registers, '\0'), 'latin1');
  return Array.from({ length: registers }, (_, at) => bytes.readUInt16BE(2 * at));
};
const common = [
  1,
  66,
  ...letters('Fronius', 16),
  ...letters('Symo', 16),
  ...letters('', 16),
  ...letters('42', 16),
  1,
  0x8000,
];
const END = [0xffff, 0];
/** Points of a block by their place; the others are not implemented. */
const block = (id: number, length: number, points: Readonly<Record<number, number>>, none = 0x8000): Words =>
  Array.from({ length: length + 2 }, (_, at) => (at === 0 ? id : at === 1 ? length : (points[at] ?? none)));
const at = (base: number, ...blocks: readonly Words[]) =>
  new Map([0x5375, 0x6e53, ...blocks.flat(), ...END].map((word, index) => [base + index, word]));
const valuesOf = (readings: readonly Reading[]) => Object.fromEntries(readings.map(({ key, value }) => [key, value]));
const meter = (power: number, factor: number) => block(203, 105, { 18: power, 22: factor & 0xffff });

it.each([
  [4321, -1, 432.1],
  [43_210, -2, 432.1],
  [432, 0, 432],
])('row 17: reads %i with the scale factor %i as %d', async (raw, factor, value) => {
  const { open } = await unitWith(at(40_000, block(101, 50, { 10: raw, 13: factor & 0xffff }, 0xffff)));
  expect(valuesOf(await (await open()).read(signal)).voltageL1).toBe(value);
});

it.each([
  ['heat sink', { 34: 0x0da0 }, { temperatureHeatSink: 34.88 }],
  ['transformer', { 35: 0xfe0c }, { temperatureTransformer: -5 }],
  ['cabinet and another place', { 33: 3512, 36: 2000 }, { temperature: 35.12, temperatureOther: 20 }],
])('an inverter that measures at the %s has no other temperature', async (_, points, expected) => {
  const { open } = await unitWith(at(40_000, block(101, 50, { ...points, 37: 0xfffe })));
  const read = await (await open()).read(signal);
  const temperatures = read.filter(({ key }) => key.startsWith('temperature'));
  expect(valuesOf(temperatures)).toEqual(expected);
  for (const { unit } of temperatures) expect(unit).toBe('°C');
});

it('an inverter with floats tells the temperature of its heat sink', async () => {
  const none = { 40: 0x7fc0, 44: 0x7fc0, 46: 0x7fc0 };
  const { open } = await unitWith(at(40_000, block(111, 60, { 42: 0x420b, 43: 0x851f, ...none }, 0)));
  const { temperatureHeatSink, ...others } = valuesOf(await (await open()).read(signal));
  expect(temperatureHeatSink).toBeCloseTo(34.88, 4);
  expect(Object.keys(others).filter((key) => key.startsWith('temperature'))).toEqual([]);
});

it('tells who it is in its first read alone, and leaves out what the device does not implement', async () => {
  const inverter = block(103, 50, {
    14: 0xff38,
    15: 1,
    16: 5001,
    17: 0xfffe,
    24: 1,
    25: 0,
    26: 0,
    33: 352,
    37: 0xffff,
    38: 4,
  });
  const { open, requests } = await unitWith(at(40_000, common, inverter));
  const sensor = await open();
  const first = await sensor.read(signal);
  expect(valuesOf(first)).toMatchObject({ maker: 'Fronius', model: 'Symo', serialNumber: '42' });
  requests.length = 0;
  const second = await sensor.read(signal);
  expect(second).toContainEqual({ key: 'powerTotal', value: -2000, unit: 'W' });
  expect(second).toContainEqual({ key: 'energyYieldTotal', value: 65.536, unit: 'kWh' });
  expect(valuesOf(second)).toMatchObject({ frequency: 50.01, temperature: 35.2, state: 4 });
  expect(second.map(({ key }) => key)).not.toContain('dcPower');
  expect(second.map(({ key }) => key)).not.toContain('maker');
  expect(sensor.refused?.()).toEqual([]);
  expect(requests).toEqual(['40070+42']);
});

it('gives its values though its name is empty', async () => {
  const nameless = [1, 66, ...letters('', 64), 1, 0x8000];
  const { open } = await unitWith(at(40_000, nameless, meter(5, 0)));
  expect(valuesOf(await (await open()).read(signal))).toMatchObject({ powerTotal: 5 });
});

it('finds the mark at 50000, at 0, and where it is told', async () => {
  for (const [base, options] of [
    [50_000, {}],
    [0, {}],
    [30_000, { base: 30_000 }],
  ] as const) {
    const { open } = await unitWith(at(base, meter(5, 0)));
    expect(valuesOf(await (await open(options)).read(signal)).powerTotal).toBe(5);
  }
  const { open } = await unitWith(at(30_000, meter(5, 0)));
  await expect((await open()).read(signal)).rejects.toThrow('no SunSpec registers at 40000, 50000, 0');
});

it('numbers trackers, and gives a key of a further block the number of the block', async () => {
  const tracker = (amps: number, volts: number, watts: number) => [
    0,
    ...letters('', 8),
    amps,
    volts,
    watts,
    ...Array.from({ length: 8 }, () => 0),
  ];
  const mppt = [
    160,
    48,
    0xfffe,
    0xffff,
    0,
    0,
    0,
    0,
    2,
    0,
    ...tracker(512, 6001, 3072),
    ...tracker(0xffff, 0xffff, 0xffff),
  ];
  const { open } = await unitWith(at(40_000, block(103, 50, { 14: 100, 15: 0 }), mppt, meter(7, 0), meter(8, 0)));
  const values = valuesOf(await (await open()).read(signal));
  expect(values).toMatchObject({
    powerTotal: 100,
    powerTotal_203: 7,
    powerTotal_203_2: 8,
    dcCurrent1: 5.12,
    dcVoltage1: 600.1,
    dcPower1: 3072,
  });
  expect(values).not.toHaveProperty('dcPower2');
  expect(valuesOf(await (await open({ blocks: [203] })).read(signal))).toMatchObject({
    powerTotal: 7,
    powerTotal_203_2: 8,
  });
});

it('finds its blocks again when the device is another one, or has them elsewhere', async () => {
  const words = at(40_000, common, block(103, 50, { 14: 100, 15: 0 }));
  const { open } = await unitWith(words);
  const sensor = await open();
  expect(valuesOf(await sensor.read(signal)).powerTotal).toBe(100);
  for (const [address, word] of at(40_000, common, meter(7, 0))) words.set(address, word);
  await expect(sensor.read(signal)).rejects.toMatchObject({ code: 'sensors/moved', recovery: 'retry' });
  expect(valuesOf(await sensor.read(signal)).powerTotal).toBe(7);
  words.clear();
  for (const [address, word] of at(50_000, meter(9, 0))) words.set(address, word);
  await expect(sensor.read(signal)).rejects.toMatchObject({ code: 'hardware/modbus-exception' });
  expect(valuesOf(await sensor.read(signal)).powerTotal).toBe(9);
});

/** A unit, and reads of it that end when it is asked for more than so many answers; each by a driver opened anew. */
async function slowUnit(words: Map<number, number>, isSilent: (request: string) => boolean = () => false) {
  let [left, deadline] = [0, new AbortController()];
  const { requests, openAgain, port } = await unitWith(words, (request) => {
    left -= 1;
    if (left >= 0 && !isSilent(request)) return true;
    deadline.abort();
    return false;
  });
  const connection = { transport: 'tcp', host: '127.0.0.1', port };
  const config = { ...sensorConfig({ name: 'roof', kind: 'sunspec', connection }), deadlineMs: 2_000 };
  const read = async (answers: number) => {
    [left, deadline] = [answers, new AbortController()];
    const sensor = await openAgain(config);
    const outcome = await sensor.read(deadline.signal).then(valuesOf, (fault: Error) => fault.message);
    await sensor.close();
    return outcome;
  };
  return { requests, read };
}

it('goes on with its search in the next read, also when it was opened again meanwhile', async () => {
  const { requests, read } = await slowUnit(at(40_000, common, meter(5, 0), meter(6, 0), meter(7, 0)));
  const blocksFound = (count: number) => `unit 1: ${count} blocks found so far, the next read looks for more`;
  expect([await read(2), await read(2), await read(2), await read(9)]).toEqual([
    ...[blocksFound(1), blocksFound(3), expect.stringContaining('deadline')],
    expect.objectContaining({ powerTotal: 5 }),
  ]);
  expect(requests.filter((request) => request === '40000+2')).toHaveLength(1);
});

it('asks for the next address of the mark where the time of a read was over at one', async () => {
  const { requests, read } = await slowUnit(at(0, meter(5, 0)));
  expect(await read(1)).toMatch(/deadline/);
  expect(await read(9)).toMatchObject({ powerTotal: 5 });
  expect(requests.filter((request) => request === '40000+2')).toHaveLength(1);
});

it('begins its search anew when three reads found nothing out', async () => {
  const words = at(40_000, common, meter(5, 0));
  const { read } = await slowUnit(words, (request) => request === '40070+2');
  expect(await read(9)).toMatch(/1 blocks found so far/);
  for (const [address, word] of at(40_000, meter(7, 0))) words.set(address, word);
  for (let reads = 0; reads < 3; reads += 1) expect(await read(9)).toMatch(/deadline/);
  expect(await read(9)).toMatchObject({ powerTotal: 7 });
});

it('does not walk a list of blocks without end', async () => {
  const words = new Map<number, number>(
    Array.from({ length: 30_000 }, (_, index) => [40_000 + index, 0] as const).filter(([address]) => address < 65_536),
  );
  words.set(40_000, 0x5375).set(40_001, 0x6e53);
  const { open, requests } = await unitWith(words);
  await expect((await open()).read(signal)).rejects.toThrow('none of those to read');
  expect(requests.length).toBeLessThan(150);
});

it('is an inverter on the simulated board', async () => {
  const config = sensorConfig({ name: 'roof', kind: 'sunspec', connection: { transport: 'tcp', host: 'roof.local' } });
  const twins = await loadTwins();
  // Only sensors and actuators are looked at, and the lockout's line.
  const all = { sensors: [config], actuators: [], rules: [], rpc: { lockout: {} } } as unknown as Parameters<
    typeof boardForConfig
  >[0];
  const bench = await openBoardBench(() => boardForConfig(all, twins));
  closing.push(() => bench.close());
  const sensor = await openSunspec({ ...config, deadlineMs: 2_000 }, sensorDeps(bench), signal);
  closing.push(() => sensor.close());
  expect(valuesOf(await sensor.read(signal))).toMatchObject({
    maker: 'Turnstone',
    serialNumber: '0001',
    currentL1: 4,
    voltageL1: 230.1,
    powerTotal: 2760,
    frequency: 50,
    powerFactorTotal: 0.999,
    energyYieldTotal: 4321,
    dcVoltage: 680.2,
    dcPower: 2810,
    state: 4,
  });
});

it('knows which keys are text', () => {
  const config = sensorConfig({ name: 'roof', kind: 'sunspec', connection: { transport: 'tcp', host: 'it' } });
  expect(['maker', 'maker_1_2', 'powerTotal'].map((key) => sunspec.valueType?.(config, key))).toEqual([
    'string',
    'string',
    'number',
  ]);
});
