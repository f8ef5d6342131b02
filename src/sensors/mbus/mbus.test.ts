/** Answers of M-Bus meters, against what another decoder reads in them, and meters on a pty. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { type BoardBench, openBoardBench } from '../../../test/support/board-bench.ts';
import { sensorConfig, sensorDeps } from '../../../test/support/sensor-bench.ts';
import type { SerialTalkConfigInput } from '../../stand-ins/simulated-board/board-config.ts';
import { mbus } from './definition.ts';
import { open as openMbus } from './driver.ts';
import { type Frame, FrameCutter, longFrame, shortFrame } from './frames.ts';
import { answerOf, type MbusAnswer } from './records.ts';
import { twin } from './twin.ts';
import { identityOf, readingsOf } from './values.ts';

const { signal } = new AbortController();

/** Type, number, function, storage, tariff, subunit, and how many bytes its VIF has. */
type Read = readonly [string, number | null, string, number, number, number, number];
interface Recorded {
  readonly meter: string;
  readonly frame: string;
  readonly records: readonly Read[];
}
const lines = await readFile(join(import.meta.dirname, '../../../test/fixtures/sensors/mbus/answers.jsonl'), 'utf8');
const recorded = lines
  .trim()
  .split('\n')
  .map((line): Recorded => JSON.parse(line));
const frameOf = (name: string) => Buffer.from(recorded.find(({ meter }) => meter === name)?.frame ?? '', 'hex');

function framesIn(...pieces: readonly Uint8Array[]) {
  const found: Frame[] = [];
  const cutter = new FrameCutter((frame) => found.push(frame));
  for (const piece of pieces) cutter.cutBytes(piece);
  return { found, cutter };
}

function answerIn(frame: Uint8Array): MbusAnswer {
  const [content] = framesIn(frame).found;
  return answerOf(content ?? new Uint8Array());
}
const valuesOf = (name: string) =>
  Object.fromEntries(readingsOf([answerIn(frameOf(name))]).map(({ key, value }) => [key, value]));

/** Quantity and divisor by the types of pyMeterBus. */
const TYPES: Readonly<Record<string, readonly [key: string, divisor: number]>> = {
  ENERGY_WH: ['Energy|energyImport', 1e3],
  ENERGY_J: ['Energy|energyImport', 3.6e6],
  VOLUME: ['volume', 1],
  POWER_W: ['heatPower|powerTotal', 1],
  POWER_J_H: ['heatPower|powerTotal', 3600],
  VOLUME_FLOW: ['flow', 1],
  FLOW_TEMPERATURE: ['temperatureFlow', 1],
  RETURN_TEMPERATURE: ['temperatureReturn', 1],
  TEMPERATURE_DIFFERENCE: ['temperatureDifference', 1],
  EXTERNAL_TEMPERATURE: ['temperature', 1],
  UNITS_FOR_HCA: ['heatCostUnits', 1],
  VOLTS: ['voltage', 1],
  AMPERE: ['current', 1],
  ON_TIME: ['onHours', 3600],
  OPERATING_TIME: ['operatingHours', 3600],
};

describe('an answer', () => {
  it.each(recorded)('of $meter has the values that pyMeterBus reads', ({ frame, records }) => {
    const readings = readingsOf([answerIn(Buffer.from(frame, 'hex'))]);
    const plain = records.filter(
      ([type, value, kind, storage, , , length]) =>
        type in TYPES &&
        value !== null &&
        kind === 'INSTANTANEOUS_VALUE' &&
        storage === 0 &&
        length === (/VOLTS|AMPERE/.test(type) ? 2 : 1),
    );
    for (const [type, value, , , tariff, subunit] of plain) {
      const [names = '', divisor = 1] = TYPES[type] ?? [];
      const ending = `${tariff === 0 ? '' : `_t${tariff}`}${subunit === 0 ? '' : `_u${subunit}`}`;
      const read = readings.filter(({ key }) => new RegExp(`^(heat|cooling)?(${names})${ending}$`).test(key));
      expect(read).toHaveLength(1);
      // The first of two values counts.
      const twice = plain.filter(([one, , , , t, u]) => TYPES[one]?.[0] === names && t === tariff && u === subunit);
      if (twice[0]?.[1] === value)
        expect(Math.abs(Number(read[0]?.value) / ((value ?? 0) / divisor || 1) - (value === 0 ? 0 : 1))).toBeLessThan(
          1e-6,
        );
    }
  });

  it('names its maker, number and medium', () => {
    const identity = identityOf(answerIn(frameOf('kamstrup_382_005'))).map(({ key, value }) => [key, value]);
    expect(Object.fromEntries(identity)).toEqual({ maker: 'KAM', serialNumber: '14839120', medium: 'electricity' });
  });

  it('has keys with tariff and subunit, and leaves out phases of the maker', () => {
    expect(valuesOf('EMU_EMU-Professional-375-M-Bus')).toMatchObject({
      energyImport_t1: 1.364,
      energyImport_t2: 0,
      energyImport_t1_u2: 7.854,
      powerTotal: -2,
      powerTotal_u2: 14,
      current: -0.066,
    });
    expect(Object.keys(valuesOf('EMU_EMU-Professional-375-M-Bus'))).not.toContain('voltage');
  });

  it.each([
    ['0b13563412', { volume: 123.456 }],
    ['0b135634f2', { volume: -23.456 }],
    ['0c13aaaaaaaa', {}],
    ['02fd48f608', { voltage: 229.4 }],
    ['02fdc8fc01f608', { voltageL1: 229.4 }],
    ['055b0000284207030000000000000080', { temperatureFlow: 42 }],
    ['04060000008004130a000000', { volume: 0.01 }],
    ['01fd1710', { fault: 16 }],
    ['0d13c3563412', { volume: 123.456 }],
    ['0d13d3563412', { volume: -123.456 }],
    ['0d13e3010000', { volume: 0.001 }],
    ['0d7803414243046d0000000004fb000a000000', { heatEnergy: 1000 }],
    ['04680a000000', { pressure: 10 }],
    ['0e0e0001000000000f123456', { heatEnergy: 100 / 3.6 }],
    ['02260a00', { operatingHours: 10 }],
    ['02270a00', { operatingHours: 240 }],
    [`0d13f0${'01'.repeat(16)}02270a00`, { operatingHours: 240 }],
    ['02400a00', { flow: 0.00006 }],
    ['0413ffffffff 02951301002f2f', { volume: -0.001 }],
    ['02fc035724462d0a00 0413d2040000', { volume: 1.234 }],
  ])('reads the record %s', (hex, values) => {
    const content = Buffer.from(`080172420000007452010400000000${hex.replaceAll(' ', '')}`, 'hex');
    const read = Object.fromEntries(readingsOf([answerOf(content)]).map(({ key, value }) => [key, value]));
    expect(Object.keys(read)).toEqual(Object.keys(values));
    for (const [key, value] of Object.entries(values)) expect(read[key]).toBeCloseTo(value, 8);
  });

  it.each(['0413', `04${'ff'.repeat(12)}`, '84ffffffffffffffffffffff', '0d13fa', '0d13bf', '04'])(
    'with a damaged record (%s) keeps those before it',
    (hex) => {
      const { records, damage, hasMore } = answerOf(
        Buffer.from(`08017242000000745201040000000004060a000000${hex}`, 'hex'),
      );
      expect([records.map(({ value }) => value), hasMore]).toEqual([[10], false]);
      expect(damage).toMatch(/\(record 2\)$/);
    },
  );

  it('of another form, or with half a header, is refused', () => {
    expect(() => answerOf(Buffer.from('080173', 'hex'))).toThrow('another form (0x73)');
    expect(() => answerOf(Buffer.from('0801724200', 'hex'))).toThrow('ends within');
  });
});

describe('a frame', () => {
  it('is found in pieces of a byte, after noise and after its own request', () => {
    const whole = frameOf('kamstrup_382_005');
    const bytes = Buffer.concat([Buffer.from('00ff68ff', 'hex'), shortFrame(0x7b, 1), whole, Buffer.of(0xe5), whole]);
    const { found } = framesIn(...[...bytes].map((byte) => Uint8Array.of(byte)));
    expect(found).toEqual([Uint8Array.from(whole.subarray(4, -2)), undefined, Uint8Array.from(whole.subarray(4, -2))]);
  });

  it('is not looked for in a flood, and is found after the next request', () => {
    const whole = frameOf('kamstrup_382_005');
    const { found, cutter } = framesIn(...Array.from({ length: 64 }, () => Buffer.alloc(4_096, 0x68)));
    expect(cutter.noise).toBeLessThan(2_000);
    cutter.reset();
    cutter.cutBytes(whole);
    expect(found).toEqual([Uint8Array.from(whole.subarray(4, -2))]);
  });

  it('with one wrong byte gives no answer', () => {
    const whole = longFrame(Uint8Array.of(8, 1, 0x72, 1, 2, 3));
    for (let at = 0; at < whole.length; at += 1) {
      const turned = Uint8Array.from(whole);
      turned[at] = (turned[at] ?? 0) ^ 0x01;
      expect(framesIn(turned).found.filter((frame) => frame !== undefined)).toEqual([]);
    }
  });
});

describe('a meter on a pty', () => {
  let bench: BoardBench;
  afterEach(() => bench.close());

  const openMeter = async (options: Readonly<Record<string, unknown>>, talk?: SerialTalkConfigInput) => {
    const written = { name: 'heat', kind: 'mbus', responseTimeout: '200ms', ...options } as const;
    const fitting = talk ??
      twin.fitting?.(sensorConfig({ ...written, port: '/dev/bus' }) as never, []).talk ?? { kind: 'echo' };
    bench = await openBoardBench((folder) => ({ serial: [{ port: join(folder, 'bus'), talk: fitting }] }));
    const port = join(bench.folder, 'bus');
    return { port, sensor: await openMbus(sensorConfig({ ...written, port }), sensorDeps(bench), signal) };
  };
  const read = async (sensor: Awaited<ReturnType<typeof openMbus>>) =>
    Object.fromEntries((await sensor.read(AbortSignal.timeout(5_000))).map(({ key, value }) => [key, value]));

  const VALUES = { heatEnergy: 1234, volume: 56.78, heatPower: 2500, temperatureFlow: 65.5, temperatureReturn: 40.2 };
  const IDENTITY = { maker: 'TST', serialNumber: '00000042', medium: 'heat' };

  it.each([1, 254, '00000042', '000000FF'])('is read at its address %s, and told of once', async (address) => {
    const { sensor } = await openMeter({ address });
    expect(await read(sensor)).toEqual({ ...IDENTITY, ...VALUES });
    expect(await read(sensor)).toEqual(VALUES);
    await sensor.close();
  });

  const telegram = (records: string) =>
    Buffer.from(longFrame(Buffer.from(`080172420000007452010400000000${records}`, 'hex'))).toString('hex');
  const request = (control: number) => Buffer.from(shortFrame(control, 1)).toString('hex');

  it('is asked on with the other frame count bit while more follows', async () => {
    const answers = {
      [request(0x40)]: 'e5',
      [request(0x7b)]: telegram('0406010000001f'),
      [request(0x5b)]: telegram('041302000000'),
    };
    const { sensor } = await openMeter({ address: 1 }, { kind: 'answers', answers });
    expect(await read(sensor)).toMatchObject({ heatEnergy: 1, volume: 0.002 });
    await sensor.close();
  });

  it('shares its bus with others, each read from its reset to its last telegram', async () => {
    const hex = (frame: Uint8Array) => Buffer.from(frame).toString('hex');
    const telegramOf = (n: number, wh: string) =>
      hex(longFrame(Buffer.from(`080${n}724200000074520104000000000406${wh}000000`, 'hex')));
    const answers = Object.fromEntries(
      [1, 2, 3].flatMap((n) => [
        [hex(shortFrame(0x40, n)), 'e5'],
        [hex(shortFrame(0x7b, n)), telegramOf(n, `0${n}`)],
      ]),
    );
    const { port, sensor } = await openMeter({ address: 1 }, { kind: 'answers', answers });
    const openOther = (address: number) =>
      openMbus(sensorConfig({ name: `heat${address}`, kind: 'mbus', port, address }), sensorDeps(bench), signal);
    const [second, third] = [await openOther(2), await openOther(3)];
    expect(await Promise.all([sensor, second, third].map(read))).toMatchObject([
      { heatEnergy: 1 },
      { heatEnergy: 2 },
      { heatEnergy: 3 },
    ]);
    await Promise.all([sensor.close(), second.close()]);
    expect(await read(third)).toEqual({ heatEnergy: 3 });
    await third.close();
  });

  it('that says without end that more follows is asked sixteen times', async () => {
    const answers = { [request(0x7b)]: telegram('0406010000001f'), [request(0x5b)]: telegram('0406010000001f') };
    const { sensor } = await openMeter({ address: 1 }, { kind: 'answers', answers });
    expect(await read(sensor)).toMatchObject({ heatEnergy: 1 });
    await sensor.close();
  });

  it('that is not the one selected is not asked', async () => {
    const forSelected = Buffer.from(shortFrame(0x7b, 253)).toString('hex');
    const { sensor } = await openMeter(
      { address: '00000043' },
      { kind: 'answers', answers: { [forSelected]: telegram('040601000000') } },
    );
    await expect(read(sensor)).rejects.toMatchObject({ code: 'sensors/silent' });
    await sensor.close();
  });

  it('has no value when it says nothing that is known, and is silent when it does not answer', async () => {
    const answers = { [request(0x7b)]: telegram('0f0102') };
    const { port, sensor } = await openMeter({ address: 1 }, { kind: 'answers', answers });
    await expect(read(sensor)).rejects.toMatchObject({ code: 'sensors/no-value', recovery: 'retry' });
    bench.board.bench.fault(port, 'hang');
    await expect(read(sensor)).rejects.toMatchObject({
      code: 'sensors/silent',
      message: expect.stringContaining('does not answer'),
    });
    await sensor.close();
  });
});

it('has texts for who it is, and numbers for all else', () => {
  const config = sensorConfig({ name: 'heat', kind: 'mbus', port: '/dev/ttyUSB0', address: 5 });
  expect(config).toMatchObject({ baudRate: 2400, parity: 'even', dataBits: 8 });
  expect(['maker', 'heatEnergy_t1'].map((key) => mbus.valueType?.(config, key))).toEqual(['string', 'number']);
});
