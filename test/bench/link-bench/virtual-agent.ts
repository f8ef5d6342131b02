/** The real agent in a virtual time, on a disk in memory, before a line whose exchanges have prices. Nothing of this machine is in it. */
import { Agent } from '../../../src/agent/agent.ts';
import type { Machine } from '../../../src/agent/machine.ts';
import { configSchema } from '../../../src/config/schema/agent-config.ts';
import type { Ports } from '../../../src/hardware/ports.ts';
import type { MetricGroup } from '../../../src/host/host-metrics.ts';
import type { LinkStatus } from '../../../src/link/link-words.ts';
import { BoardClock } from '../../simulation/board-clock.ts';
import { Boot } from '../../simulation/boot.ts';
import { Chance } from '../../simulation/chance.ts';
import { Timeline } from '../../simulation/timeline.ts';
import { MemoryFiles } from '../../support/memory-files.ts';
import { type LineOptions, PricedLine } from './priced-line.ts';

export interface VirtualRun extends Omit<LineOptions, 'timeline'> {
  /** Sections of the configuration beside the platform. */
  readonly config: object;
  readonly days: number;
  readonly seed?: number;
  /** Called each virtual hour. */
  readonly onHour?: (hour: number, agent: Agent, line: PricedLine) => void;
}

export const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
/** A start loads files of this machine, in its own time. */
const START_STEP_MS = 100;

export async function runVirtually({ config, days, seed = 1, onHour, ...options }: VirtualRun): Promise<{
  readonly line: PricedLine;
  readonly link: LinkStatus;
  readonly heldEntries: number;
}> {
  const chance = new Chance(seed);
  const timeline = new Timeline();
  const clock = new BoardClock(timeline, { boot: new Boot(timeline, 'bench'), jitter: chance.random });
  const line = new PricedLine({ ...options, timeline });
  const files = new MemoryFiles({ memoryFolders: ['/run/turnstone'], keepsChanges: false });
  const stop = new AbortController();
  const parsed = configSchema.parse({
    version: 1,
    platform: { url: 'https://platform.example', accessToken: 'ABCDEFGHIJ0123456789' },
    stateFolder: '/var/lib/turnstone',
    runFolder: '/run/turnstone',
    status: { page: 'off', metrics: false },
    ...config,
  });
  const starting = Agent.start(
    { configFile: 'bench', environment: {}, machine: machineOf({ clock, files, line, chance, config: parsed }) },
    stop.signal,
  );
  let agent: Agent | undefined;
  starting.then((started) => {
    agent = started;
  });
  while (agent === undefined) {
    await timeline.runUntil(timeline.nowMs + START_STEP_MS);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  for (let hour = 1; hour <= days * 24; hour += 1) {
    await timeline.runUntil(hour * HOUR_MS);
    onHour?.(hour, agent, line);
  }
  const { link, outbox } = agent.status();
  const result = { line, link: link as LinkStatus, heldEntries: outbox.heldEntries };
  clock.kill();
  return result;
}

interface Parts {
  readonly clock: BoardClock;
  readonly files: MemoryFiles;
  readonly line: PricedLine;
  readonly chance: Chance;
  readonly config: ReturnType<typeof configSchema.parse>;
}

function machineOf({ clock, files, line, chance, config }: Parts): Machine {
  const absent = (what: string): Promise<never> => Promise.reject(new Error(what));
  return {
    clock,
    files,
    connect: line.connect,
    randomBytes: (count) => Buffer.from(Array.from({ length: count }, () => chance.between(0, 255))),
    loadConfig: async () => ({ config, missing: [], written: undefined }),
    readConfigBytes: () => absent('there is no file'),
    readConfig: () => absent('there is no file'),
    openExternalFile: () => absent('nothing lies elsewhere'),
    runProgram: () => absent('there are no programs'),
    openHostMetrics: () => ({ read: async (group) => metricsOf(group, chance) }),
    diagnose: async () => ({ verdict: 'good' }),
    openPorts: () => ({}) as Ports,
    openStatusServer: async () => ({ url: undefined, openPages: 0, close: async () => {} }),
    usage: () => ({ residentBytes: 80e6, heapUsedBytes: 20e6, cpuSeconds: 1 }),
    openWrittenBytes: async () => () => ({ own: 0 }),
    boardModel: async () => 'a board of the bench',
    networkAddresses: () => ['192.0.2.7'],
    readIdentity: async () => ({ serial: 'bench', hostname: 'gateway' }),
    askSystemTime: async () => true,
    takeLock: async () => ({ close: async () => {} }),
    listen: async () => ({ close: async () => {} }),
    logSink: { write: (text) => void (process.env.BENCH_LOG && console.error(text)) },
  };
}

/** Figures as a gateway at rest shows them. */
function metricsOf(group: MetricGroup, chance: Chance): { readonly key: string; readonly value: number }[] {
  const value = (key: string, least: number, most: number) => ({ key, value: chance.between(least, most) / 10 });
  const keys: Readonly<Record<MetricGroup, readonly { readonly key: string; readonly value: number }[]>> = {
    cpu: [value('cpuPercent', 10, 99)],
    load: [value('load1', 0, 30), value('load5', 0, 30), value('load15', 0, 30)],
    memory: [value('memoryUsedPercent', 200, 400), { key: 'memoryAvailableBytes', value: chance.between(3e8, 4e8) }],
    disk: [value('diskUsedPercent', 200, 210), { key: 'diskFreeBytes', value: chance.between(1e9, 2e9) }],
    temperature: [value('temperature', 350, 500)],
    network: [
      { key: 'networkReceivedBytes', value: chance.between(1e6, 9e7) },
      { key: 'networkSentBytes', value: chance.between(1e6, 9e7) },
    ],
    uptime: [{ key: 'uptimeS', value: chance.between(1e5, 9e5) }],
  };
  return [...keys[group]];
}
