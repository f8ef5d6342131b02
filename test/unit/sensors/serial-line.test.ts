import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import type { Reading } from '../../../src/sensors/sensor.ts';
import { openSerialLine } from '../../../src/sensors/serial-line.ts';
import type { BoardConfigInput } from '../../../src/simulated-board/board-config.ts';
import { type BoardBench, openBoardBench, until } from '../../support/board-bench.ts';
import { sensorConfig, sensorDeps } from '../../support/sensor-bench.ts';

const signal = AbortSignal.timeout(60_000);
let bench: BoardBench;
afterEach(() => bench.close());

async function boardWith(talk: NonNullable<BoardConfigInput['serial']>[number]['talk']): Promise<string> {
  bench = await openBoardBench((folder) => ({ serial: [{ port: join(folder, 'meter'), talk }] }));
  return join(bench.folder, 'meter');
}

const steps = { kind: 'steps' as const, values: [1.25, 2.5, 3.75], everyMs: 20 };

describe('a serial line on a real pty', () => {
  it('gives every line the board printed, value for value', async () => {
    const port = await boardWith({
      kind: 'lines',
      periodMs: 20,
      values: { flow: { signal: steps }, level: { signal: { kind: 'room', base: 5, noise: 0.3 }, digits: 3 } },
      keys: { flow: 'inflow' },
    });
    const sensor = await openSerialLine(sensorConfig({ name: 'meter', kind: 'serial-line', port }), sensorDeps(bench), signal);
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
    expect(await sensor.read(signal)).toEqual([{ key: 't', value: 21.5 }]);
    expect(await sensor.read(signal)).toEqual([{ key: 't', value: 21.5 }]);
    await sensor.close();
    expect((await bench.record()).filter(({ kind }) => kind === 'received').map(({ value }) => value)).toEqual(['READ?\n', 'READ?\n']);
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
    expect(await sensor.read(signal)).toMatchObject([{ key: 'flow' }]);
    await sensor.close();
  });

  it('reports an unplugged port, and goes on when it is back', async () => {
    const port = await boardWith({ kind: 'lines', periodMs: 10, values: { flow: { signal: steps } } });
    const sensor = await openSerialLine(sensorConfig({ name: 'meter', kind: 'serial-line', port }), sensorDeps(bench), signal);
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
