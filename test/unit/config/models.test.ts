/** Models of devices: every one is read over a socket as its table says, keys follow the vocabulary, and a configuration picks from them. */
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { MEASUREMENT_UNITS } from '../../../src/config/fields/measurement-keys.ts';
import { allModels } from '../../../src/config/models/find-models.ts';
import type { Model } from '../../../src/config/models/model-file.ts';
import { readConfig } from '../../../src/config/read-config.ts';
import type { SensorConfig } from '../../../src/config/schema/agent-config.ts';
import { openPorts } from '../../../src/hardware/open-ports.ts';
import { systemClock } from '../../../src/host/clock.ts';
import { createSensor } from '../../../src/sensors/create-sensor.ts';
import { SMALLEST } from '../../support/config-file.ts';
import { sensorDeps } from '../../support/sensor-bench.ts';

interface Fixture {
  readonly model: string;
  readonly from: readonly string[];
  readonly registers: Readonly<Partial<Record<'holding' | 'input' | 'coil', Readonly<Record<string, string>>>>>;
  readonly values: Readonly<Record<string, number>>;
}

const FIXTURES = join(import.meta.dirname, '../../fixtures/models');
const { signal } = new AbortController();
const fixtures: readonly Fixture[] = await Promise.all(
  (await readdir(FIXTURES))
    .filter((name) => name.endsWith('.json'))
    .map(async (name) => JSON.parse(await readFile(join(FIXTURES, name), 'utf8')) as Fixture),
);
const { models, faults } = await allModels('/nowhere/turnstone.yaml');
const fixtureOf = ({ name }: Model): Fixture | undefined => fixtures.find(({ model }) => model === name);

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnstone-models-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const read = async (meter: string) => {
  const file = join(folder, 'turnstone.yaml');
  await writeFile(file, `${SMALLEST}sensors:\n  - ${meter}\n`, { mode: 0o600 });
  return await readConfig(file, { environment: {} });
};
const meterOf = async (options: string): Promise<SensorConfig> => {
  const found = await read(
    `{ name: meter, kind: modbus, connection: { transport: tcp, host: 127.0.0.1 }, ${options} }`,
  );
  expect(found.faults).toEqual([]);
  return found.config?.sensors[0] as SensorConfig;
};
const registersOf = async (options: string) =>
  ((await meterOf(options)) as SensorConfig & { kind: 'modbus' }).registers;
const faultsOf = async (options: string) =>
  (await read(`{ name: meter, kind: modbus, connection: { transport: tcp, host: 127.0.0.1 }, ${options} }`)).faults;

describe('the models of the release', () => {
  it('are without fault, and are many', () => {
    expect(faults).toEqual([]);
    expect(models.length).toBeGreaterThanOrEqual(176);
    expect(models.filter(({ verified }) => verified === 'two-sources').length).toBeGreaterThanOrEqual(109);
  });

  it.each(models)('$name keeps to the vocabulary and says where it is from', ({ registers, sources, oneSource }) => {
    const keys = Object.keys(registers);
    expect(keys.filter((key) => !Object.hasOwn(MEASUREMENT_UNITS, key))).toEqual([]);
    for (const [key, { unit = null }] of Object.entries(registers)) expect(unit).toBe(MEASUREMENT_UNITS[key]);
    expect(oneSource.filter((key) => !keys.includes(key))).toEqual([]);
    expect(sources.length).toBeGreaterThan(0);
    const places = sources.map(({ document, repository }) => document ?? repository);
    expect(places).not.toContain(undefined);
    expect(new Set(places).size).toBe(places.length);
  });

  it.each(models)('$name has a fixture of every key that its table states', (model) => {
    const stated = Object.keys(fixtureOf(model)?.values ?? {});
    expect([...stated, ...model.oneSource].sort()).toEqual(Object.keys(model.registers).sort());
  });
});

describe('a meter by its model', () => {
  let server: Server;
  let unit: Fixture;
  const sockets = new Set<Socket>();
  beforeAll(async () => {
    server = createServer((socket) => {
      sockets.add(socket.on('error', () => {}));
      socket.on('data', (frame) => socket.write(answerOf(frame, unit)));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  });
  afterAll(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });

  it.each(fixtures)('$model gives what its table says', async (fixture) => {
    unit = fixture;
    const { port } = server.address() as { readonly port: number };
    const found = await read(
      `{ name: meter, kind: modbus, model: ${fixture.model}, connection: { transport: tcp, host: 127.0.0.1, port: ${port} } }`,
    );
    const ports = openPorts({ clock: systemClock, hardware: { board: 'linux', gpio: 'auto' } });
    const sensor = await createSensor(found.config?.sensors[0] as SensorConfig, sensorDeps({ ports, folder }), signal);
    const readings = Object.fromEntries(
      (await sensor.read(signal)).map(({ key, value, unit: of = null }) => [key, { value: Number(value), of }]),
    );
    await sensor.close();
    await ports.close();
    for (const [key, value] of Object.entries(fixture.values)) {
      expect(
        Math.abs((readings[key]?.value ?? Number.NaN) - value),
        `${key} ${readings[key]?.value} for ${value}`,
      ).toBeLessThanOrEqual(1e-9 * Math.abs(value));
      expect(readings[key]?.of).toBe(MEASUREMENT_UNITS[key]);
    }
  });
});

describe('a configuration with a model', () => {
  it('keeps the words of a register that the sensor says nothing of', async () => {
    const { powerTotal } = await registersOf(
      'model: eastron-sdm630, only: [energyImport], registers: { powerTotal: { unit: kW, scale: 0.001 } }',
    );
    expect(powerTotal).toMatchObject({ table: 'input', address: 0x34, type: 'float32', unit: 'kW', scale: 0.001 });
  });

  it('picks keys of it, and has registers of its own beside and over it', async () => {
    const registers = await registersOf(
      'model: eastron-sdm630, only: [powerTotal, energyImport], registers: { energyImport: { address: 7, scale: 2 }, alarm: { address: 9, type: bool } }',
    );
    expect(Object.keys(registers)).toEqual(['powerTotal', 'energyImport', 'alarm']);
    expect(registers.powerTotal).toMatchObject({ table: 'input', address: 0x34, type: 'float32', unit: 'W' });
    expect(registers.energyImport).toMatchObject({ table: 'holding', address: 7, type: 'uint16', scale: 2 });
  });

  it('has what the device needs on its link, beneath what it says itself', async () => {
    const connectionOf = async (own: string) => {
      const found = await read(
        `{ name: meter, kind: modbus, model: huawei-sun2000, connection: { transport: tcp, host: h${own} } }`,
      );
      return found.config?.sensors[0];
    };
    expect(await connectionOf('')).toMatchObject({ connection: { connectDelayMs: 1_000 } });
    expect(await connectionOf(', connectDelay: 5s')).toMatchObject({ connection: { connectDelayMs: 5_000 } });
  });

  it('says which model or key was meant', async () => {
    expect(await faultsOf('model: eastron-smd630')).toMatchObject([
      { path: 'sensors[0].model', value: '"eastron-smd630"', hint: 'did you mean "eastron-sdm630"?' },
    ]);
    expect(await faultsOf('model: SDM630')).toMatchObject([{ hint: 'did you mean "eastron-sdm630"?' }]);
    expect(await faultsOf('model: SDM72D-M')).toMatchObject([
      { hint: 'did you mean "eastron-sdm72" or "eastron-sdm72-v2"?' },
    ]);
    expect((await faultsOf('model: m'))[0]).not.toMatchObject({ hint: expect.anything() });
    expect(await faultsOf('model: eastron-sdm72, only: [powerTotl]')).toMatchObject([
      { path: 'sensors[0].only[0]', value: '"powerTotl"', hint: 'did you mean "powerTotal"?' },
    ]);
    expect(await faultsOf('only: [powerTotal], registers: { a: { address: 1 } }')).toMatchObject([
      { path: 'sensors[0].only' },
    ]);
  });

  it('says which models a file of its name has', async () => {
    await mkdir(join(folder, 'models'));
    const own =
      'maker: Me\nregisters: { level: { address: 5 } }\nmodels: { mymeter-a: { title: A }, mymeter-b: { title: B } }\n';
    await writeFile(join(folder, 'models/mymeter.yaml'), own);
    expect(await faultsOf('model: mymeter')).toMatchObject([{ hint: 'did you mean "mymeter-a" or "mymeter-b"?' }]);
  });

  it('takes a model of the folder beside it first, whatever its keys', async () => {
    await mkdir(join(folder, 'models'));
    const own =
      'maker: Acme\nregisters: { level: { address: 5, unit: cm } }\nmodels: { eastron-sdm72: { title: own }, eastron: { title: all } }\n';
    await writeFile(join(folder, 'models/eastron.yaml'), own);
    expect(await registersOf('model: eastron-sdm72')).toMatchObject({ level: { address: 5, unit: 'cm' } });
    expect(Object.keys(await registersOf('model: eastron-sdm120'))).toContain('powerTotal');
  });

  it('tells what is wrong with the file of a model, at the model', async () => {
    await mkdir(join(folder, 'models'));
    const broken =
      'maker: Acme\nregisters: { level: { address: 5, type: float23 } }\nmodels: { acme-x1: { title: X1 } }\n';
    await writeFile(join(folder, 'models/acme.yaml'), broken);
    const former = 'maker: Old\nregisters: { level: { address: 5, max: 9 } }\nmodels: { old-1: { title: O1 } }\n';
    await writeFile(join(folder, 'models/old.yaml'), former);
    await writeFile(join(folder, 'models/beta.yaml'), 'maker: Beta\nmodel: {}\n');
    await writeFile(join(folder, 'models/gamma.yaml'), 'maker: Gamma\nmodels: { other: { title: x } }\n');
    expect(await faultsOf('model: old-1')).toMatchObject([
      {
        path: 'sensors[0].model',
        problem: expect.stringContaining('old.yaml is wrong at old-1: registers.level.max (unknown key)'),
        hint: 'registers.level.max: 9 is now keys.level.max: 9 of the sensor',
      },
    ]);
    for (const [name, problem] of [
      ['acme-x1', /acme\.yaml is wrong at acme-x1: registers\.level\.type/],
      ['beta-1', /beta\.yaml is wrong at model/],
      ['gamma-1', /gamma\.yaml is wrong at models\.other/],
    ] as const) {
      const [fault, ...more] = await faultsOf(`model: ${name}`);
      expect(more).toEqual([]);
      expect(fault?.path).toBe('sensors[0].model');
      expect(fault?.problem).toMatch(problem);
    }
  });
});

/** Answers one Modbus TCP request for coils, holding or input registers; what no table states reads 0. */
function answerOf(frame: Buffer, { registers }: Fixture): Buffer {
  const [code, address, count] = [frame.readUInt8(7), frame.readUInt16BE(8), frame.readUInt16BE(10)];
  if (code === 1) return answerWith(frame, bitsOf(registers.coil ?? {}, address, count));
  const words = Buffer.alloc(2 * count);
  for (const [at, hex] of Object.entries(registers[code === 3 ? 'holding' : 'input'] ?? {}))
    for (const [index, pair] of (hex.match(/.{4}/g) ?? []).entries()) {
      const place = Number(at) + index - address;
      if (place >= 0 && place < count) words.writeUInt16BE(Number.parseInt(pair, 16), 2 * place);
    }
  return answerWith(frame, words);
}

function bitsOf(coils: Readonly<Record<string, string>>, address: number, count: number): Buffer {
  const bytes = Buffer.alloc(Math.ceil(count / 8));
  for (const at of Object.keys(coils).filter((one) => coils[one] === '1'))
    if (Number(at) >= address && Number(at) < address + count) {
      const place = Number(at) - address;
      bytes[place >> 3] = (bytes[place >> 3] ?? 0) | (1 << (place & 7));
    }
  return bytes;
}

function answerWith(frame: Buffer, data: Buffer): Buffer {
  const head = Buffer.from(frame.subarray(0, 9));
  head.writeUInt16BE(data.length + 3, 4);
  head.writeUInt8(data.length, 8);
  return Buffer.concat([head, data]);
}
