/** Presets of serial devices: each reads its recorded bytes from a pty, in pieces, as a configuration that names it does. */
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { conversionOf } from '../../../src/config/fields/conversion.ts';
import { readConfig } from '../../../src/config/read-config.ts';
import { linuxPorts } from '../../../src/hardware/linux-ports.ts';
import { systemClock } from '../../../src/host/clock.ts';
import { modelFiles } from '../../../src/host/model-files.ts';
import { SensorConversion } from '../../../src/sensors/conversion/sensor-conversion.ts';
import { createSensor } from '../../../src/sensors/create-sensor.ts';
import type { Reading } from '../../../src/sensors/kind/sensor.ts';
import { PtyWire } from '../../../src/stand-ins/simulated-board/serial-wire.ts';
import { until } from '../../support/board-bench.ts';
import { SMALLEST } from '../../support/config-file.ts';
import { sensorDeps } from '../../support/sensor-bench.ts';

interface Fixture {
  readonly preset: string;
  readonly bytes: string;
  readonly values: Readonly<Record<string, number | string>>;
}

const FIXTURES = join(import.meta.dirname, '../../fixtures/presets');
const { signal } = new AbortController();
const fixtures = await Promise.all(
  (await readdir(FIXTURES))
    .filter((name) => name.endsWith('.json'))
    .map(async (name) => JSON.parse(await readFile(join(FIXTURES, name), 'utf8')) as Fixture),
);
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnstone-presets-'));
});
afterEach(() => rm(folder, { recursive: true }));

async function read(options: string) {
  const file = join(folder, 'turnstone.yaml');
  const sensor = `{ name: meter, kind: serial-line, port: ${join(folder, 'port')}, ${options} }`;
  await writeFile(file, `${SMALLEST}sensors:\n  - ${sensor}\n`, { mode: 0o600 });
  return await readConfig(file, { environment: {} });
}

it('has a recording for each preset of the release', async () => {
  const files = await modelFiles('/nowhere/turnstone.yaml', 'presets');
  expect(files.map(({ name }) => name).sort()).toEqual(fixtures.map(({ preset }) => preset).sort());
});

it.each(fixtures)('reads the recorded bytes of $preset', async ({ preset, bytes, values }) => {
  const sent = Buffer.from(bytes, 'hex');
  const send = (): void => {
    for (let at = 0; at < sent.length; at += 3) wire.send(sent.subarray(at, at + 3));
  };
  const wire = new PtyWire(join(folder, 'port'), send);
  const { config, faults } = await read(`preset: ${preset}`);
  expect(faults).toEqual([]);
  const [meter] = config?.sensors ?? [];
  if (meter === undefined) throw new Error('no sensor');
  const sensor = await createSensor(meter, sensorDeps({ ports: linuxPorts(systemClock, 'sysfs'), folder }), signal);
  const words = Object.entries(meter.keys).map(([key, rules]) => [key, conversionOf(rules)]);
  const conversion = new SensorConversion(Object.fromEntries(words), systemClock);
  try {
    const found: Record<string, unknown> = {};
    const take = (readings: readonly Reading[]): void => {
      for (const { key, value } of conversion.convert(readings)) found[key] = value;
    };
    sensor.subscribe?.(take);
    await until('all keys', async () => {
      if (sensor.speaksByItself) send();
      take(await sensor.read(AbortSignal.timeout(2_000)).catch(() => []));
      return Object.keys(found).length >= Object.keys(values).length;
    });
    const near = Object.entries(values).map(([key, value]) => [
      key,
      typeof value === 'number' ? expect.closeTo(value, 4) : value,
    ]);
    expect(found).toEqual(Object.fromEntries(near));
  } finally {
    await sensor.close();
    wire.close();
  }
});

it('takes a preset of a person, with the sensor’s own options over it, and names those that are there', async () => {
  await mkdir(join(folder, 'presets'));
  await writeFile(
    join(folder, 'presets/tank.yaml'),
    'title: Tank\nsensor: { baudRate: 1200, format: number, key: level }\n',
  );
  const { config } = await read('preset: tank, key: depth');
  expect(config?.sensors[0]).toMatchObject({ baudRate: 1200, format: 'number', key: 'depth' });
  expect((await read('preset: sds012')).faults).toMatchObject([
    { path: 'sensors[0].preset', hint: expect.stringContaining('sds011') },
  ]);
  await writeFile(join(folder, 'presets/tank.yaml'), 'title: Tank\n');
  expect((await read('preset: tank')).faults).toMatchObject([{ path: 'sensors[0].preset' }]);
});

it('tells a fault of a preset with its file, and one of the sensor’s own at its place', async () => {
  await mkdir(join(folder, 'presets'));
  const file = join(folder, 'presets/tank.yaml');
  const preset =
    'title: Tank\nsensor: { baudRate: fast, formt: csv, format: regex, pattern: "(", keys: { level: { scale: x } } }\n';
  await writeFile(file, preset);
  const told = (await read('preset: tank, keys: { level: { offset: y } }')).faults.map(
    ({ path, problem }) => `${path} ${problem}`,
  );
  expect(told.toSorted()).toEqual([
    'sensors[0].keys.level.offset wrong value',
    `sensors[0].preset the preset's file ${file} is wrong at sensor.baudRate (wrong value):`,
    `sensors[0].preset the preset's file ${file} is wrong at sensor.formt (unknown key "formt"):`,
    `sensors[0].preset the preset's file ${file} is wrong at sensor.keys.level.scale (wrong value):`,
    `sensors[0].preset the preset's file ${file} is wrong at sensor.pattern (wrong value):`,
  ]);
  expect((await read('preset: tank, baudRate: slow, formt: 1')).faults.map(({ path }) => path)).toContain(
    'sensors[0].baudRate',
  );
});

it('merges the sensor’s own words of a key with those of its preset, word by word', async () => {
  const { config } = await read('preset: dsmr, keys: { powerImport: { scale: 1, unit: kW }, gas: { min: 0 } }');
  const [{ keys } = { keys: {} }] = config?.sensors ?? [];
  expect(keys).toMatchObject({
    powerImport: { scale: 1, unit: 'kW' },
    powerExport: { scale: 1000, unit: 'W' },
    gas: { unit: 'm³', min: 0 },
  });
  const { config: dust } = await read('preset: sds011, fields: { pm10: { unit: ug }, status: { at: 9, type: uint8 } }');
  expect(dust?.sensors[0]).toMatchObject({
    fields: {
      pm10: { at: 4, order: 'little', scale: 0.1, unit: 'ug' },
      pm2_5: { at: 2 },
      status: { at: 9, type: 'uint8' },
    },
  });
  expect((await read('preset: dsmr, keys: 5')).faults).toMatchObject([{ path: 'sensors[0].keys' }]);
});

it.each([
  ["'^1-0:1\\.8\\.0\\((?<energyImport>[0-9.]+)'", ['energyImport', 'gas', 'water']],
  ["'^1-0:96\\.7\\.9\\((?<failures>[0-9]+)', keys: { failures: { min: 0 } }", ['failures', 'gas', 'water']],
])(
  'a pattern of the sensor’s own (%s) stands in place of its preset’s, with the words of its keys',
  async (own, keys) => {
    const { config, faults } = await read(`preset: dsmr, pattern: ${own}`);
    expect(faults).toEqual([]);
    const [meter] = config?.sensors ?? [];
    expect(Object.keys(meter?.keys ?? {}).sort()).toEqual(keys);
  },
);

it('tells a word for a key that the sensor’s own pattern does not give at its place', async () => {
  const { faults } = await read("preset: dsmr, pattern: '^(?<level>[0-9]+)', keys: { powerImport: { scale: 1 } }");
  expect(faults.map(({ path }) => path)).toEqual(['sensors[0].keys.powerImport']);
});

it('asks by the sensor’s own request, in either spelling, in place of its preset’s', async () => {
  const { config, faults } = await read('preset: mh-z19, request: "\\xFF\\x01\\x86"');
  expect(faults).toEqual([]);
  expect(config?.sensors[0]).toMatchObject({ request: '\xFF\x01\x86', frame: { start: 'FF 86', length: 9 } });
  expect(config?.sensors[0]).not.toHaveProperty('requestHex');
});

it('reads a device in the variant that the sensor names, and tells which there are', async () => {
  await mkdir(join(folder, 'presets'));
  const frame = 'frame: { start: "AA", length: 9 }, fields: { level: { at: 1, unit: m } }';
  const variants = '{ deep: {}, flat: { baudRate: 1200, fields: { level: { scale: 0.1 }, slope: { at: 3 } } } }';
  const preset = `title: Tank\nsensor: { ${frame} }\nvariants: ${variants}\n`;
  await writeFile(join(folder, 'presets/tank.yaml'), preset);
  const fieldsOf = async (options: string) => (await read(options)).config?.sensors[0];
  expect(await fieldsOf('preset: tank')).toMatchObject({ fields: { level: { scale: 1 } } });
  expect(await fieldsOf('preset: tank, variant: deep')).toMatchObject({ fields: { level: { scale: 1 } } });
  expect(await fieldsOf('preset: tank, variant: flat, fields: { level: { offset: 2 } }')).toMatchObject({
    baudRate: 1200,
    fields: { level: { at: 1, unit: 'm', scale: 0.1, offset: 2 }, slope: { at: 3 } },
  });
  expect((await read('preset: tank, variant: flad')).faults).toMatchObject([
    { path: 'sensors[0].variant', value: '"flad"', hint: 'did you mean "flat"?' },
  ]);
  expect((await read('preset: sds011, variant: flat')).faults).toMatchObject([
    { path: 'sensors[0].variant', problem: 'sds011 has no variants:' },
  ]);
  const { warnings, faults } = await read('format: json, variant: flat');
  expect([...faults, ...warnings]).toMatchObject([{ path: 'sensors[0].variant' }]);
});
