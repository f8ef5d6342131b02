import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { type BoardBench, openBoardBench, until } from '../../../test/support/board-bench.ts';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { MemoryFiles } from '../../../test/support/memory-files.ts';
import { OF_THIS_MACHINE, sensorConfig, sensorDeps } from '../../../test/support/sensor-bench.ts';
import { SerialBuses } from '../../hardware/serial-buses.ts';
import type { SerialPort, SerialPorts } from '../../hardware/serial-port.ts';
import { silentLog } from '../../host/log.ts';
import type { BoardConfigInput } from '../../stand-ins/simulated-board/board-config.ts';
import type { Reading, Sensor } from '../kind/sensor.ts';
import type { SensorDeps } from '../kind/sensor-deps.ts';
import { open as openSerialLine } from './driver.ts';

const { signal } = new AbortController();
let bench: BoardBench;

async function boardWith(talk: NonNullable<BoardConfigInput['serial']>[number]['talk']): Promise<string> {
  bench = await openBoardBench((folder) => ({ serial: [{ port: join(folder, 'meter'), talk }] }));
  return join(bench.folder, 'meter');
}

const steps = { kind: 'steps' as const, values: [1.25, 2.5, 3.75], everyMs: 20 };

describe('a serial line on a real pty', () => {
  afterEach(() => bench.close());

  it('gives every line the board printed, value for value', async () => {
    const port = await boardWith({
      kind: 'lines',
      periodMs: 20,
      values: { flow: { signal: steps }, level: { signal: { kind: 'room', base: 5, noise: 0.3 }, digits: 3 } },
      keys: { flow: 'inflow' },
    });
    const sensor = await openSerialLine(
      sensorConfig({ name: 'meter', kind: 'serial-line', port }),
      sensorDeps(bench),
      signal,
    );
    const got: Reading[] = [];
    sensor.subscribe?.((readings) => got.push(...readings));
    await until('ten lines', () => got.length >= 20);
    await sensor.close();
    const shown = (await bench.record()).filter(({ kind }) => kind === 'shown').map(({ value }) => value);
    const values = got.map(({ value }) => value);
    expect(shown.join().includes(values.join())).toBe(true);
    expect(new Set(got.map(({ key }) => key))).toEqual(new Set(['flow', 'level']));
    expect(sensor.speaksByItself).toBe(true);
  });

  it('asks a sensor that speaks only when asked', async () => {
    const port = await boardWith({
      kind: 'lines',
      format: 'text',
      template: 'T={t} C',
      values: { t: { signal: { kind: 'constant', value: 21.5 } } },
    });
    const config = sensorConfig({
      name: 'asked',
      kind: 'serial-line',
      port,
      request: 'READ?\n',
      format: 'regex',
      pattern: 'T=(?<t>[\\d.]+)',
    });
    const sensor = await openSerialLine(config, sensorDeps(bench), signal);
    expect(await sensor.read(signal)).toEqual([{ key: 't', value: 21.5, text: '21.5' }]);
    expect(await sensor.read(signal)).toEqual([{ key: 't', value: 21.5, text: '21.5' }]);
    await sensor.close();
    expect((await bench.record()).filter(({ kind }) => kind === 'received').map(({ value }) => value)).toEqual([
      'READ?\n',
      'READ?\n',
    ]);
  });

  it('passes over garbage, and says so when nothing else comes', async () => {
    const port = await boardWith({ kind: 'lines', periodMs: 10, values: { flow: { signal: steps } } });
    const sensor = await openSerialLine(
      sensorConfig({ name: 'meter', kind: 'serial-line', port, period: '20ms', deadline: '30ms' }),
      sensorDeps(bench),
      signal,
    );
    let good = 0;
    sensor.subscribe?.(() => {
      good += 1;
    });
    await until('a good line', () => good > 0);
    bench.board.bench.fault(port, 'garbage');
    await until('the complaint', () =>
      sensor.read(signal).then(
        () => false,
        (error: Error) => /lines came|nothing comes/.test(error.message),
      ),
    );
    bench.board.bench.fault(port, null);
    const before = good;
    await until('good lines again', () => good > before + 2);
    // Only what came within its deadline is a reading: a board that is held up for longer has none for that moment.
    let last: unknown;
    await until('a reading of them', () =>
      sensor.read(signal).then(
        (readings) => {
          last = readings;
          return true;
        },
        () => false,
      ),
    );
    expect(last).toMatchObject([{ key: 'flow' }]);
    await sensor.close();
  });

  it('reports an unplugged port, and goes on when it is back', async () => {
    const port = await boardWith({ kind: 'lines', periodMs: 10, values: { flow: { signal: steps } } });
    const sensor = await openSerialLine(
      sensorConfig({ name: 'meter', kind: 'serial-line', port }),
      sensorDeps(bench),
      signal,
    );
    let lines = 0;
    sensor.subscribe?.(() => {
      lines += 1;
    });
    await until('a line', () => lines > 0);
    bench.board.bench.fault(port, 'unplug');
    await until('the complaint', () =>
      sensor.read(signal).then(
        () => false,
        (error: Error) => /is unplugged/.test(error.message),
      ),
    );
    bench.board.bench.fault(port, null);
    const before = lines;
    await until('lines again', () => lines > before + 2);
    await sensor.close();
  });
});

/** A port of which the test is the other end, and a sensor on it. */
async function listening(more: Readonly<Record<string, unknown>> = {}): Promise<{
  readonly say: (text: string) => void;
  readonly plug: () => void;
  readonly clock: FakeClock;
  readonly values: unknown[];
  readonly sensor: Sensor;
}> {
  const clock = new FakeClock();
  let say: (bytes: Uint8Array) => void = () => {};
  let plug: () => void = () => {};
  const port: SerialPort = {
    path: '/dev/ttyUSB0',
    plugged: true,
    write: async () => {},
    onBytes: (listener) => {
      say = listener;
      return () => {};
    },
    onPlug: (listener) => {
      plug = () => listener(true, '');
      return () => {};
    },
    close: async () => {},
  };
  const serial = { open: async () => port } as Partial<SerialPorts> as SerialPorts;
  const ports = { serialBuses: new SerialBuses(serial, clock) } as unknown as SensorDeps['ports']; // no sensor of this kind asks for others
  const config = sensorConfig({ name: 'rain', kind: 'serial-line', port: port.path, ...more });
  const sensor = await openSerialLine(
    config,
    { ...OF_THIS_MACHINE, ports, clock, files: new MemoryFiles(), log: silentLog, stateFolder: '/' },
    signal,
  );
  const values: unknown[] = [];
  sensor.subscribe?.((readings) => values.push(...readings.map(({ value }) => value)));
  return { say: (text) => say(Buffer.from(text)), plug: () => plug(), clock, values, sensor };
}

describe('a sensor that speaks seldom', () => {
  it('is heard from its first line when the port was silent before', async () => {
    const { say, clock, values } = await listening();
    await clock.advance(1_000);
    say('{"rain": 1}\n');
    expect(values).toEqual([1]);
  });

  it('is not heard from the middle of a line that began before the port was opened', async () => {
    const { say, clock, values } = await listening();
    await clock.advance(900);
    say('3');
    await clock.advance(1_000);
    say('5\n{"rain": 2}\n');
    expect(values).toEqual([2]);
  });

  it('is silent, and not unreadable, once a line of it was good', async () => {
    const { say, clock, sensor } = await listening();
    await clock.advance(1_000);
    say('noise\nnoise\n');
    await clock.advance(60_000);
    await expect(sensor.read(signal)).rejects.toThrow('2 lines came on /dev/ttyUSB0');
    say('{"rain": 1}\n');
    expect(await sensor.read(signal)).toEqual([{ key: 'rain', value: 1 }]);
    await clock.advance(60_000);
    await expect(sensor.read(signal)).rejects.toThrow('nothing comes on /dev/ttyUSB0');
  });

  it('gives a frame that is just coming when the port has been open for a second', async () => {
    const { say, clock, values } = await listening({
      frame: { start: '2F', end: '21' },
      format: 'regex',
      pattern: '/rain (?<rain>[0-9]+)!',
    });
    await clock.advance(900);
    say('/rain ');
    await clock.advance(200);
    say('12!');
    expect(values).toEqual([12]);
  });

  it('is listened to anew once it was plugged in again', async () => {
    const { say, plug, clock, values } = await listening();
    await clock.advance(1_000);
    plug();
    say('{"rain": 1}\n');
    plug();
    await clock.advance(1_000);
    say('{"rain": 2}\n');
    expect(values).toEqual([2]);
  });
});

it('a sensor that is asked as its port was just opened is not misread by the rest of what it was asked before', async () => {
  const { say, clock, sensor } = await listening({ request: 'READ?' });
  const read = sensor.read(signal);
  await clock.advance(50);
  say('35\n');
  await clock.advance(100);
  say('{"rain": 7}\n');
  expect(await read).toEqual([{ key: 'rain', value: 7 }]);
});
