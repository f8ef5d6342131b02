/** Figures of a running agent: memory, start and processor, with a hundred meters that belong to as many devices as are asked for. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { inFolder, median } from '../outbox-bench/bench-outbox.ts';
import {
  monotonicMs,
  type RunningAgent,
  type Setting,
  type Sink,
  STARTS_WITHIN_MS,
  startAgent,
  startBoard,
  writeConfig,
} from './agent-run.ts';

const METERS = 100;
/** Until polls stand, and client attributes are told. */
const SETTLE_MS = 20_000;

export interface MemoryFigures {
  readonly privateMb: number;
  /** Beyond the same meters without devices. */
  readonly moreMb: number;
}

/** Private memory after forced collections, with devices and without in turn: one start differs from the next by some MB. */
export async function measureMemory(sink: Sink, devices: number, runs: number): Promise<MemoryFigures> {
  const measured: MemoryFigures[] = [];
  for (let run = 0; run < runs; run += 1) {
    const privateMb = await memoryWith(sink, devices);
    measured.push({ privateMb, moreMb: privateMb - (await memoryWith(sink, 0)) });
  }
  return { privateMb: median(measured.map((one) => one.privateMb)), moreMb: median(measured.map((one) => one.moreMb)) };
}

function memoryWith(sink: Sink, devices: number): Promise<number> {
  return running(sink, { devices, meters: METERS, period: '10s', uploadInterval: '10s' }, async (agent, setting) => {
    await sink.until(setting, STARTS_WITHIN_MS, (arrived) => arrived.length >= Math.max(1, devices));
    await delay(SETTLE_MS);
    return await agent.privateMb();
  });
}

export interface StartFigures {
  readonly firstUploadMs: number;
  /** Until each device has sent something. */
  readonly everyDeviceMs: number;
}

/** From its spawn; the median of some starts, the first of which fills the cache and does not count. */
export async function measureStart(sink: Sink, devices: number, runs: number): Promise<StartFigures> {
  const setting = { devices, meters: METERS, period: '10s', uploadInterval: '0s' };
  return inFolder(async (folder) => {
    const measured: StartFigures[] = [];
    for (let run = 0; run <= runs; run += 1) {
      await rm(join(folder, 'state'), { recursive: true, force: true });
      const figures = await running(sink, setting, startFigures, folder);
      if (run > 0) measured.push(figures);
    }
    return {
      firstUploadMs: median(measured.map(({ firstUploadMs }) => firstUploadMs)),
      everyDeviceMs: median(measured.map(({ everyDeviceMs }) => everyDeviceMs)),
    };
  });

  async function startFigures({ startedMs }: RunningAgent, of: Setting): Promise<StartFigures> {
    const arrived = await sink.until(of, STARTS_WITHIN_MS, ({ length }) => length >= Math.max(1, devices));
    const times = arrived.map(({ firstMs }) => firstMs - startedMs);
    return { firstUploadMs: Math.min(...times), everyDeviceMs: Math.max(...times) };
  }
}

export interface LoadFigures {
  /** Of one core. */
  readonly cpuPercent: number;
  readonly valuesPerSecond: number;
}

/** A thousand values a second, which arrive in one burst each interval: their rate is as exact as the time is long. */
export function measureLoad(sink: Sink, devices: number, seconds: number): Promise<LoadFigures> {
  return running(sink, { devices, meters: METERS, period: '1s', uploadInterval: '10s' }, async (agent, setting) => {
    await sink.until(setting, STARTS_WITHIN_MS, (arrived) => arrived.length >= Math.max(1, devices));
    await delay(SETTLE_MS);
    const valuesOf = async (): Promise<number> =>
      (await sink.arrived(setting)).reduce((sum, { values }) => sum + values, 0);
    const [cpuBefore, valuesBefore, fromMs] = [await agent.cpuSeconds(), await valuesOf(), monotonicMs()];
    await delay(seconds * 1_000);
    const elapsedSeconds = (monotonicMs() - fromMs) / 1_000;
    const cpuSeconds = (await agent.cpuSeconds()) - cpuBefore;
    return {
      cpuPercent: (100 * cpuSeconds) / elapsedSeconds,
      valuesPerSecond: ((await valuesOf()) - valuesBefore) / elapsedSeconds,
    };
  });
}

/** Works with an agent and its board in a folder, its own when none is given. */
async function running<T>(
  sink: Sink,
  asked: Omit<Setting, 'folder' | 'url'>,
  work: (agent: RunningAgent, setting: Setting) => Promise<T>,
  folder?: string,
): Promise<T> {
  if (folder === undefined) return inFolder((own) => running(sink, asked, work, own));
  const setting: Setting = { ...asked, folder, url: sink.url };
  const config = await writeConfig(setting);
  const stopBoard = await startBoard(setting, config);
  await sink.reset();
  const agent = startAgent(setting, config);
  try {
    return await Promise.race([work(agent, setting), agent.ended]);
  } finally {
    await agent.stop();
    await stopBoard();
  }
}
