import { describe, expect, it } from 'vitest';
import type { AgentConfig } from '../../../src/config/schema/agent-config.ts';
import { silentLog } from '../../../src/host/log.ts';
import { createSensor, samplerEntry } from '../../../src/sensors/create-sensor.ts';
import { configOf, SMALLEST } from '../../support/config-file.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { FewLines } from '../../support/few-lines.ts';
import { MemoryFiles } from '../../support/memory-files.ts';
import { OF_THIS_MACHINE, sensorConfig } from '../../support/sensor-bench.ts';

const deps = {
  ...OF_THIS_MACHINE,
  ports: new FewLines().ports,
  clock: new FakeClock(),
  files: new MemoryFiles(),
  log: silentLog,
  stateFolder: '/state',
};
const config = (changed: Readonly<Record<string, string>> = {}): Promise<AgentConfig> => {
  const { keys = '', above = '70', other = '5', program = '/bin/true', level = 'info' } = changed;
  return configOf(
    `${SMALLEST}
log: { level: ${level} }
sensors:
  - { name: machine, kind: host, ${keys} }
actuators:
  - { name: horn, kind: command, program: ${program}, arguments: ["{value}"], valueType: boolean }
  - { name: lamp, kind: command, program: /bin/true, arguments: ["{value}"], valueType: boolean }
rules:
  - { name: hot, when: { sensor: machine, key: temperature, above: ${above} }, set: { actuator: horn, value: on } }
  - { name: loaded, when: { sensor: other, key: load1, above: ${other} }, set: { actuator: lamp, value: on } }
`.replace('actuators:', '  - { name: other, kind: host }\nactuators:'),
  );
};
const entryOf = async (changed?: Readonly<Record<string, string>>) => {
  const all = await config(changed);
  return samplerEntry(all.sensors[0] as (typeof all.sensors)[0], deps, all);
};

const { signal } = new AbortController();

describe('a read', () => {
  const openOver = (format: Readonly<Record<string, unknown>>, stdout: string) => {
    const runProgram = async () => ({ exitCode: 0, stdout, stderr: '', cut: false });
    return createSensor(
      sensorConfig({ name: 'x', kind: 'command', program: '/bin/true', ...format }),
      { ...deps, runProgram },
      signal,
    );
  };
  const members = Object.fromEntries(Array.from({ length: 15_000 }, (_, at) => [`k${at}`, at]));

  it('gives at most a thousand keys that nobody has configured, and refuses the rest with words', async () => {
    const sensor = await openOver({}, JSON.stringify(members));
    const readings = await sensor.read(signal);
    expect([readings.length, readings.at(-1)?.key]).toEqual([1_000, 'k999']);
    expect(sensor.refused?.()).toMatchObject([
      { key: 'k1000', fault: { message: expect.stringMatching(/14000 .* at most 1000 .*paths/) } },
    ]);
  });

  it('refuses at most a thousand keys that nobody has configured', async () => {
    const sensor = await openOver({ format: 'csv' }, `1${',nan'.repeat(5_000)}`);
    expect(await sensor.read(signal)).toMatchObject([{ key: 'column1', value: 1 }]);
    expect(sensor.refused?.()).toHaveLength(1_000);
  });

  it('gives every key that is configured', async () => {
    const columns = Object.keys(members).slice(0, 2_000);
    const sensor = await openOver({ format: 'csv', columns }, columns.map(() => '1').join());
    expect(await sensor.read(signal)).toHaveLength(2_000);
    expect(sensor.refused?.()).toEqual([]);
  });
});

describe('what is made of the readings of a sensor', () => {
  it.each<Record<string, string>>([{}, { level: 'debug' }, { other: '6' }])('is the same with %o', async (changed) => {
    const [before, now] = [await entryOf(), await entryOf(changed)];
    expect(now).toMatchObject({ use: before.use, revision: before.revision });
  });

  it.each<Record<string, string>>([
    { keys: 'keys: { temperature: { deadband: 1 } }' },
    { above: '71' },
    { program: '/bin/false' },
  ])('differs with %o', async (changed) => {
    const [before, now] = [await entryOf(), await entryOf(changed)];
    expect(now.use).not.toEqual(before.use);
    expect(now.revision).toBe(before.revision);
  });
});
