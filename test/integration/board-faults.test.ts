/** Everything that a board can do wrong, at random and all at once: sensors fail and come back by themselves, and none stops another. */
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import type { BoardFault } from '../../src/hardware/board-protocol.ts';
import { systemClock } from '../../src/host/clock.ts';
import { samplerEntry } from '../../src/sensors/create-sensor.ts';
import type { Sample } from '../../src/sensors/kind/sensor.ts';
import { Sampler } from '../../src/sensors/sampler.ts';
import { type BoardBench, openBoardBench, until } from '../support/board-bench.ts';
import { mulberry32 } from '../support/random-bytes.ts';
import { sensorConfig, sensorDeps } from '../support/sensor-bench.ts';

const ROUNDS = 60;
const { signal } = new AbortController();
let bench: BoardBench;
afterEach(() => bench.close());

const room = (base: number) => ({ kind: 'room' as const, base, noise: 0.1 });
/** Faults by their target. */
const FAULTS: readonly (readonly [string, readonly BoardFault[]])[] = [
  ['i2c-1', ['hang', 'nak']],
  ['i2c-1:0x76', ['nak', 'garbage', 'hang']],
  ['i2c-1:0x44', ['garbage', 'nak']],
  ['i2c-1:0x48', ['garbage', 'nak', 'hang']],
  ['gpio', ['hang']],
  ['gpiochip0', ['unplug']],
  ['28-0316a2794aff', ['garbage', 'unplug', 'hang']],
  ['station', ['garbage', 'unplug', 'hang']],
  ['rs485', ['garbage', 'unplug', 'hang']],
];
const RANGES: Readonly<Record<string, readonly [number, number]>> = {
  temperature: [-55, 128],
  humidity: [0, 100],
  pressure: [300, 1100],
  A0: [-4.096, 4.096],
};

const rooms = (bases: Readonly<Record<string, number>>) =>
  Object.fromEntries(Object.entries(bases).map(([name, base]) => [name, room(base)]));

it('a board that misbehaves in every way stops no sensor for good, and no reading leaves its range', async () => {
  bench = await openBoardBench((folder) => ({
    gpio: [{ names: { 4: 'DOOR' }, inputs: [{ offset: 4, signal: { kind: 'square', hz: 5 } }] }],
    i2c: [
      {
        bus: 1,
        chips: [
          {
            kind: 'bme280',
            address: 0x76,
            signals: rooms({ temperature: 21, humidity: 45, pressure: 1000 }),
          },
          { kind: 'sht3x', address: 0x44, signals: rooms({ temperature: 21, humidity: 45 }) },
          { kind: 'ads1115', address: 0x48, signals: rooms({ A0: 1 }) },
        ],
      },
    ],
    serial: [
      { port: join(folder, 'station'), talk: { kind: 'lines', periodMs: 40, values: { flow: { signal: room(2) } } } },
      { port: join(folder, 'rs485'), talk: { kind: 'modbus', units: { '1': { holding: { '0': room(230) } } } } },
    ],
    oneWire: [{ id: '28-0316a2794aff', signal: room(20) }],
  }));
  // The board is a process of its own: on a busy machine each question to it waits its turn twice.
  const fast = { period: '60ms', deadline: '200ms' };
  const rtu = { transport: 'rtu', port: join(bench.folder, 'rs485'), baudRate: 115_200, responseTimeout: '120ms' };
  const configs = [
    sensorConfig({ name: 'door', kind: 'gpio-input', line: 'DOOR', ...fast }),
    sensorConfig({ name: 'roof', kind: 'bme280', ...fast }),
    sensorConfig({ name: 'room', kind: 'sht3x', ...fast }),
    sensorConfig({ name: 'adc', kind: 'ads1115', channels: { A0: { input: 'A0' } }, samplesPerSecond: 860, ...fast }),
    sensorConfig({ name: 'pipe', kind: 'ds18b20', id: '28-0316a2794aff', ...fast }),
    sensorConfig({ name: 'station', kind: 'serial-line', port: join(bench.folder, 'station'), ...fast }),
    sensorConfig({ name: 'meter', kind: 'modbus', connection: rtu, registers: { volts: { address: 0 } }, ...fast }),
    sensorConfig({ name: 'machine', kind: 'host', groups: ['load'], ...fast }),
  ];
  const samples: Sample[] = [];
  const deps = sensorDeps(bench);
  const sampler = new Sampler(
    { clock: systemClock, log: deps.log, onSamples: (taken) => samples.push(...taken) },
    configs.map((config) => samplerEntry(config, deps)),
  );
  sampler.start(signal);
  /** Each works at some time from now on; on a busy machine never all in the same moment. */
  const eachWorks = (): (() => boolean) => {
    const left = new Set(configs.map(({ name }) => name));
    return () => {
      for (const { name, state } of sampler.states()) if (state === 'working') left.delete(name);
      return left.size === 0;
    };
  };
  await until('every sensor works', eachWorks(), 10_000);

  const random = mulberry32(11);
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T;
  for (let round = 0; round < ROUNDS; round += 1) {
    const [place, faults] = pick(FAULTS);
    const target = place === 'station' || place === 'rs485' ? join(bench.folder, place) : place;
    bench.board.bench.fault(target, pick(faults));
    await new Promise((resolve) => setTimeout(resolve, 20 + random() * 80));
    if (random() < 0.8) bench.board.bench.fault(target, null);
    if (round % 20 === 19) await bench.restart(); // its process dies, with the faults that were on
  }

  const machineReads = sampler.states().find(({ name }) => name === 'machine')?.reads ?? 0;
  expect(machineReads).toBeGreaterThan(ROUNDS / 4); // it has no part in any of this
  for (const target of Object.keys(bench.board.bench.faults())) bench.board.bench.fault(target, null);
  await until('every sensor works again', eachWorks(), 60_000).catch((error: Error) => {
    throw new Error(`${error.message}: ${JSON.stringify(sampler.states().filter(({ state }) => state !== 'working'))}`);
  });
  await sampler.close();
  for (const { key, value } of samples) {
    const [least, greatest] = RANGES[key] ?? [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY];
    if (typeof value === 'number' && (value < least || value > greatest))
      throw new Error(`${key} ${value} was reported as good`);
  }
}, 120_000);
