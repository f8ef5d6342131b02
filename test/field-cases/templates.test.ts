/** Row 14: many equal meters in few lines, by templates, prefixes and YAML's own anchors. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { peekActuators } from '../../src/config/actuators-in-force.ts';
import { faultLine } from '../../src/config/fields/config-fault.ts';
import { platformKeysOf, rulesOfReading, sensorKeys } from '../../src/config/keys/sensor-keys.ts';
import { liveSettings, withLiveSetting } from '../../src/config/live-config.ts';
import { readConfig } from '../../src/config/read-config.ts';
import type { AgentConfig, SensorConfig } from '../../src/config/schema/agent-config.ts';
import { shownConfig } from '../../src/config/shown-config.ts';
import { createSensor } from '../../src/sensors/create-sensor.ts';
import { type BoardBench, openBoardBench } from '../support/board-bench.ts';
import { sensorDeps } from '../support/sensor-bench.ts';

const { signal } = new AbortController();
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnstone-templates-'));
});
afterEach(() => rm(folder, { recursive: true }));

const HEAD = `version: 1\nplatform: { url: "https://example.org", accessToken: "\${TOKEN}" }\n`;
const environment = { TOKEN: 'fixture-token' };
const TEN_METERS = `templates:
  meter: { kind: modbus, connection: { transport: tcp, host: meters.local }, registers: { power: { address: 0 }, energy: { address: 2, type: uint32 } } }
sensors:
  - { template: meter, count: 10, name: "meter{n}", prefix: "m{n}.", unitId: "{n}" }
`;

async function written(text: string): Promise<string> {
  const file = join(folder, 'turnstone.yaml');
  await writeFile(file, HEAD + text, { mode: 0o600 });
  return file;
}

async function configOf(text: string): Promise<AgentConfig> {
  const { config, faults } = await readConfig(await written(text), { environment });
  expect(faults.map((fault) => faultLine('f', fault))).toEqual([]);
  return config as AgentConfig;
}

/** Fault lines without the file's name. */
async function faultsOf(text: string): Promise<readonly string[]> {
  const { faults } = await readConfig(await written(text), { environment });
  return faults.map((fault) => faultLine('f', fault).slice(2));
}

const keysOf = (sensor: SensorConfig): readonly string[] =>
  (sensorKeys(sensor) ?? []).flatMap((key) => platformKeysOf(sensor, key));

describe('row 14: many equal meters', () => {
  it('ten meters at addresses 1 to 10 are four lines', async () => {
    const { sensors } = await configOf(TEN_METERS);
    expect(sensors.map((sensor) => [sensor.name, 'unitId' in sensor && sensor.unitId, ...keysOf(sensor)])).toEqual(
      Array.from({ length: 10 }, (_, index) => [
        `meter${index + 1}`,
        index + 1,
        `m${index + 1}.power`,
        `m${index + 1}.energy`,
      ]),
    );
  });

  it('each of them reads its own unit', async () => {
    const { sensors } = await configOf(TEN_METERS);
    const constant = (value: number) => ({ kind: 'constant' as const, value });
    const unit = (number: number) => ({
      holding: { '0': constant(number * 11), '2': constant(0), '3': constant(number) },
    });
    const units = { '3': unit(3), '10': unit(10) };
    const bench: BoardBench = await openBoardBench(() => ({ modbusTcp: [{ host: 'meters.local', port: 502, units }] }));
    for (const number of [3, 10]) {
      const sensor = await createSensor(sensors[number - 1] as SensorConfig, sensorDeps(bench), signal);
      expect((await sensor.read(signal)).map(({ key, value }) => [key, value])).toEqual([
        ['power', number * 11],
        ['energy', number],
      ]);
      await sensor.close();
    }
    await bench.close();
  });

  it('each: gives every instance its words, in names, keys, lines and numbers', async () => {
    const { sensors, actuators } = await configOf(`templates:
  meter: { kind: modbus, connection: { transport: tcp, host: "{place}.local" }, period: 1m, keys: { power: { round: 1, unit: W } } }
sensors:
  - { template: meter, each: [{ n: 21, place: roof }, { n: 22, place: cellar }], name: "{place}", prefix: "{place}_", unitId: "{n}", registers: { power: { address: "{n}" } }, keys: { power: { offset: 1 } } }
  - { count: 2, from: 5, name: "door{n}", kind: gpio-input, line: "GPIO{n}", prefix: "d{n}." }
actuators:
  - { each: [{ line: 27 }, { line: 22 }], name: "fan{n}", kind: gpio-output, line: "{line}", safe: { start: off } }
`);
    expect(sensors[1]).toMatchObject({
      name: 'cellar',
      unitId: 22,
      connection: { host: 'cellar.local' },
      periodMs: 60_000,
    });
    expect(sensors[1]).toMatchObject({
      registers: { power: { address: 22 } },
      keys: { power: { round: 1, offset: 1, unit: 'W' } },
    });
    expect(sensors.slice(2)).toMatchObject([
      { name: 'door5', line: 'GPIO5' },
      { name: 'door6', line: 'GPIO6' },
    ]);
    expect(actuators).toMatchObject([
      { name: 'fan1', line: 'GPIO27', stateKey: 'fan1State' },
      { name: 'fan2', line: 'GPIO22', stateKey: 'fan2State' },
    ]);
  });

  it.each([
    ['unitId: "{n}"', 'unitId: 3'],
    ['host: meters.local', 'host: meters.local, connectDelay: 1s'],
  ])('ten meters of which none has a place of its own are warned of: %s', async (without, fixed) => {
    const { faults, warnings } = await readConfig(await written(TEN_METERS.replace(without, fixed)), { environment });
    const told =
      'f:6:5: sensors[0]: 10 items that differ in name and prefix alone, expected a word in its place, too, such as unitId: "{n}"';
    expect([faults, warnings.map((fault) => faultLine('f', fault))]).toEqual([
      [],
      fixed.startsWith('unitId') ? [told] : [],
    ]);
  });

  it('a fault of a template is told once, at its line, with the first instance', async () => {
    const faults = await faultsOf(TEN_METERS.replace('uint32', 'uint33'));
    expect(faults).toEqual([
      expect.stringMatching(/^4:\d+: templates\.meter\.registers\.energy\.type \(meter1\): wrong value "uint33"/),
    ]);
  });

  it('a fault of one instance is told at the line of the item, with its name', async () => {
    expect(await faultsOf(TEN_METERS.replace('prefix: "m{n}.", ', ''))).toEqual([
      expect.stringMatching(
        /^6:\d+: sensors\[0\]\.name \(meter2\): key produced twice: "power", .*; meter1 gives it already; add a prefix/,
      ),
      expect.stringMatching(/^6:\d+: sensors\[0\]\.name \(meter2\): key produced twice: "energy"/),
    ]);
    expect((await faultsOf(TEN_METERS.replace('count: 10', 'count: 300'))).join()).toMatch(
      /^6:\d+: sensors\[0\]\.unitId \(meter2\d\d\)/,
    );
  });

  it.each([
    [
      'sensors: [{ template: metre, count: 2 }]',
      /sensors\[0\]\.template: unknown template "metre", expected one of meter; did you mean "meter"/,
    ],
    [
      'sensors: [{ template: meter, count: 1001 }]',
      /sensors\[0\]\.count: wrong value 1001, expected a number from 1 to 1000/,
    ],
    [
      'sensors: [{ template: meter, count: 600, name: "a{n}" }, { template: meter, count: 600, name: "b{n}" }]',
      /sensors\[1\]: more than 1000 sensors/,
    ],
    [
      'sensors: [{ template: meter, each: [1] }]',
      /sensors\[0\]\.each: wrong value a list, expected a list of mappings/,
    ],
    ['sensors: [{ template: meter, count: 1, each: [{ n: 1 }] }]', /expected either count or each/],
    ['sensors: [{ template: meter, count: two }]', /expected a number from 1 to 1000/],
  ])('what cannot be expanded is told: %s', async (sensors, fault) => {
    expect(await faultsOf(`templates: { meter: { kind: host } }\n${sensors}\n`)).toEqual([
      expect.stringMatching(fault),
    ]);
  });

  it('beside a kind, template is the option of that kind', async () => {
    const { actuators } =
      await configOf(`templates: { line: { kind: serial-write, template: "S{n}={value}\\n", port: /dev/ttyUSB0 } }
actuators:
  - { template: line, each: [{ n: 4 }], name: "line{n}" }
`);
    expect(actuators).toMatchObject([{ name: 'line4', template: 'S4={value}\n' }]);
  });

  it('a template has no template in it, and all items together are bounded', async () => {
    expect(await faultsOf('templates: { a: { template: b } }\n')).toEqual([
      expect.stringMatching(/a template within a template/),
    ]);
    const registers = Array.from({ length: 200 }, (_, at) => `r${at}: { address: ${at} }`).join(', ');
    const large = TEN_METERS.replace(/registers: .*\n/, `registers: { ${registers} } }\n`).replace(
      'count: 10',
      'count: 900',
    );
    expect(await faultsOf(large)).toEqual([expect.stringMatching(/sensors\[0\]: too much from templates/)]);
  });

  it('live settings reach an expanded sensor by its name', async () => {
    const config = await configOf(TEN_METERS);
    expect(liveSettings(config).map(({ key }) => key)).toContain('sensors.meter3.period');
    const changed = withLiveSetting(config, 'sensors.meter3.period', '30s');
    expect('config' in changed && changed.config.sensors.map(({ periodMs }) => periodMs / 1_000)).toEqual([
      ...[10, 10, 30, 10, 10],
      ...[10, 10, 10, 10, 10],
    ]);
  });

  it('the shown configuration has the expanded ones, and no secret', async () => {
    const { text } = await shownConfig(HEAD + TEN_METERS, environment);
    expect(text).toContain('name: meter10');
    expect(text).toContain('prefix: m10.');
    expect(text).not.toContain('[secret]\n  meter');
    expect(text).not.toContain('fixture-token');
  });

  it('the stop hook finds the outputs of a template, also when a sensor’s template is unknown', async () => {
    const file = await written(
      'sensors: [{ template: none }]\nactuators: [{ count: 2, name: "fan{n}", kind: gpio-output, line: "GPIO2{n}", safe: { crash: off } }]\n',
    );
    const { actuators, faults } = await peekActuators(file, environment);
    expect(actuators.map(({ name }) => name)).toEqual(['fan1', 'fan2']);
    expect(faults).toEqual([expect.stringContaining('unknown template')]);
  });
});

describe('row 14: prefixes and anchors', () => {
  it('a prefix stands before every key at the platform, also a renamed one and a statistic', async () => {
    const { sensors } = await configOf(
      'sensors: [{ name: a, kind: lm75, bus: 1, address: 72, prefix: "roof.", window: { length: 1m, statistics: [mean, count] }, keys: { temperature: { rename: t } } }]\n',
    );
    const [sensor] = sensors as [SensorConfig];
    expect(keysOf(sensor)).toEqual(['roof.t_mean', 'roof.t_count']);
    expect(['temperature_mean', 'temperature_count'].map((key) => rulesOfReading(sensor, key)?.rename)).toEqual(
      keysOf(sensor),
    );
    expect(rulesOfReading({ ...sensor, keys: {} }, 'temperature_mean')?.rename).toBe('roof.temperature_mean');
  });

  it('anchors and merge keys make equal meters, the own keys of each first', async () => {
    const { sensors } = await configOf(`sensors:
  - &meter { name: a, prefix: a., kind: modbus, connection: { transport: tcp, host: meters.local }, registers: { power: { address: 0 } } }
  - { <<: *meter, name: b, prefix: b., unitId: 2 }
  - { name: c, prefix: c., <<: [{ unitId: 3 }, *meter] }
`);
    expect(sensors.map((sensor) => [sensor.name, 'unitId' in sensor && sensor.unitId, ...keysOf(sensor)])).toEqual([
      ['a', 1, 'a.power'],
      ['b', 2, 'b.power'],
      ['c', 3, 'c.power'],
    ]);
  });

  it('a fault in merged keys stands where they are written, and a merge of no mapping is told', async () => {
    const merged = `sensors:
  - &a { name: a, prefix: a., kind: lm75, bus: 1, address: 72, period: 10 s }
  - { <<: *a, name: b, prefix: b., address: 73 }
`;
    expect(await faultsOf(merged)).toEqual([
      expect.stringMatching(/^4:\d+: sensors\[0\]\.period/),
      expect.stringMatching(/^4:\d+: sensors\[1\]\.period/),
    ]);
    expect(await faultsOf('sensors: [{ <<: 5, name: a, kind: host }]\n')).toEqual([
      expect.stringMatching(/<< without a mapping/),
    ]);
  });
});
