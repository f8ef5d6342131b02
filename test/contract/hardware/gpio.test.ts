/**
 * One suite over every way to a GPIO line: the simulated board always; sysfs and the character device on a gpio-sim chip when
 * TEST_GPIO_CHIP names one by its label (the lab does). Lines 0 and 1 are inputs that the bench drives, 2 and 3 outputs it looks at.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { GpioPort, Level, LineEdge } from '../../../src/hardware/gpio-port.ts';
import { LinuxGpio } from '../../../src/hardware/linux-gpio.ts';
import { systemClock } from '../../../src/host/clock.ts';
import { openBoardBench, until } from '../../support/board-bench.ts';

/** The far side of the pins. */
interface GpioBench {
  readonly chip: string;
  readonly port: GpioPort;
  readonly debouncesInKernel: boolean;
  /** Physical level of an input. */
  drive(offset: number, level: Level): Promise<void>;
  /** Physical level of an output. */
  seen(offset: number): Promise<Level>;
  close(): Promise<void>;
}

const { signal } = new AbortController();
const realChip = process.env.TEST_GPIO_CHIP;

const adapters: readonly (readonly [string, () => Promise<GpioBench>])[] = [
  ['simulated board', simulatedBench],
  ...(realChip === undefined
    ? []
    : [
        ['sysfs', () => gpioSimBench(realChip, 'sysfs')] as const,
        ['character device', () => gpioSimBench(realChip, 'character-device')] as const,
      ]),
];

describe.each(adapters)('GPIO over %s', (_name, openBench) => {
  let bench: GpioBench;
  beforeEach(async () => {
    bench = await openBench();
    await bench.drive(0, 0);
  });
  afterEach(() => bench.close());

  it('reads the level of an input', async () => {
    const input = await bench.port.openInput({ line: { chip: bench.chip, offset: 0 } }, signal);
    expect(await input.read(signal)).toBe(0);
    await bench.drive(0, 1);
    expect(await input.read(signal)).toBe(1);
  });

  it('reads an active-low input the other way round', async () => {
    const input = await bench.port.openInput({ line: { chip: bench.chip, offset: 0 }, activeLow: true }, signal);
    expect(await input.read(signal)).toBe(1);
    await bench.drive(0, 1);
    expect(await input.read(signal)).toBe(0);
  });

  it('tells of each edge, with a time from the clock of this boot', async () => {
    const input = await bench.port.openInput({ line: { chip: bench.chip, offset: 0 }, edges: 'both' }, signal);
    const edges: LineEdge[] = [];
    input.watch((edge) => edges.push(edge));
    const beforeMs = systemClock.monotonicMs();
    for (const level of [1, 0, 1] as const) {
      await bench.drive(0, level);
      await until('the edge', () => edges.at(-1)?.level === level);
    }
    expect(edges.map(({ level }) => level)).toEqual([1, 0, 1]);
    for (const { monotonicMs } of edges) expect(monotonicMs).toBeGreaterThan(beforeMs - 1);
    expect(edges.at(-1)?.monotonicMs).toBeLessThan(systemClock.monotonicMs() + 1);
  });

  it('tells only of the edges that were asked for', async () => {
    const input = await bench.port.openInput({ line: { chip: bench.chip, offset: 0 }, edges: 'rising' }, signal);
    const levels: Level[] = [];
    input.watch(({ level }) => levels.push(level));
    for (const level of [1, 0, 1, 0, 1] as const) {
      await bench.drive(0, level);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    await until('three edges', () => levels.length >= 3);
    expect(levels).toEqual([1, 1, 1]);
  });

  it('is silent after the watch has ended', async () => {
    const input = await bench.port.openInput({ line: { chip: bench.chip, offset: 0 }, edges: 'both' }, signal);
    let edges = 0;
    const end = input.watch(() => {
      edges += 1;
    });
    end();
    await bench.drive(0, 1);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(edges).toBe(0);
  });

  it('takes a bouncing contact for one edge', async () => {
    const input = await bench.port.openInput(
      { line: { chip: bench.chip, offset: 0 }, edges: 'both', debounceMs: 40 },
      signal,
    );
    const levels: Level[] = [];
    input.watch(({ level }) => levels.push(level));
    for (const level of [1, 0, 1, 0, 1] as const) await bench.drive(0, level);
    await until('the edge', () => levels.length > 0);
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(levels).toEqual([1]);
  });

  it('sets an output, and reads back what it shows', async () => {
    const output = await bench.port.openOutput({ line: { chip: bench.chip, offset: 2 }, initial: 0 }, signal);
    expect(await bench.seen(2)).toBe(0);
    await output.write(1, signal);
    expect(await bench.seen(2)).toBe(1);
    expect(await output.read(signal)).toBe(1);
  });

  it('opens an output at its first level, active-low ones too', async () => {
    await bench.port.openOutput({ line: { chip: bench.chip, offset: 2 }, initial: 1 }, signal);
    await bench.port.openOutput({ line: { chip: bench.chip, offset: 3 }, initial: 1, activeLow: true }, signal);
    expect(await bench.seen(2)).toBe(1);
    expect(await bench.seen(3)).toBe(0);
  });

  it('refuses a line that is held, and names who holds it', async () => {
    const held = await bench.port.openOutput({ line: { chip: bench.chip, offset: 3 }, initial: 0 }, signal);
    const again = bench.port.openInput({ line: { chip: bench.chip, offset: 3 } }, signal);
    await expect(again).rejects.toMatchObject({ code: 'hardware/gpio-busy', recovery: 'retry' });
    await expect(again).rejects.toThrow(/line 3 .*held by turnstone/);
    await held.close();
  });

  it('gives a line back when it is closed', async () => {
    const request = { line: { chip: bench.chip, offset: 1 } };
    await (await bench.port.openInput(request, signal)).close();
    const again = await bench.port.openInput(request, signal);
    expect(await again.read(signal)).toBe(0);
  });

  it('names the chips there are when one is missing, and the lines there are', async () => {
    await expect(bench.port.openInput({ line: { chip: 'no-such-chip', offset: 0 } }, signal)).rejects.toMatchObject({
      code: 'hardware/gpio-no-chip',
    });
    await expect(bench.port.openInput({ line: { chip: bench.chip, offset: 999 } }, signal)).rejects.toThrow(
      /lines 0 to \d+/,
    );
    await expect(bench.port.openInput({ line: 'NO-SUCH-LINE' }, signal)).rejects.toMatchObject({
      code: 'hardware/gpio-no-line',
    });
  });

  it('lists every line', async () => {
    const lines = await bench.port.list(signal);
    expect(lines.find(({ label, offset }) => label === bench.chip && offset === 2)).toBeDefined();
  });
});

async function simulatedBench(): Promise<GpioBench> {
  const bench = await openBoardBench(() => ({ gpio: [{ label: 'simulated', lines: 8 }] }));
  return {
    chip: 'simulated',
    port: bench.ports.gpio,
    debouncesInKernel: true,
    drive: async (offset, level) =>
      void (await bench.ports.link.request('bench.hold', { target: `gpiochip0:${offset}`, value: level }, signal)),
    seen: async (offset) =>
      (await bench.ports.link.request('record.moves', { line: `gpiochip0:${offset}` }, signal)).at(-1)?.level ?? 0,
    close: () => bench.close(),
  };
}

/** gpio-sim shows its lines' far side under /sys/devices/platform/gpio-sim.N/gpiochipM/sim_gpioK. */
async function gpioSimBench(label: string, through: 'sysfs' | 'character-device'): Promise<GpioBench> {
  const port = new LinuxGpio({ clock: systemClock, interface: through });
  const chip =
    (await new LinuxGpio({ clock: systemClock, interface: 'character-device' }).list(signal)).find(
      (line) => line.label === label,
    )?.chip ?? '';
  const platform = '/sys/devices/platform';
  const parent = readdirSync(platform).find(
    (name) => name.startsWith('gpio-sim') && readdirSync(join(platform, name)).includes(chip),
  );
  const far = (offset: number): string => join(platform, parent ?? '', chip, `sim_gpio${offset}`);
  return {
    chip: label,
    port,
    debouncesInKernel: through === 'character-device',
    drive: async (offset, level) => writeFileSync(join(far(offset), 'pull'), level === 1 ? 'pull-up' : 'pull-down'),
    seen: async (offset) => (readFileSync(join(far(offset), 'value'), 'utf8').trim() === '1' ? 1 : 0),
    close: () => port.close(),
  };
}
