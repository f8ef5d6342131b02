import { createConnection } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { loadTwins } from '../../../../src/kinds/twins.ts';
import { parseBoardConfig } from '../../../../src/stand-ins/simulated-board/board-config.ts';
import { sampleBoard } from '../../../../src/stand-ins/simulated-board/sample-board.ts';
import { type SignalConfig, signalOf } from '../../../../src/stand-ins/simulated-board/signals.ts';
import { type BoardBench, openBoardBench, until } from '../../../support/board-bench.ts';

const { signal } = new AbortController();
let bench: BoardBench | undefined;
afterEach(async () => {
  await bench?.close();
  bench = undefined;
});

describe('the record', () => {
  it('has every movement of an output, with who is right when level and wish agree already', async () => {
    bench = await openBoardBench(() => ({ gpio: [{ names: { 17: 'RELAY' } }] }));
    const output = await bench.ports.gpio.openOutput({ line: 'RELAY', initial: 0 }, signal);
    for (const level of [1, 1, 0, 1] as const) await output.write(level, signal);
    const lines = (await bench.record()).filter(({ source }) => source === 'gpiochip0:17');
    expect(lines.map(({ kind, value }) => `${kind} ${value}`)).toEqual([
      'written 0',
      'moved 1',
      'written 1',
      'moved 0',
      'moved 1',
    ]);
    expect(lines.every(({ key, atMs, wallMs }) => key === 'RELAY' && atMs > 0 && wallMs > 1.7e12)).toBe(true);
    const moves = await bench.ports.link.request('record.moves', { line: 'RELAY' }, signal);
    expect(moves.map(({ level }) => level)).toEqual([1, 0, 1]);
    expect(
      await bench.ports.link.request(
        'record.moves',
        { line: 'gpiochip0:17', sinceMs: moves[1]?.monotonicMs ?? 0 },
        signal,
      ),
    ).toHaveLength(2);
    expect((await bench.ports.link.request('record.counts', {}, signal))['moved RELAY']).toBe(3);
  });

  it('is with the kernel before the agent sees what it tells of', async () => {
    bench = await openBoardBench(() => ({ gpio: [{}] }));
    const output = await bench.ports.gpio.openOutput({ line: 'GPIO5', initial: 0 }, signal);
    for (let at = 1; at <= 50; at += 1) {
      await output.write((at % 2) as 0 | 1, signal);
      expect((await bench.record()).filter(({ kind }) => kind === 'moved')).toHaveLength(at);
    }
  });

  it('goes on in the same file when the board starts again', async () => {
    bench = await openBoardBench(() => ({ gpio: [{}] }));
    await bench.restart();
    expect((await bench.record()).filter(({ kind }) => kind === 'started')).toHaveLength(2);
  });
});

describe('the board', () => {
  it('releases what a process held when it dies, and its outputs stay as they were', async () => {
    bench = await openBoardBench(() => ({ gpio: [{}] }));
    const socket = createConnection(bench.socketPath);
    socket.write('{"id":1,"op":"gpio.openOutput","params":{"line":"GPIO7","initial":1}}\n');
    const lines = bench.ports.gpio;
    await until('the line is held', async () => (await lines.list(signal))[7]?.holder === 'turnstone');
    socket.destroy(); // as a SIGKILL does
    await until('the line is free', async () => (await lines.list(signal))[7]?.holder === undefined);
    const again = await lines.openOutput({ line: 'GPIO7', initial: 'keep' }, signal);
    expect(await again.read(signal)).toBe(1);
  });

  it('merges edges as sysfs does, when told to', async () => {
    bench = await openBoardBench(() => ({
      gpio: [{ inputs: [{ offset: 4, signal: { kind: 'constant', value: 0 } }] }],
    }));
    const { link, gpio } = bench.ports;
    const input = await gpio.openInput({ line: 'GPIO4', edges: 'both' }, signal);
    let edges = 0;
    input.watch(() => {
      edges += 1;
    });
    const toggle = async (times: number): Promise<void> => {
      for (let at = 1; at <= times; at += 1)
        await link.request('bench.hold', { target: 'gpiochip0:4', value: at % 2 }, signal);
    };
    await toggle(40);
    await until('every edge', () => edges === 40);
    await link.request('bench.fault', { target: 'gpiochip0', fault: 'merge' }, signal);
    await toggle(41);
    await until('the level in the end', async () => edges > 40 && (await input.read(signal)) === 1);
    expect(edges).toBeLessThan(81);
    await link.request('bench.fault', { target: 'gpiochip0', fault: null }, signal);
    const merged = edges;
    await link.request('bench.hold', { target: 'gpiochip0:4', value: 0 }, signal);
    await until('the edge to that level', () => edges === merged + 1);
    await toggle(40);
    await until('every edge again', () => edges === merged + 41);
  });

  it('can restart beneath an agent, which opens its lines again', async () => {
    bench = await openBoardBench(() => ({ gpio: [{}] }));
    const { gpio } = bench.ports;
    const output = await gpio.openOutput({ line: 'GPIO5', initial: 0 }, signal);
    await output.write(1, signal);
    await bench.restart();
    await expect
      .poll(() => output.read(signal).catch((error: { message: string }) => error.message))
      .toMatch(/knows no handle/);
    const again = await gpio.openOutput({ line: 'GPIO5', initial: 1 }, signal);
    expect(await again.read(signal)).toBe(1);
  });

  it('answers an operation it does not know, and anything that is no operation, without harm', async () => {
    bench = await openBoardBench(() => ({}));
    await expect(bench.ports.link.request('no.such' as 'gpio.list', {}, signal)).rejects.toMatchObject({
      code: 'hardware/unsupported',
    });
    const socket = createConnection(bench.socketPath);
    socket.write('nonsense\n[]\n{"id":1}\n');
    await new Promise((resolve) => setTimeout(resolve, 30));
    socket.destroy();
    expect(await bench.ports.gpio.list(signal)).toEqual([]);
  });

  it('carries PWM and one-wire', async () => {
    bench = await openBoardBench(() => ({
      pwm: [{ chip: 0, channels: 1 }],
      oneWire: [{ id: '28-00000a1b2c3d', signal: { kind: 'constant', value: 21.5625 } }],
    }));
    const channel = await bench.ports.pwm.openChannel({ chip: 0, channel: 0 }, signal);
    await channel.set({ periodNs: 1_000_000, dutyNs: 250_000, enabled: true }, signal);
    expect(await channel.read(signal)).toEqual({ periodNs: 1_000_000, dutyNs: 250_000, enabled: true });
    await expect(channel.set({ periodNs: 1, dutyNs: 2, enabled: true }, signal)).rejects.toMatchObject({
      code: 'hardware/pwm-failed',
    });
    expect(await bench.ports.oneWire.readSlave('28-00000a1b2c3d', signal)).toMatch(/crc=[0-9a-f]{2} YES\n.*t=21562\n$/);
  });

  it('says everything that is wrong with its configuration', async () => {
    expect(() => parseBoardConfig({ version: 2, gpio: [{ lines: 0 }] })).toThrow(/version: .*gpio\.0\.lines: /);
    expect(parseBoardConfig(sampleBoard(await loadTwins())).i2c[0]?.chips).toHaveLength(9);
  });
});

describe('signals', () => {
  const at = (config: SignalConfig, monotonicMs: number, seed = 's'): number =>
    signalOf(config, seed).valueAt({ monotonicMs, wallMs: 1_780_000_000_000 + monotonicMs });
  const room: SignalConfig = { kind: 'room', base: 20, day: 3, drift: 0.5, noise: 0.05 };

  it('show the same day for the same seed, and another for another', () => {
    expect(at(room, 123_456)).toBe(at(room, 123_456));
    expect(at(room, 123_456)).not.toBe(at(room, 123_456, 'other'));
  });

  it('are warmest in the afternoon and move little within a second', () => {
    const day = Array.from({ length: 24 }, (_, hour) => at({ ...room, noise: 0 }, hour * 3_600_000));
    expect(Math.max(...day) - Math.min(...day)).toBeGreaterThan(5);
    const second = Array.from({ length: 100 }, (_, step) => at(room, step * 10));
    expect(Math.max(...second) - Math.min(...second)).toBeLessThan(0.5);
  });

  it('open a door about as often and as long as was said', () => {
    const door = signalOf({ kind: 'door', perHour: 60, openMs: 10_000 }, 'seed');
    let opened = 0;
    let openMs = 0;
    let before = 0;
    for (let ms = 0; ms < 24 * 3_600_000; ms += 100) {
      const level = door.valueAt({ monotonicMs: ms, wallMs: ms });
      if (level === 1) openMs += 100;
      if (level === 1 && before === 0) opened += 1;
      before = level;
    }
    expect(opened / 24).toBeGreaterThan(45);
    expect(opened / 24).toBeLessThan(75);
    expect(openMs / opened).toBeGreaterThan(8_000);
    expect(openMs / opened).toBeLessThan(12_500);
  });
});
