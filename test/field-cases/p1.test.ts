/** P1 telegrams of several countries, plain and encrypted, as a configuration with the preset reads them from a pty, beside what dsmr_parser reads in them. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { conversionOf } from '../../src/config/fields/conversion.ts';
import { readConfig } from '../../src/config/read-config.ts';
import { linuxPorts } from '../../src/hardware/linux-ports.ts';
import { systemClock } from '../../src/host/clock.ts';
import { SensorConversion } from '../../src/sensors/conversion/sensor-conversion.ts';
import { createSensor } from '../../src/sensors/create-sensor.ts';
import { PtyWire } from '../../src/stand-ins/simulated-board/serial-wire.ts';
import { until } from '../support/board-bench.ts';
import { SMALLEST } from '../support/config-file.ts';
import { readJsonLines, readNamedLines } from '../support/json-lines.ts';
import { sensorDeps } from '../support/sensor-bench.ts';

interface Telegram {
  readonly country: string;
  readonly maker: string;
  readonly list: string;
  readonly preset: string;
  readonly telegram?: string;
  /** Bytes of an encrypted one. */
  readonly hex?: string;
  readonly options?: Readonly<Record<string, string>>;
}
type Answer = Readonly<Record<string, readonly [value: number, unit: string]>>;

const { signal } = new AbortController();
const FIXTURES = join(import.meta.dirname, '../fixtures/meters/p1');
const plain = await readJsonLines<Telegram>(join(FIXTURES, 'telegrams.jsonl'));
const encrypted = await readJsonLines<Telegram>(join(FIXTURES, 'encrypted.jsonl'));
const answers = await readNamedLines<Answer>(join(FIXTURES, 'second-readers.jsonl'));
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnstone-p1-'));
});
afterEach(() => rm(folder, { recursive: true }));

const nameOf = ({ country, maker, list }: Telegram): string => `${country} ${maker} ${list}`;

/** Values by key, after conversion, and the codes of those that are refused. */
async function valuesOf({ preset, telegram = '', hex, options = {} }: Telegram): Promise<Record<string, unknown>> {
  const port = join(folder, 'port');
  const file = join(folder, 'turnstone.yaml');
  const keys = Object.entries(options).map(([option, value]) => `, ${option}: "${value}"`);
  const sensorText = `{ name: meter, kind: serial-line, port: ${port}, preset: ${preset}${keys.join('')} }`;
  const text = `${SMALLEST}sensors:\n  - ${sensorText}\n`;
  await writeFile(file, text, { mode: 0o600 });
  const { config, faults } = await readConfig(file, { environment: {} });
  expect(faults).toEqual([]);
  const [meter] = config?.sensors ?? [];
  if (meter === undefined) throw new Error('no sensor');
  const bytes = hex === undefined ? Buffer.from(telegram, 'latin1') : Buffer.from(hex, 'hex');
  const wire = new PtyWire(port, () => {});
  const sensor = await createSensor(meter, sensorDeps({ ports: linuxPorts(systemClock, 'sysfs'), folder }), signal);
  const words = Object.entries(meter.keys).map(([key, rules]) => [key, conversionOf(rules)]);
  const conversion = new SensorConversion(Object.fromEntries(words), systemClock);
  try {
    const found: Record<string, unknown> = {};
    await until('a telegram', async () => {
      wire.send(bytes);
      const readings = await sensor.read(AbortSignal.timeout(2_000)).catch(() => []);
      for (const { key, value } of conversion.convert(readings)) found[key] = value;
      for (const { key, fault } of sensor.refused?.() ?? []) found[key] = fault.code;
      return readings.length > 0;
    });
    return found;
  } finally {
    await sensor.close();
    wire.close();
  }
}

/** Keys of dsmr_parser, with the factor to ours by unit. */
const NAMES: Readonly<Record<string, string>> = {
  ELECTRICITY_IMPORTED_TOTAL: 'energyImport',
  ELECTRICITY_EXPORTED_TOTAL: 'energyExport',
  ELECTRICITY_USED_TARIFF_1: 'energyImportT1',
  ELECTRICITY_USED_TARIFF_2: 'energyImportT2',
  ELECTRICITY_DELIVERED_TARIFF_1: 'energyExportT1',
  ELECTRICITY_DELIVERED_TARIFF_2: 'energyExportT2',
  CURRENT_ELECTRICITY_USAGE: 'powerImport',
  CURRENT_ELECTRICITY_DELIVERY: 'powerExport',
  INSTANTANEOUS_VOLTAGE_L1: 'voltageL1',
  INSTANTANEOUS_VOLTAGE_L2: 'voltageL2',
  INSTANTANEOUS_VOLTAGE_L3: 'voltageL3',
  INSTANTANEOUS_CURRENT_L1: 'currentL1',
  INSTANTANEOUS_CURRENT_L2: 'currentL2',
  INSTANTANEOUS_CURRENT_L3: 'currentL3',
};
const FACTORS: Readonly<Record<string, number>> = { kW: 1_000, Wh: 0.001 };
/** Values of channels, whose type it tells elsewhere. */
const CHANNEL = /^(MBUS|HOURLY_GAS)_METER_READING_\d$/;
/** Quantities that the preset leaves out. */
const LEFT_OUT = /REACTIVE|ACTIVE_POWER_L\d|THRESHOLD|TRESHOLD/;

/** Values of channels, and differences to dsmr_parser 1.11.2, each with its reason. */
const BESIDE: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  'BE Sagemcom gas at 24.2.3': { gas: 29.553 },
  'BE Sagemcom gas at 24.2.3, water at 24.2.1': { gas: 1.326, water: 0.302 },
  'NL Kaifa DSMR 4.2': { gas: 981.443 },
  // The time of the heat meter stands still, which dsmr_parser leaves to its user.
  'BE any two water meters, and heat that stands still': {
    water1: 0.302,
    water2: 100.302,
    heat: 'sensors/meter-silent',
    electricity: 7.5,
  },
};

it.each([...plain, ...encrypted].map((one) => [nameOf(one), one] as const))(
  '%s has the values that dsmr_parser reads',
  async (name, one) => {
    const told = Object.entries(answers[name] ?? {}).filter(
      ([theirs]) => !CHANNEL.test(theirs) && !LEFT_OUT.test(theirs),
    );
    expect(told.length).toBeGreaterThan(0);
    const wanted = told.map(([theirs, [value, unit]]) => [
      NAMES[theirs] ?? theirs,
      expect.closeTo(value * (FACTORS[unit] ?? 1), 6),
    ]);
    expect(await valuesOf(one)).toEqual({ ...Object.fromEntries(wanted), ...BESIDE[name] });
  },
);

it('a telegram with one wrong digit gives nothing', async () => {
  const [one] = plain;
  if (one?.telegram === undefined) throw new Error('no telegram');
  const wrong = `${one.telegram.replace('260.129', '260.128')}${one.telegram}`;
  expect((await valuesOf({ ...one, telegram: wrong })).energyImportT1).toBe(260.129);
});
