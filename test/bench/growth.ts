/**
 * Costs of an agent by what it reads: values a second of the gateway's own meters, then attached devices with two values each 10 s.
 *
 *   npm run bench:growth [-- --json] [-- --minutes 2] [-- --only values|devices]
 *
 * Each step is the bundle as a process of its own before a sink, its state on an ext4 image, with meters of ten keys (a device's has two) on a simulated board.
 * Processor time and arrivals are those of `--minutes` after a settled start, private memory is read at their end after collections. Block bytes are
 * those of these minutes and of the stop behind them, which writes what memory held; a day has as many of them as the rate gives. Needs the rights to
 * make and mount an image.
 */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { buildBundle, ownNativeModules } from '../../scripts/bundle.ts';
import {
  monotonicMs,
  type Setting,
  Sink,
  STARTS_WITHIN_MS,
  startAgent,
  startBoard,
  writeConfig,
} from './devices-bench/agent-run.ts';
import { inFolder } from './outbox-bench/bench-outbox.ts';
import { mountImage } from './outbox-bench/image.ts';

/** By values a second. Beyond a hundred meters their period is shorter: a configuration has a bound, too. */
const VALUES: Readonly<Record<number, Omit<Step, 'devices'>>> = {
  10: { meters: 1, keys: 10, period: '1s' },
  100: { meters: 10, keys: 10, period: '1s' },
  1000: { meters: 100, keys: 10, period: '1s' },
  5000: { meters: 100, keys: 10, period: '200ms' },
};
const DEVICES = [1, 10, 100, 500];
const SETTLE_MS = 20_000;
const DAY_S = 86_400;

interface Step {
  readonly devices: number;
  readonly meters: number;
  readonly keys: number;
  readonly period: string;
}

interface Costs {
  readonly valuesPerSecond: number;
  /** Of one core. */
  readonly cpuPercent: number;
  readonly privateMb: number;
  readonly blockBytesPerValue: number;
  readonly mbPerDay: number;
  readonly arrivalP50Ms: number;
  readonly arrivalP99Ms: number;
}

const { values: flags } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    minutes: { type: 'string', default: '2' },
    only: { type: 'string' },
  },
});
const steps: Readonly<Record<string, ReadonlyMap<string, Step>>> = {
  values: new Map(
    Object.entries(VALUES).map(([values, { meters, keys, period }]) => [
      `${values} values a second`,
      { devices: 0, meters, keys, period },
    ]),
  ),
  devices: new Map(
    DEVICES.map((devices) => [`${devices} attached devices`, { devices, meters: devices, keys: 2, period: '10s' }]),
  ),
};

await buildBundle(ownNativeModules());
const sink = await Sink.open();
const measured: Record<string, Costs> = {};
try {
  for (const [name, list] of Object.entries(steps)) {
    if (flags.only !== undefined && flags.only !== name) continue;
    for (const [what, step] of list) {
      const costs = await measure(step);
      measured[what] = costs;
      if (!flags.json) console.log(lineOf(what, costs));
    }
  }
  if (flags.json) console.log(JSON.stringify(measured));
} finally {
  sink.close();
}

function measure(step: Step): Promise<Costs> {
  return inFolder(async (folder) => {
    await mkdir(join(folder, 'image'));
    const image = await mountImage(join(folder, 'image'), 'defaults');
    try {
      return await run(
        step,
        { ...step, folder: image.folder, url: sink.url, uploadInterval: '0s' },
        image.writtenBytes,
      );
    } finally {
      image.release();
    }
  });
}

async function run(step: Step, setting: Setting, writtenBytes: () => number): Promise<Costs> {
  const config = await writeConfig(setting);
  const stopBoard = await startBoard(setting, config);
  await sink.reset();
  const agent = startAgent(setting, config);
  let isRunning = true;
  try {
    await Promise.race([
      agent.ended,
      sink.until(setting, STARTS_WITHIN_MS, ({ length }) => length >= Math.max(1, step.devices)),
    ]);
    await delay(SETTLE_MS);
    await sink.reset();
    const before = { cpu: await agent.cpuSeconds(), bytes: writtenBytes(), atMs: monotonicMs() };
    await delay(Number(flags.minutes) * 60_000);
    const seconds = (monotonicMs() - before.atMs) / 1_000;
    const cpuPercent = ((await agent.cpuSeconds()) - before.cpu) / seconds;
    const { values, p50Ms, p99Ms } = await sink.delays();
    const privateMb = await agent.privateMb();
    await agent.stop();
    isRunning = false;
    const bytes = writtenBytes() - before.bytes;
    return {
      valuesPerSecond: rounded(values / seconds, 1),
      cpuPercent: rounded(cpuPercent * 100, 2),
      privateMb: rounded(privateMb, 1),
      blockBytesPerValue: rounded(bytes / values, 1),
      mbPerDay: rounded((bytes / seconds / 1e6) * DAY_S, 0),
      arrivalP50Ms: rounded(p50Ms, 0),
      arrivalP99Ms: rounded(p99Ms, 0),
    };
  } finally {
    if (isRunning) await agent.stop();
    await stopBoard();
  }
}

function lineOf(what: string, costs: Costs): string {
  const cells = Object.entries(costs).map(([name, value]) => `${name} ${value}`);
  return `${what.padEnd(24)}${cells.join('  ')}`;
}

function rounded(value: number, digits: number): number {
  return Math.round(value * 10 ** digits) / 10 ** digits;
}
