/** Units of a device's keys: under the names and in the units that the platform gets, of its own sensors alone, and bounded. */
import { describe, expect, it } from 'vitest';
import { configOf, SMALLEST } from '../../test/support/config-file.ts';
import { DevicesBench } from '../../test/support/devices-bench.ts';
import type { Log } from '../host/log.ts';
import { silentLog } from '../host/log.ts';
import { keyUnits, MAX_BYTES, MAX_KEYS } from './key-units.ts';

type Readings = ReturnType<Parameters<typeof keyUnits>[0]['states']>[number]['readings'];

const readings = (units: Readonly<Record<string, string | undefined>>): Readings =>
  Object.entries(units).map(([key, unit]) => ({
    sensor: 's',
    key,
    value: 1,
    monotonicMs: 1,
    ...(unit !== undefined && { unit }),
  })) as never;

async function bench(sensors: string, log: Log = silentLog) {
  const now = {
    config: await configOf(`${SMALLEST}\nsensors: [${sensors}]\n`),
    states: [] as { name: string; readings: Readings }[],
  };
  return { now, deps: { config: () => now.config, states: () => now.states, log } };
}

describe('units of keys', () => {
  it('are told from the first reading on, as the platform knows keys and units', async () => {
    const keys = '{ temperature: { rename: warmth }, humidity: { report: false }, pressure: { scale: 100, unit: Pa } }';
    const { now, deps } = await bench(`{ name: attic, kind: bme280, bus: 1, prefix: a., keys: ${keys} }`);
    const units = keyUnits(deps);
    now.states = [{ name: 'attic', readings: [] }];
    expect(units()).toEqual({});
    now.states = [
      { name: 'attic', readings: readings({ temperature: '°C', humidity: '%', pressure: 'hPa', other: undefined }) },
    ];
    expect(units()).toEqual({ units: { 'a.warmth': '°C', 'a.pressure': 'Pa' } });
  });

  it('are those of a window’s statistics, without its count', async () => {
    const { now, deps } = await bench(
      '{ name: attic, kind: bme280, bus: 1, window: { length: 1m, statistics: [mean, count] } }',
    );
    now.states = [{ name: 'attic', readings: readings({ temperature_mean: '°C', temperature_count: undefined }) }];
    expect(keyUnits(deps)()).toEqual({ units: { temperature_mean: '°C' } });
  });

  it('stay while a sensor is opened again, and go with it', async () => {
    const { now, deps } = await bench('{ name: attic, kind: bme280, bus: 1 }');
    const units = keyUnits(deps);
    now.states = [{ name: 'attic', readings: readings({ temperature: '°C' }) }];
    const told = units();
    now.states = [{ name: 'attic', readings: [] }];
    expect(units()).toEqual(told);
    now.config = { ...now.config, sensors: [] };
    expect(units()).toEqual({ units: {} });
  });

  it('are each device’s own', async () => {
    const { now, deps } = await bench(
      '{ name: attic, kind: bme280, bus: 1 }, { name: meter, kind: bme280, bus: 1, address: 0x77, prefix: m. }',
    );
    now.config = {
      ...now.config,
      sensors: now.config.sensors.map((one) => (one.name === 'meter' ? { ...one, device: 'm1' } : one)),
    };
    now.states = [
      { name: 'attic', readings: readings({ temperature: '°C' }) },
      { name: 'meter', readings: readings({ pressure: 'hPa' }) },
    ];
    expect([keyUnits(deps)(), keyUnits(deps, 'm1')()]).toEqual([
      { units: { temperature: '°C' } },
      { units: { 'm.pressure': 'hPa' } },
    ]);
  });

  it('are cut at a number of keys and of bytes, and that is told once', async () => {
    const told: object[] = [];
    const { now, deps } = await bench('{ name: attic, kind: bme280, bus: 1 }', {
      ...silentLog,
      warn: (fields) => void told.push(fields),
    });
    const many = (count: number, length: number) =>
      readings(Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`.padEnd(length, '_'), '°C'])));
    const units = keyUnits(deps);
    now.states = [{ name: 'attic', readings: many(MAX_KEYS + 3, 5) }];
    expect([units(), units()].map((given) => Object.keys(given.units as object).length)).toEqual([MAX_KEYS, MAX_KEYS]);
    expect(told).toEqual([{ keys: 3 }]);
    now.states = [{ name: 'attic', readings: many(MAX_KEYS, 100) }];
    const { units: cut } = units();
    expect(Buffer.byteLength(JSON.stringify(cut))).toBeLessThanOrEqual(MAX_BYTES);
    expect(Object.keys(cut as object).length).toBeGreaterThan(100);
  });

  it('are no texts of any length that a driver gives as one', async () => {
    const { now, deps } = await bench('{ name: attic, kind: bme280, bus: 1 }');
    now.states = [{ name: 'attic', readings: readings({ temperature: 'x'.repeat(40), pressure: '' }) }];
    expect(keyUnits(deps)()).toEqual({});
  });
});

it('an attached device tells the units of its own sensors, once they are read', async () => {
  const sensors = [
    { name: 'meter', kind: 'host', device: 'one' },
    { name: 'board', kind: 'host' },
  ];
  const bench = new DevicesBench({ devices: [{ name: 'one' }], sensors });
  const read = (name: string, key: string, unit: string) => {
    const state = bench.stateOf(name, 'working', { [key]: 7 });
    return { ...state, readings: state.readings.map((reading) => ({ ...reading, unit })) };
  };
  await bench.start();
  expect(bench.side('one').client).not.toHaveProperty('units');
  bench.states = [read('meter', 'power', 'W'), read('board', 'temperature', '°C')];
  await bench.clock.advance(10_000);
  expect(bench.side('one').client.units).toEqual({ power: 'W' });
  await bench.stop();
});
