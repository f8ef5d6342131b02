/** Every example is right, and does what it says on the simulated board that `--simulate` would give it. */

import { chmod, copyFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { type Example, examples, exampleText } from '../../scripts/examples.ts';
import { openDriver } from '../../src/actuators/open-driver.ts';
import { boardForConfig } from '../../src/cli/board-for-config.ts';
import { readConfig } from '../../src/config/read-config.ts';
import type { AgentConfig, SensorConfig } from '../../src/config/schema/agent-config.ts';
import { systemClock } from '../../src/host/clock.ts';
import { systemFiles } from '../../src/host/files.ts';
import { silentLog } from '../../src/host/log.ts';
import { ACTUATOR_KINDS } from '../../src/kinds/actuator-kinds.ts';
import { SENSOR_KINDS } from '../../src/kinds/sensor-kinds.ts';
import { loadTwins } from '../../src/kinds/twins.ts';
import { samplerEntry } from '../../src/sensors/create-sensor.ts';
import type { Sample } from '../../src/sensors/kind/sensor.ts';
import { MeasuredValues } from '../../src/sensors/measured-values.ts';
import { Sampler } from '../../src/sensors/sampler.ts';
import type { BoardConfigInput } from '../../src/stand-ins/simulated-board/board-config.ts';
import { type BoardBench, openBoardBench, until } from '../support/board-bench.ts';
import { OF_THIS_MACHINE } from '../support/sensor-bench.ts';

const EXAMPLES = examples();
const FILES = EXAMPLES.filter(({ name }) => name.endsWith('.yaml'));
const environment = { PROVISION_KEY: 'a-provision-key', PROVISION_SECRET: 'a-provision-secret' };
const { signal } = new AbortController();
/** Drivers need no more time than this on the board. */
const FAST_MS = 300;

let bench: BoardBench | undefined;
afterEach(async () => {
  await bench?.close();
  bench = undefined;
});

/** The example as it stands; a driver file of a user's own lies where the test can reach it. */
async function example(file: Example, folder: string): Promise<AgentConfig> {
  const path = join(folder, file.name);
  const driver = join(folder, 'tank-level.mjs');
  await copyFile(EXAMPLES.find(({ name }) => name === 'tank-level.mjs')?.path ?? '', driver);
  await chmod(driver, 0o644); // a checkout may let the group write it
  await writeFile(path, exampleText(file).replace('/etc/turnstone/tank-level.mjs', driver), { mode: 0o600 });
  const { config, faults, warnings } = await readConfig(path, { environment });
  expect({ faults, warnings }).toEqual({ faults: [], warnings: [] });
  return config as AgentConfig;
}

/** Adds the part of the board that a configuration does not tell: only a user's own driver knows its chip. */
function withTank(board: BoardConfigInput, file: string): BoardConfigInput {
  if (file !== 'module.yaml') return board;
  const registers = { echo: { register: 2, width: 2 } };
  return {
    ...board,
    i2c: [
      {
        bus: 1,
        chips: [
          {
            kind: 'i2c-register',
            address: 0x70,
            options: { registers },
            signals: { echo: { kind: 'constant', value: 130 } },
          },
        ],
      },
    ],
  };
}

describe.each(FILES)('the example $name', (file) => {
  it('is right, and runs on the simulated board', async () => {
    bench = await openBoardBench(() => ({}));
    const config = await example(file, bench.folder);
    const sensors = config.sensors.map((sensor) => ({
      ...sensor,
      periodMs: Math.min(sensor.periodMs, FAST_MS),
      ...(sensor.window && { window: { ...sensor.window, lengthMs: 2 * FAST_MS } }),
    }));
    const board = withTank(boardForConfig({ ...config, sensors }, await loadTwins()), file.name);
    await bench.close();
    bench = await openBoardBench(() => board);
    await example(file, bench.folder); // the driver's file went with the first bench
    await readings(sensors, bench);
    await movements(config, bench);
    expect(config.sensors.length + config.actuators.length).toBeGreaterThan(0);
  });
});

it('there is an example for every kind of sensor and of actuator', () => {
  const kindsOf = (folder: string): readonly string[] =>
    FILES.flatMap(({ path }) => new RegExp(`src/${folder}/([^/]+)/`).exec(path)?.slice(1) ?? []);
  expect(SENSOR_KINDS.map(({ kind }) => kind).filter((kind) => !kindsOf('sensors').includes(kind))).toEqual([]);
  expect(ACTUATOR_KINDS.map(({ kind }) => kind).filter((kind) => !kindsOf('actuators').includes(kind))).toEqual([]);
});

async function readings(sensors: readonly SensorConfig[], { ports, folder }: BoardBench): Promise<void> {
  const samples: Sample[] = [];
  const values = new MeasuredValues(() => sensors);
  const deps = {
    ...OF_THIS_MACHINE,
    ports,
    clock: systemClock,
    files: systemFiles,
    log: silentLog,
    stateFolder: folder,
    values,
  };
  // The driver's copy lies in this bench's folder. A board has no broker.
  const here = sensors
    .filter(({ kind }) => kind !== 'mqtt')
    .map((sensor) => (sensor.kind === 'module' ? { ...sensor, file: join(folder, 'tank-level.mjs') } : sensor));
  const sampler = new Sampler(
    {
      clock: systemClock,
      log: silentLog,
      onSamples: (taken) => {
        samples.push(...taken);
        values.recordSamples(taken);
      },
    },
    here.map((sensor) => samplerEntry(sensor, deps)),
  );
  sampler.start(signal);
  const waiting = (): string =>
    JSON.stringify(sampler.states().filter(({ name }) => !samples.some(({ sensor }) => sensor === name)));
  await until(`a sample of each sensor; missing: ${waiting()}`, () => waiting() === '[]', 8_000).catch(
    (error: Error) => {
      throw new Error(`${error.message}: ${waiting()}`);
    },
  );
  await sampler.close();
  for (const { value } of samples) expect(value).not.toBeNull();
}

async function movements(config: AgentConfig, { ports, record }: BoardBench): Promise<void> {
  // A board has no broker.
  for (const actuator of config.actuators.filter(({ kind }) => kind !== 'mqtt')) {
    const isSwitch = actuator.kind === 'gpio-output' || ('type' in actuator && actuator.type === 'bool');
    const isText = actuator.kind === 'command' || actuator.kind === 'process';
    const driver = await openDriver(actuator, { ...OF_THIS_MACHINE, ports, clock: systemClock }, signal);
    for (const value of isSwitch ? [true, false] : isText ? ['hello'] : [20, 15]) await driver.write(value, signal);
    await driver.close();
    if (!isText)
      expect((await record()).filter(({ kind }) => kind === 'moved' || kind === 'received').length).toBeGreaterThan(0);
  }
}
