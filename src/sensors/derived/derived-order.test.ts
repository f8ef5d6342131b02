/** Values that are made of made values: when each is calculated, and what they remember of a source that is another one now. */
import { beforeEach, describe, expect, it } from 'vitest';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { MemoryFiles } from '../../../test/support/memory-files.ts';
import { OF_THIS_MACHINE, sensorConfig } from '../../../test/support/sensor-bench.ts';
import type { SensorConfig } from '../../config/schema/agent-config.ts';
import type { Ports } from '../../hardware/ports.ts';
import { silentLog } from '../../host/log.ts';
import type { Sensor } from '../kind/sensor.ts';
import { MeasuredValues } from '../measured-values.ts';
import type { SensorState } from '../sampler.ts';
import { open } from './driver.ts';

const { signal } = new AbortController();
let clock: FakeClock;
let files: MemoryFiles;
let values: MeasuredValues;
let heard: [string, unknown][];
beforeEach(() => {
  clock = new FakeClock();
  files = new MemoryFiles();
  values = new MeasuredValues(() => []);
  heard = [];
});

/** A derived sensor whose values go back to the others, as the sampler has it. */
async function derived(name: string, written: Readonly<Record<string, string>>): Promise<Sensor> {
  const config = sensorConfig({ name, kind: 'derived', values: written });
  const deps = {
    ...OF_THIS_MACHINE,
    ports: {} as unknown as Ports,
    clock,
    files,
    log: silentLog,
    stateFolder: '/state',
    values,
  };
  const sensor = await open(config, deps, signal);
  sensor.subscribe?.((readings) => {
    heard.push(...readings.map(({ key, value }): [string, unknown] => [key, value]));
    const stamp = { sensor: name, bootId: clock.bootId, monotonicMs: clock.monotonicMs() };
    values.recordSamples(readings.map((reading) => ({ ...stamp, ...reading })));
  });
  return sensor;
}

function measure(sensor: string, read: Readonly<Record<string, number>>): void {
  const stamp = { sensor, bootId: clock.bootId, monotonicMs: clock.monotonicMs() };
  values.recordSamples(Object.entries(read).map(([key, value]) => ({ ...stamp, key, value })));
}

describe('values made of made values', () => {
  it('are never made of a new value and an old one of the same read, of whatever sensor each is', async () => {
    await derived('late', { loss: 'power - inverter', share: 'loss / power' });
    await derived('early', { inverter: 'power * 0.5' });
    for (const power of [100, 5000, 20]) measure('meter', { power });
    expect(heard.filter(([key]) => key === 'share').map(([, value]) => value)).toEqual([0.5, 0.5, 0.5]);
  });

  it('are calculated once for each read, whatever is made of what', async () => {
    const places = Array.from({ length: 18 }, (_, at) => at);
    await derived('chain', Object.fromEntries(places.slice(2).map((at) => [`d${at}`, `d${at - 1} + d${at - 2}`])));
    measure('meter', { d0: 0, d1: 1 });
    heard = [];
    measure('meter', { d0: 0, d1: 1 });
    expect(heard.map(([key]) => key)).toEqual(places.slice(2).map((at) => `d${at}`));
    expect(heard.at(-1)?.[1]).toBe(1597);
  });

  it('come at once where the keys of all came before, as after a reload', async () => {
    measure('meter', { power: 10 });
    await derived('made', { twice: 'half * 4', half: 'power / 2' });
    expect(heard).toEqual([
      ['half', 5],
      ['twice', 20],
    ]);
  });
});

describe('what was remembered of a sensor that is another one now', () => {
  it('gives no rate and no difference, also by values between, and what is of other sensors stays', async () => {
    await derived('made', {
      kilo: 'power / 1000',
      fall: 'rate(kilo)',
      step: 'difference(power)',
      other: 'difference(level)',
    });
    measure('tank', { level: 5 });
    measure('meter', { power: 5_000_000 });
    await clock.advance(1_000);
    heard = [];
    values.forget('meter');
    measure('meter', { power: 5_000 });
    measure('tank', { level: 6 });
    expect(heard).toEqual([
      ['kilo', 5],
      ['other', 1],
    ]);
    await clock.advance(1_000);
    measure('meter', { power: 6_000 });
    expect(heard.slice(2)).toEqual([
      ['kilo', 6],
      ['step', 1_000],
      ['fall', 1],
    ]);
  });

  it('adds nothing to an integral', async () => {
    const sensor = await derived('made', { energy: 'integral(power)' });
    measure('meter', { power: 3_600_000 });
    await clock.advance(1_000);
    values.forget('meter');
    measure('meter', { power: 3_600 });
    await clock.advance(1_000);
    measure('meter', { power: 3_600 });
    await sensor.close();
    heard = [];
    await derived('made', { energy: 'integral(power)' });
    expect(heard).toEqual([['energy', 1]]);
  });
});

describe('the sum of an integral', () => {
  async function summed(name: string, written: Readonly<Record<string, string>>, rounds: number): Promise<unknown> {
    const sensor = await derived(name, written);
    for (let round = 0; round <= rounds; round += 1) {
      measure('meter', { power: 3_600, current: 7_200 });
      if (round < rounds) await clock.advance(1_000);
    }
    const [, shown] = heard.at(-1) ?? [];
    await sensor.close();
    return shown;
  }

  it.each([
    ['two folders', 'a/b'],
    ['a folder above', '../../escape'],
    ['another folder', '/etc/x'],
    ['250 letters', 'ü'.repeat(250)],
  ])('of a key of %s is kept in the folder of the counters', async (_of, key) => {
    await summed('made', { [key]: 'integral(power)' }, 10);
    expect(await summed('made', { [key]: 'integral(power)' }, 0)).toBeCloseTo(10, 9);
    expect(files.paths.filter((path) => !/^\/state\/counters\/made\.[0-9a-f]{32}\.json$/.test(path))).toEqual([]);
  });

  it('goes on when what is made of it changes, and begins at 0 when something else is summed up', async () => {
    await summed('made', { energy: 'integral(power)' }, 10);
    expect(await summed('made', { energy: 'round(rate(current) * 0 + integral( power ) / 10, 3)' }, 10)).toBe(1);
    expect(await summed('made', { energy: 'integral(current)' }, 0)).toBe(0);
    expect(await summed('made', { other: 'integral(power)' }, 0)).toBe(0);
  });

  it('is each its own where one value has two alike', async () => {
    await summed('made', { energy: 'integral(power) + integral(power)' }, 10);
    expect(await summed('made', { energy: 'integral(power) + integral(power)' }, 0)).toBeCloseTo(20, 9);
  });
});

describe('keys of several devices', () => {
  const meter = (name: string, device: string | undefined, keys: readonly string[]) =>
    sensorConfig({
      name,
      kind: 'modbus',
      connection: { transport: 'tcp', host: 'h' },
      ...(device !== undefined && { device }),
      registers: Object.fromEntries(keys.map((key, address) => [key, { address }])),
    });
  const made = (name: string, device: string | undefined) =>
    sensorConfig({ name, kind: 'derived', values: { kilo: 'power / 1000' }, ...(device !== undefined && { device }) });
  let configs: readonly SensorConfig[] = [];
  const configure = (...sensors: readonly SensorConfig[]) => {
    configs = sensors;
    values = new MeasuredValues(() => configs);
  };

  it('are taken of the expression’s own device, whichever has the same', async () => {
    configure(meter('a', 'm1', ['power']), meter('b', 'm2', ['power']), made('ofA', 'm1'), made('ofB', 'm2'));
    const told = await listened(['ofA', 'ofB']);
    measure('a', { power: 1_000 });
    measure('b', { power: 2_000 });
    measure('a', { power: 3_000 });
    expect(told).toEqual(['ofA 1', 'ofB 2', 'ofA 3']);
  });

  it('are the gateway’s where the device has none, and else those of the only one that has them', async () => {
    configure(meter('own', undefined, ['power']), meter('b', 'm2', ['power']), made('ofC', 'm3'), made('ofB', 'm2'));
    const told = await listened(['ofC', 'ofB']);
    measure('b', { power: 2_000 });
    measure('own', { power: 1_000 });
    expect(told).toEqual(['ofB 2', 'ofC 1']);
    configure(meter('b', 'm2', ['power']), made('ofGateway', undefined));
    const toldByOther = await listened(['ofGateway']);
    measure('b', { power: 2_000 });
    expect(toldByOther).toEqual(['ofGateway 2']);
  });

  it('are never guessed among several, nor taken of another one while the own one starts', async () => {
    configure(meter('a', 'm1', ['power']), meter('b', 'm2', ['power']), made('ofC', 'm3'));
    const told = await listened(['ofC']);
    measure('a', { power: 1_000 });
    measure('b', { power: 2_000 });
    expect(told).toEqual([]);
    expect(() => values.current('power', 'ofC')).toThrow('power is a key of several devices, and not of its own');
    const program = sensorConfig({ name: 'c', kind: 'command', program: '/bin/c', format: 'json', device: 'm3' });
    configure(meter('own', undefined, ['power']), program, made('ofC', 'm3'));
    const toldLater = await listened(['ofC']);
    measure('own', { power: 1_000 });
    expect(() => values.current('power', 'ofC')).toThrow(expect.objectContaining({ code: 'sensors/awaited-input' }));
    measure('c', { power: 7_000 });
    measure('own', { power: 2_000 });
    expect(toldLater).toEqual(['ofC 7']);
  });

  it('are not compared between devices when another one is meant from now on', async () => {
    const step = sensorConfig({ name: 'step', kind: 'derived', device: 'm3', values: { step: 'difference(power)' } });
    configure(
      meter('own', undefined, ['power']),
      sensorConfig({ name: 'c', kind: 'command', program: '/bin/c', format: 'json', device: 'm3' }),
      step,
    );
    values.recordState({ name: 'c', state: 'working', refused: [] } as unknown as SensorState);
    const told = await listened(['step']);
    for (const power of [10, 11]) {
      await clock.advance(1_000);
      measure('own', { power });
    }
    for (const power of [500, 502]) {
      await clock.advance(1_000);
      measure('c', { power });
    }
    expect(told).toEqual(['step 1', 'step 2']);
  });

  /** Values that these derived sensors of the configuration tell. */
  async function listened(names: readonly string[]): Promise<string[]> {
    const told: string[] = [];
    for (const name of names) {
      const config = configs.find((one) => one.name === name);
      const deps = {
        ...OF_THIS_MACHINE,
        ports: {} as unknown as Ports,
        clock,
        files,
        log: silentLog,
        stateFolder: '/state',
        values,
      };
      const sensor = await open(config as SensorConfig & { kind: 'derived' }, deps, signal);
      sensor.subscribe?.((readings) => void told.push(...readings.map(({ value }) => `${name} ${value}`)));
    }
    return told;
  }
});
