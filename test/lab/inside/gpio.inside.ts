/** Both GPIO interfaces of a real kernel, with what is soldered to the pins driven and read from beneath. */
import { execFileSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { InputRequest, LineEdge, LineReference } from '../../../src/hardware/gpio-port.ts';
import { type GpioInterface, LinuxGpio } from '../../../src/hardware/linux-gpio.ts';
import { systemClock } from '../../../src/host/clock.ts';
import { recordFigure } from '../results/figures.ts';
import { CHIP, drive, pullOf, toggle, voltage } from './pins.ts';

const EDGES = process.env.LAB_RUN === 'full' ? 6000 : 1000;
const EDGE_PERIOD_MS = 5; // 200 edges a second
const BURSTS_WITHIN_MS = 240_000;
const signal = (): AbortSignal => AbortSignal.timeout(20_000);
const line = (offset: number): LineReference => ({ chip: CHIP, offset });

async function withoutTheBoard(body: () => Promise<void>): Promise<void> {
  execFileSync('/lab/test/lab/guest/board', ['remove']);
  try {
    await sleep(300);
    await body();
  } finally {
    execFileSync('/lab/test/lab/guest/board', ['add']);
  }
}

/** Waits for the next edge to be told: those that come while the guest has no time are one, over sysfs. */
async function told(edges: readonly LineEdge[], count: number): Promise<void> {
  for (let tries = 0; edges.length < count && tries < 1_000; tries += 1) await sleep(5);
}

describe.each<GpioInterface>(['sysfs', 'character-device'])('GPIO over %s', (through) => {
  let gpio: LinuxGpio;
  beforeEach(() => {
    gpio = new LinuxGpio({ clock: systemClock, interface: through });
  });
  afterEach(async () => await gpio.close());

  const collect = async (request: InputRequest): Promise<LineEdge[]> => {
    const edges: LineEdge[] = [];
    (await gpio.openInput(request, signal())).watch((edge) => edges.push(edge));
    await sleep(50);
    edges.length = 0;
    return edges;
  };

  it('reads the voltage at the pin, and its opposite when active-low', async () => {
    const straight = await gpio.openInput({ line: line(0) }, signal());
    const inverted = await gpio.openInput({ line: line(1), activeLow: true }, signal());
    for (const level of [1, 0, 1] as const) {
      drive(0, level);
      drive(1, level);
      expect([await straight.read(signal()), await inverted.read(signal())]).toEqual([level, 1 - level]);
    }
  });

  it('finds a line by its own name', async () => {
    const button = await gpio.openInput({ line: 'BUTTON' }, signal());
    drive(2, 1);
    expect(await button.read(signal())).toBe(1);
    drive(2, 0);
    expect(await button.read(signal())).toBe(0);
  });

  it('moves an output that is seen from beneath, and reads it back', async () => {
    const relay = await gpio.openOutput({ line: line(3), initial: 1 }, signal());
    const seen = [voltage(3)];
    for (const level of [0, 1, 0] as const) {
      await relay.write(level, signal());
      expect(await relay.read(signal())).toBe(level);
      seen.push(voltage(3));
    }
    expect(seen).toEqual([1, 0, 1, 0]);
  });

  it('puts an active-low output high to switch it off, from its first moment', async () => {
    const relay = await gpio.openOutput({ line: line(4), activeLow: true, initial: 0 }, signal());
    expect(voltage(4)).toBe(1);
    await relay.write(1, signal());
    expect(voltage(4)).toBe(0);
  });

  it('says what there is when a chip or line is not there', async () => {
    await expect(gpio.openInput({ line: { chip: 'nowhere', offset: 0 } }, signal())).rejects.toMatchObject({
      code: 'hardware/gpio-no-chip',
      message: expect.stringContaining(CHIP),
    });
    await expect(gpio.openInput({ line: line(16) }, signal())).rejects.toMatchObject({
      code: 'hardware/gpio-no-line',
      message: expect.stringContaining('0 to 15'),
    });
  });

  it('names the holder of a busy line', async () => {
    const other = new LinuxGpio({ clock: systemClock, interface: 'character-device' });
    await other.openOutput({ line: line(5), initial: 0 }, signal());
    await expect(gpio.openInput({ line: line(5) }, signal())).rejects.toMatchObject({
      code: 'hardware/gpio-busy',
      message: expect.stringContaining('turnstone'),
    });
    await other.close();
  });

  it('reports each edge, with a later time than the one before', async () => {
    drive(6, 0);
    const edges = await collect({ line: line(6), edges: 'both' });
    for (let count = 1; count <= 20; count += 1) {
      drive(6, count % 2 === 1 ? 1 : 0);
      for (let wait = 0; edges.length < count && wait < 500; wait += 1) await sleep(10);
      expect(edges.length).toBe(count);
    }
    expect(
      edges.every(
        (edge, index) => edge.level === (index + 1) % 2 && edge.monotonicMs > (edges[index - 1]?.monotonicMs ?? 0),
      ),
    ).toBe(true);
  });

  it('reports only the edges that were asked for', async () => {
    drive(7, 0);
    const edges = await collect({ line: line(7), edges: 'rising' });
    for (let rise = 1; rise <= 10; rise += 1) {
      drive(7, 1);
      await told(edges, rise);
      drive(7, 0);
      await sleep(20);
    }
    await sleep(200);
    expect(edges.map((edge) => edge.level)).toEqual(Array.from({ length: 10 }, () => 1));
  });

  it('counts a bouncing contact once', async () => {
    drive(8, 0);
    const edges = await collect({ line: line(8), edges: 'both', debounceMs: 100 });
    await toggle(8, 9, 10); // ends high
    await sleep(400);
    expect(edges.map((edge) => edge.level)).toEqual([1]);
  });

  it('keeps what an output shows when it is opened again', async () => {
    const first = await gpio.openOutput({ line: line(9), initial: 1 }, signal());
    await first.close();
    const wasHigh = voltage(9);
    const second = await gpio.openOutput({ line: line(9), initial: 'keep' }, signal());
    expect([await second.read(signal()), voltage(9)]).toEqual([wasHigh, wasHigh]);
  });

  it('survives a board that is unplugged while its lines are watched and held', async () => {
    const edges = await collect({ line: line(10), edges: 'both' });
    const relay = await gpio.openOutput({ line: line(11), initial: 1 }, signal());
    const cpuMsOfASecond = async (): Promise<number> => {
      const used = process.cpuUsage();
      await sleep(1000);
      const { user, system } = process.cpuUsage(used);
      return (user + system) / 1000;
    };
    const idleMs = await cpuMsOfASecond();
    await withoutTheBoard(async () => {
      await expect(relay.write(0, signal())).rejects.toMatchObject({ code: 'hardware/gpio-failed', recovery: 'retry' });
      await expect(gpio.openInput({ line: line(10) }, signal())).rejects.toMatchObject({ recovery: 'retry' });
      // The host's load stretches an emulated processor's time; a watch that spins takes all there is, in each second.
      const secondsMs: number[] = [];
      do secondsMs.push(await cpuMsOfASecond());
      while (Math.min(...secondsMs) >= idleMs + 300 && secondsMs.length < 10);
      expect(Math.min(...secondsMs), `ms of CPU time in seconds without the board, and ${idleMs} with it`).toBeLessThan(
        idleMs + 300,
      );
      expect(edges.length).toBeLessThanOrEqual(1);
    });

    await gpio.close();
    gpio = new LinuxGpio({ clock: systemClock, interface: through });
    drive(10, 0);
    const again = await collect({ line: line(10), edges: 'both' });
    for (const [at, level] of ([1, 0, 1, 0] as const).entries()) {
      drive(10, level);
      await told(again, at + 1);
    }
    await sleep(200);
    expect(again.map((edge) => edge.level)).toEqual([1, 0, 1, 0]);
  });
});

// sysfs tells that something happened, not how often: only the character device can count faster than the event loop turns.
describe('GPIO edges at 200 a second', () => {
  it('are counted without loss by the interface that is chosen by itself, also while the process is busy', {
    timeout: BURSTS_WITHIN_MS + 60_000,
  }, async () => {
    const gpio = new LinuxGpio({ clock: systemClock, interface: 'auto' });
    drive(6, 0);
    const meter = await gpio.openInput({ line: line(6), edges: 'both' }, signal());
    let edges: LineEdge[] = [];
    meter.watch((edge) => edges.push(edge));
    const busy = setInterval(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300), 1000);
    // Each burst is counted without loss. A host that is busy otherwise may hold up what makes the edges; one burst has their rate.
    const typicalGapsMs: number[] = [];
    const startMs = performance.now();
    let counted = 0;
    do {
      edges = [];
      await toggle(6, EDGES, EDGE_PERIOD_MS);
      await sleep(500);
      counted += edges.length;
      expect(edges.length).toBe(EDGES);
      expect(edges.every((edge, index) => edge.level === (index + 1) % 2 && edge.missed === 0)).toBe(true);
      const gapsMs = edges.slice(1).map((edge, index) => edge.monotonicMs - (edges[index]?.monotonicMs ?? 0));
      typicalGapsMs.push(gapsMs.sort((one, other) => one - other)[EDGES / 2] ?? Number.POSITIVE_INFINITY);
    } while (Math.min(...typicalGapsMs) >= EDGE_PERIOD_MS * 1.1 && performance.now() - startMs < BURSTS_WITHIN_MS);
    clearInterval(busy);
    await gpio.close();
    recordFigure('edges', { made: EDGES * typicalGapsMs.length, counted });
    expect(Math.min(...typicalGapsMs), `ms between edges in each burst: ${typicalGapsMs}`).toBeLessThan(
      EDGE_PERIOD_MS * 1.1,
    );
  });
});

describe('GPIO bias', () => {
  it('sets pull-ups and pull-downs through the character device, and takes it by itself when sysfs is there too', async () => {
    const gpio = new LinuxGpio({ clock: systemClock, interface: 'auto' });
    const up = await gpio.openInput({ line: line(12), bias: 'pull-up' }, signal());
    expect([pullOf(12), await up.read(signal())]).toEqual(['pull-up', 1]);
    const down = await gpio.openInput({ line: line(13), bias: 'pull-down' }, signal());
    expect([pullOf(13), await down.read(signal())]).toEqual(['pull-down', 0]);
    await gpio.close();
  });

  it('is refused by sysfs, with the way out', async () => {
    const gpio = new LinuxGpio({ clock: systemClock, interface: 'sysfs' });
    await expect(gpio.openInput({ line: line(14), bias: 'pull-up' }, signal())).rejects.toMatchObject({
      code: 'hardware/unsupported',
      message: expect.stringContaining('character device'),
    });
    await gpio.close();
  });
});
