/** SML telegrams that meters sent, against what another decoder reads in them, and a meter on a pty. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { type BoardBench, openBoardBench } from '../../../test/support/board-bench.ts';
import { sensorConfig, sensorDeps } from '../../../test/support/sensor-bench.ts';
import { CODES_OF } from './definition.ts';
import { open as openSml } from './driver.ts';
import { entriesOf, type SmlEntry } from './messages.ts';
import { TelegramCutter } from './telegrams.ts';
import { twin } from './twin.ts';
import { readingsOf } from './values.ts';

const { signal } = new AbortController();

interface Recorded {
  readonly meter: string;
  readonly telegram: string;
  /** Number, scaler and unit by code. */
  readonly values: Readonly<Record<string, readonly [number, number, number]>>;
}
const lines = await readFile(join(import.meta.dirname, '../../../test/fixtures/sensors/sml/telegrams.jsonl'), 'utf8');
const recorded = lines
  .trim()
  .split('\n')
  .map((line): Recorded => JSON.parse(line));
const telegramOf = (name: string) => Buffer.from(recorded.find(({ meter }) => meter === name)?.telegram ?? '', 'hex');

/** Values of each telegram in these bytes. */
function valuesIn(...pieces: readonly Uint8Array[]) {
  const found: Record<string, unknown>[] = [];
  const cutter = new TelegramCutter((messages) =>
    found.push(Object.fromEntries(readingsOf(entriesOf(messages)).map(({ key, value }) => [key, value]))),
  );
  for (const piece of pieces) cutter.cutBytes(piece);
  return { found, cutter };
}

/** Values that smllib reads otherwise than the meter means it: a sign that is none (DZG), and a direction in the status (EMH). */
const MEANT: Readonly<Record<string, number>> = {
  'DZG_DVS-7412.2_jmberg': 356.24,
  'EMH-ED300L_delivery': -126.6,
};

describe('a telegram', () => {
  it.each(recorded)('of $meter has the values that smllib reads', ({ meter, telegram, values }) => {
    const { found } = valuesIn(Buffer.from(telegram, 'hex'));
    const wanted = Object.entries(CODES_OF).flatMap(([key, codes]) => {
      const [number, scaler, unit] =
        codes.flatMap((code) => (values[`1-0:${code}*255`] ? [values[`1-0:${code}*255`]] : []))[0] ?? [];
      if (number === undefined || scaler === undefined) return [];
      const value = Number(`${number}e${scaler - (unit === 30 ? 3 : 0)}`);
      return [[key, key === 'powerTotal' ? (MEANT[meter] ?? value) : value] as const];
    });
    expect(
      found.map((one) => Object.fromEntries(Object.entries(one).map(([key, value]) => [key, Number(value)]))),
    ).toEqual([Object.fromEntries(wanted)]);
  });

  it('is found in pieces of a byte, after noise, and after one that was cut off', () => {
    const whole = telegramOf('ITRON_OpenWay-3.HZ');
    const bytes = Buffer.concat([
      Buffer.from('1b1b00ff1b1b1b', 'hex'),
      whole,
      whole.subarray(0, 60),
      whole,
      Buffer.from('1b1b'),
    ]);
    const { found } = valuesIn(...[...bytes].map((byte) => Uint8Array.of(byte)));
    expect(found).toEqual([
      { energyImport: 8189.5949, powerTotal: 613 },
      { energyImport: 8189.5949, powerTotal: 613 },
    ]);
  });

  it.each([
    [40_200_000, '16.7.0', -4_684n, -46.84],
    [41_999_999, '36.7.0', -14_836n, -148.36],
    [42_000_000, '16.7.0', -4_684n, 608.52],
    [48_999_999, '36.7.0', -14_836n, 507],
    [49_000_000, '56.7.0', -4_684n, -46.84],
    [55_000_000, '76.7.0', -14_836n, 507],
    [58_999_999, '56.7.0', -4_684n, 608.52],
    [59_000_000, '16.7.0', -4_684n, -46.84],
  ])('of a DZG with serial number %i has its power %s with the sign that it means', (serial, code, value, watts) => {
    const identity = Buffer.concat([Buffer.from('0a01445a4700', 'hex'), Buffer.alloc(4)]);
    identity.writeUInt32BE(serial, 6);
    const entry = (name: string, rest: Partial<SmlEntry>): SmlEntry => ({
      code: Uint8Array.of(1, 0, ...name.split('.').map(Number), 255),
      status: undefined,
      unit: undefined,
      value: undefined,
      scaler: 0,
      ...rest,
    });
    const readings = readingsOf([
      entry('96.1.0', { value: identity }),
      entry(code, { value: { value, width: 2 }, scaler: -2 }),
    ]);
    expect(readings.map((reading) => reading.value)).toEqual([watts]);
  });

  it('with one bit turned gives no value', () => {
    const whole = telegramOf('ITRON_OpenWay-3.HZ');
    for (let bit = 8 * 8; bit < 8 * (whole.length - 8); bit += 1) {
      const turned = Buffer.from(whole);
      turned[bit >> 3] = (turned[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expect(valuesIn(turned).found).toEqual([]);
    }
  });

  it('keeps four bytes 1b that are a value, and is bounded in its length', () => {
    const { talk } = twin.fitting?.({} as never, []) ?? {};
    const plain = Buffer.from(talk?.kind === 'bytes' ? talk.hex : '', 'hex');
    expect(valuesIn(plain).found).toEqual([{ energyImport: 100, powerTotal: 345 }]);
    const parts: Uint8Array[] = [];
    // Check sums by smllib.
    for (const hex of [
      '1b1b1b1b01010101121b1b1b1b1b1b1b1b0000001b1b1b1b1a03be25',
      '1b1b1b1b01010101123456781b1b1b1b1a00b87b',
    ])
      new TelegramCutter((messages) => parts.push(messages)).cutBytes(Buffer.from(hex, 'hex'));
    expect(parts.map((part) => Buffer.from(part).toString('hex'))).toEqual(['121b1b1b1b', '12345678']);
    const endless = [
      Buffer.from('1b1b1b1b01010101', 'hex'),
      ...Array.from({ length: 20 }, () => Buffer.alloc(1_000, 0x77)),
      plain,
    ];
    expect(valuesIn(...endless).found).toEqual([{ energyImport: 100, powerTotal: 345 }]);
  });

  it('of nonsense is refused', () => {
    expect(() => entriesOf(Buffer.alloc(100, 0x71))).toThrow('too deep');
    expect(() => entriesOf(Buffer.from('76ffffff', 'hex'))).toThrow(RangeError);
    expect(() => entriesOf(Buffer.from('7605', 'hex'))).toThrow('ends within');
  });
});

describe('a meter on a pty', () => {
  let bench: BoardBench;
  afterEach(() => bench.close());

  it('is read, and is silent when it is', async () => {
    bench = await openBoardBench((folder) => ({
      serial: [
        {
          port: join(folder, 'head'),
          talk: { kind: 'bytes', hex: telegramOf('EMH_mME40-AE6AKF0K0').toString('hex'), periodMs: 20 },
        },
      ],
    }));
    const port = join(bench.folder, 'head');
    const sensor = await openSml(sensorConfig({ name: 'grid', kind: 'sml', port }), sensorDeps(bench), signal);
    expect(await sensor.read(AbortSignal.timeout(2_000))).toMatchObject([
      { key: 'energyImport', value: 428.8964, unit: 'kWh' },
      { key: 'powerTotal', value: 2623, unit: 'W' },
      ...[
        { key: 'powerL1', value: 2353 },
        { key: 'powerL2', value: 65 },
        { key: 'powerL3', value: 205 },
      ],
    ]);
    await sensor.close();
    bench.board.bench.fault(port, 'hang');
    const silent = await openSml(sensorConfig({ name: 'grid', kind: 'sml', port }), sensorDeps(bench), signal);
    await expect(silent.read(AbortSignal.timeout(100))).rejects.toMatchObject({
      code: 'sensors/silent',
      recovery: 'retry',
    });
    await silent.close();
  });
});
