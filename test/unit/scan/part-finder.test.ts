/** What is connected to the board of a running agent: found through its own ports, beside its sensors. */
import type { PromisifiedBus } from 'i2c-bus';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { AgentConfig } from '../../../src/config/schema/agent-config.ts';
import type { I2cBus } from '../../../src/hardware/i2c-port.ts';
import { LinuxI2c } from '../../../src/hardware/linux-i2c.ts';
import type { ModbusPort, SerialConnection } from '../../../src/hardware/modbus-port.ts';
import type { Ports } from '../../../src/hardware/ports.ts';
import { type Clock, systemClock } from '../../../src/host/clock.ts';
import { systemFiles } from '../../../src/host/files.ts';
import { silentLog } from '../../../src/host/log.ts';
import type { FoundParts } from '../../../src/operations/part-operations.ts';
import '../../../src/scan/find-parts.ts';
import { PartFinder } from '../../../src/scan/part-finder.ts';
import { loadDrivers, samplerEntry } from '../../../src/sensors/create-sensor.ts';
import { Sampler } from '../../../src/sensors/sampler.ts';
import { type BoardBench, openBoardBench } from '../../support/board-bench.ts';
import { configOf, SMALLEST } from '../../support/config-file.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { FewLines } from '../../support/few-lines.ts';
import { BME280, kernelDevices, SHT3X } from '../../support/kernel-devices.ts';
import { OF_THIS_MACHINE, sensorConfig, sensorDeps } from '../../support/sensor-bench.ts';

const constant = (value: number) => ({ kind: 'constant', value }) as const;
const ROOM = { temperature: constant(21.3), humidity: constant(45), pressure: constant(1013.2) };
/** Listening takes a hundredth of its time: what speaks here does not pause. */
const QUICK: Clock = { ...systemClock, sleep: (ms, signal) => systemClock.sleep(ms / 100, signal) };
const { signal: never } = new AbortController();
const UNITS = [4, 5, 6];
/** Registers of an ABB B23 that tell its type. */
const B23 = { 35168: constant(0x4232), 35169: constant(0x3320), 0: constant(0) };

/** A device that says a value again and again. */
const lines = (key: string) =>
  ({ kind: 'lines', format: 'json', periodMs: 5, values: { [key]: { signal: constant(2.5) } } }) as const;

let bench: BoardBench;
beforeEach(async () => {
  bench = await openBoardBench((folder) => ({
    i2c: [
      {
        bus: 1,
        chips: [
          { kind: 'bme280', address: 0x76, signals: ROOM },
          { kind: 'bme280', address: 0x77, signals: ROOM },
          { kind: 'tmp102', address: 0x49, signals: { temperature: constant(20) } },
        ],
      },
      { bus: 3, chips: [{ kind: 'bme280', address: 0x76, signals: ROOM }] },
    ],
    oneWire: [
      { id: '28-0316a2794aff', signal: constant(20) },
      { id: '28-0316a2794bbb', signal: constant(18.5) },
    ],
    serial: [
      { port: `${folder}/ttyWeather`, talk: lines('wind') },
      { port: `${folder}/ttyFree`, talk: lines('flow') },
      { port: `${folder}/ttyMeter`, talk: { kind: 'modbus', units: { 5: { holding: B23 }, 6: {} } } },
    ],
  }));
});
afterEach(() => bench.close());

const configured = (more = ''): Promise<AgentConfig> =>
  configOf(`${SMALLEST}sensors:
  - { name: room, kind: bme280, bus: 1, address: 0x76, keys: { temperature: { rename: temperature2 } } }
  - { name: bme280, kind: bme280, bus: 3, address: 0x76, prefix: cellar. }
  - { name: pipe, kind: ds18b20, id: 28-0316a2794aff, enabled: false }
  - { name: wind, kind: serial-line, port: ${bench.folder}/ttyWeather, format: json }
${more}`);

/** Ports that note each transfer on the buses and each serial port that is opened. */
function watched(ports: Ports): { readonly ports: Ports; readonly transfers: string[]; readonly opened: string[] } {
  const transfers: string[] = [];
  const opened: string[] = [];
  const noted = (bus: I2cBus): I2cBus =>
    new Proxy(bus, {
      get: (of, name) => {
        const member = Reflect.get(of, name);
        if (typeof member !== 'function' || name === 'close') return member;
        return (address: number, ...rest: unknown[]) => {
          transfers.push(`${of.name} 0x${address.toString(16)} ${String(name)}`);
          return member.call(of, address, ...rest);
        };
      },
    });
  const { i2c, serial } = ports;
  const openOne =
    <S extends { readonly port: string }, P>(open: (settings: S, signal: AbortSignal) => Promise<P>) =>
    (settings: S, signal: AbortSignal): Promise<P> => {
      opened.push(settings.port);
      return open(settings, signal);
    };
  return {
    transfers,
    opened,
    ports: {
      ...ports,
      i2c: { ...i2c, openBus: async (bus, signal) => noted(await i2c.openBus(bus, signal)) },
      serial: { ...serial, open: openOne((settings, signal) => serial.open(settings, signal)) },
      modbus: {
        close: async () => {},
        open: openOne((settings: SerialConnection, signal) =>
          ports.modbus.open(settings, signal),
        ) as ModbusPort['open'],
      },
    },
  };
}

function finderOn(ports: Ports, config: AgentConfig, clock: Clock = QUICK): PartFinder {
  const configFile = `${bench.folder}/turnstone.yaml`;
  return new PartFinder({
    ...OF_THIS_MACHINE,
    ports,
    clock,
    files: systemFiles,
    config: () => config,
    configFile,
    units: UNITS,
  });
}

const partAt = ({ found }: FoundParts, id: string) => found.find((part) => part.id === id);

describe('a search of all places', () => {
  it('gives what nobody uses with a section and a reading, and what is in use with its name', async () => {
    const parts = await finderOn(bench.ports, await configured()).find(undefined, never);
    expect(parts.faults).toEqual([]);
    expect(partAt(parts, 'i2c-1-0x77')).toEqual({
      id: 'i2c-1-0x77',
      place: 'I2C bus 1, address 0x77',
      what: 'BME280: temperature, pressure, humidity',
      readings: [/^temperature 21\.\d+ °C$/, /^pressure 101\d/, /^humidity 4\d/].map((text) =>
        expect.stringMatching(text),
      ),
      sensor: expect.objectContaining({ name: 'bme2802', kind: 'bme280', bus: 1, address: 0x77 }),
    });
    expect(partAt(parts, 'i2c-1-0x76')).toEqual({
      id: 'i2c-1-0x76',
      place: 'I2C bus 1, address 0x76',
      what: 'BME280: temperature, pressure, humidity',
      usedBy: 'room',
    });
    expect(partAt(parts, 'one-wire-28-0316a2794aff')).toMatchObject({ usedBy: 'pipe' });
    expect(partAt(parts, 'one-wire-28-0316a2794bbb')?.sensor).toMatchObject({ name: 'thermometer', kind: 'ds18b20' });
    expect(parts.found.find(({ sensor }) => sensor?.kind === 'serial-line')?.sensor).toMatchObject({
      port: `${bench.folder}/ttyFree`,
      format: 'json',
    });
    expect(parts.ports).toEqual([
      { port: `${bench.folder}/ttyWeather`, usedBy: 'wind' },
      { port: `${bench.folder}/ttyFree` },
      { port: `${bench.folder}/ttyMeter` },
    ]);
  });

  it('gives sections that the configuration in force takes all at once', async () => {
    const { found } = await finderOn(bench.ports, await configured()).find(undefined, never);
    const added = found.flatMap(({ sensor }) => (sensor === undefined ? [] : [sensor]));
    expect(added.length).toBeGreaterThan(3);
    const config = await configured(added.map((section) => `  - ${JSON.stringify(section)}\n`).join(''));
    expect(config.sensors).toHaveLength(4 + added.length);
  });

  it('touches no chip and opens no port that a sensor has', async () => {
    const { ports, transfers, opened } = watched(bench.ports);
    await finderOn(ports, await configured()).find(undefined, never);
    expect(transfers.some((one) => one.startsWith('i2c-1 0x77'))).toBe(true);
    expect(transfers.filter((one) => /^i2c-[13] 0x76/.test(one))).toEqual([]);
    expect([...new Set(opened)].sort()).toEqual([`${bench.folder}/ttyFree`, `${bench.folder}/ttyMeter`]);
  });

  it('writes nothing to a chip that is only likely, beside the numbers of registers', async () => {
    const { ports, transfers } = watched(bench.ports);
    const parts = await finderOn(ports, await configured()).find(undefined, never);
    expect(partAt(parts, 'i2c-1-0x49')).toMatchObject({
      what: 'probably TMP102: temperature',
      sensor: { kind: 'tmp102' },
    });
    expect(partAt(parts, 'i2c-1-0x49')).not.toHaveProperty('readings');
    expect(transfers.filter((one) => /0x49 write/.test(one))).toEqual([]);
  });

  it('writes nothing on a bus while a driver of a user’s own may use its chips, and says so', async () => {
    const { ports, transfers } = watched(bench.ports);
    const config = await configured();
    const own = sensorConfig({ name: 'own', kind: 'module', file: '/nowhere/own.mjs' });
    const parts = await finderOn(ports, { ...config, sensors: [...config.sensors, own] }).find(undefined, never);
    expect(parts.faults).toContainEqual(expect.stringMatching(/^I2C bus 1: .*as own may use one of them$/));
    expect(partAt(parts, 'i2c-1-0x77')?.what).toBe('an unknown chip');
    expect(transfers.filter((one) => !one.endsWith(' probe'))).toEqual([]);
  });

  it('is one at a time, and ends when its asker goes', async () => {
    const finder = finderOn(bench.ports, await configured(), systemClock);
    const asker = new AbortController();
    const first = finder.find(undefined, asker.signal);
    await expect(finder.find(undefined, never)).rejects.toMatchObject({ code: 'scan/busy', recovery: 'retry' });
    asker.abort();
    await expect(first).rejects.toThrow();
    expect((await finderOn(bench.ports, await configured()).find(undefined, never)).found).not.toEqual([]);
  });
});

describe('a search of a Modbus line', () => {
  it('gives its units with models, and asks on no port that is in use or is none', async () => {
    const { ports, opened } = watched(bench.ports);
    const finder = finderOn(ports, await configured(), systemClock);
    const port = `${bench.folder}/ttyMeter`;
    const parts = await finder.find({ port, baudRate: 9_600 }, never);
    expect(partAt(parts, `modbus-${port}-5`)).toMatchObject({
      place: `${port}, 9600 baud, unit 5`,
      what: expect.stringMatching(/^ABB B23/),
      sensor: { name: 'unit5', kind: 'modbus', prefix: 'unit5.', unitId: 5, model: 'abb-b23' },
    });
    expect(partAt(parts, `modbus-${port}-6`)).not.toHaveProperty('sensor');
    const used = finder.find({ port: `${bench.folder}/ttyWeather`, baudRate: 9_600 }, never);
    await expect(used).rejects.toMatchObject({ code: 'scan/port-in-use', message: expect.stringContaining('wind') });
    await expect(finder.find({ port: '/etc/hostname', baudRate: 9_600 }, never)).rejects.toMatchObject({
      code: 'scan/no-port',
    });
    expect([...new Set(opened)]).toEqual([port]);
  });
});

describe('sensors on the same bus', () => {
  it('miss no reading while it is searched', async () => {
    const clock = new FakeClock();
    const transferMs = 20;
    // Each transfer takes its time; one chip is there.
    const transfer = async (address: number): Promise<void> => {
      await clock.sleep(transferMs, never);
      if (address !== 0x49) throw Object.assign(new Error('no chip'), { code: 'ENXIO' });
    };
    const adapter = {
      i2cFuncs: async () => ({ smbusReceiveByte: true, smbusReadWord: true, smbusReadI2cBlock: true, i2c: true }),
      receiveByte: transfer,
      readI2cBlock: async (address: number, _register: number, length: number) => {
        await transfer(address);
        return { bytesRead: length };
      },
      i2cWrite: transfer,
      i2cRead: async (address: number, length: number) => {
        await transfer(address);
        return { bytesRead: length };
      },
      readWord: async (address: number) => {
        await transfer(address);
        return 0x0014;
      },
      close: async () => {},
    };
    const i2c = new LinuxI2c({
      deviceFolder: bench.folder,
      openNumber: async () => adapter as unknown as PromisifiedBus,
    });
    const config = await configOf(
      `${SMALLEST}sensors:\n  - { name: water, kind: lm75, bus: 1, address: 0x49, period: 200ms }\n`,
    );
    const ports = { ...new FewLines().ports, i2c: { ...bound(i2c), list: async () => [1] } };
    const deps = { ...sensorDeps({ ports, folder: bench.folder }), clock };
    const sampler = new Sampler(
      { clock, log: silentLog, onSamples: () => {} },
      config.sensors.map((sensor) => samplerEntry(sensor, deps)),
    );
    await loadDrivers(config);
    sampler.start(never);
    for (let turn = 0; turn < 100 && sampler.states()[0]?.reads === 0; turn += 1) {
      await clock.advance(200);
      await new Promise((resolve) => setImmediate(resolve));
    }
    const before = sampler.states()[0]?.reads ?? 0;
    const beganMs = clock.monotonicMs();
    let isOver = false;
    const search = finderOn(ports, config, clock)
      .find(undefined, never)
      .finally(() => {
        isOver = true;
      });
    for (let turn = 0; turn < 200 && !isOver; turn += 1) {
      await clock.advance(200);
      await new Promise((resolve) => setImmediate(resolve));
    }
    const parts = await search;
    const tookMs = clock.monotonicMs() - beganMs;
    const [water] = sampler.states();
    expect(tookMs).toBeGreaterThan(2_000);
    expect(water).toMatchObject({ state: 'working', missed: 0, failures: 0 });
    expect((water?.reads ?? 0) - before).toBe(tookMs / 200);
    expect(parts.found).toMatchObject([{ id: 'i2c-1-0x49', usedBy: 'water' }]);
    const closing = sampler.close();
    await clock.advance(5_000);
    await closing;
  });
});

/** Methods of a class as members that can be spread. */
function bound(i2c: LinuxI2c): Ports['i2c'] {
  return {
    openBus: (bus, signal) => i2c.openBus(bus, signal),
    list: (signal) => i2c.list(signal),
    close: () => i2c.close(),
  };
}

it('gives a chip that the kernel reads with a reading, and names the sensor that has it', async () => {
  const kernel = await kernelDevices();
  try {
    await kernel.addIio(0, 'i2c-1/1-0076', BME280);
    await kernel.addHwmon(0, 'i2c-1/1-0044', SHT3X);
    const config = await configured('  - { name: hall, kind: hwmon, chip: sht3x, prefix: hall. }\n');
    const ports = { ...bench.ports, iio: kernel.iio, hwmon: kernel.hwmon };
    const parts = await finderOn(ports, config).find(undefined, never);
    expect(partAt(parts, 'iio-1-0076')).toMatchObject({
      place: 'Industrial I/O, 1-0076',
      sensor: { kind: 'iio', chip: 'bme280' },
      readings: ['humidity 45.1 %', 'pressure 1013.3 hPa', 'temperature 21.4 °C'],
    });
    expect(partAt(parts, 'hwmon-1-0044')).toMatchObject({ usedBy: 'hall' });
  } finally {
    await kernel.close();
  }
});
