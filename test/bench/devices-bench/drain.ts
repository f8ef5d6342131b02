/** How fast the agent gets rid of a backlog that was there before it started, of one device or of many: the same entries, under the same keys. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { systemClock } from '../../../src/host/clock.ts';
import { Corpus } from '../corpus.ts';
import { inFolder, openBenchOutbox } from '../outbox-bench/bench-outbox.ts';
import { deviceName, type Setting, type Sink, startAgent, startBoard, writeConfig } from './agent-run.ts';

/** Entries in a commit: ten keys a second for the default commit age. */
const COMMIT_ENTRIES = 50;
const COMMITS_UNDER_WAY = 200;
const KEYS = 10;
const DRAINED_WITHIN_MS = 15 * 60_000;

export interface DrainFigures {
  /** From the first that comes to the last. */
  readonly perSecond: number;
  /** Of the processor, for a million entries: other work on the machine changes it less than the time. */
  readonly cpuSecondsPerMillion: number;
}

/** @param keySets that the entries are dealt out to, whoever has them. */
export function measureDrain(
  sink: Sink,
  { devices, entries, keySets }: { readonly devices: number; readonly entries: number; readonly keySets: number },
): Promise<DrainFigures> {
  return inFolder(async (folder) => {
    const setting: Setting = { folder, url: sink.url, devices, meters: 0, period: '1h', uploadInterval: '0s' };
    await fill({
      folder: join(folder, 'state', ...(devices === 0 ? ['outbox'] : ['devices', 'outbox'])),
      devices,
      entries,
      keySets,
    });
    const config = await writeConfig(setting);
    const stopBoard = await startBoard(setting, config);
    await sink.reset();
    const agent = startAgent(setting, config);
    try {
      const isAll = (arrived: readonly { readonly values: number }[]): boolean =>
        arrived.reduce((sum, { values }) => sum + values, 0) >= entries;
      const arrived = await Promise.race([sink.until(setting, DRAINED_WITHIN_MS, isAll), agent.ended]);
      const [firstMs, lastMs] = [
        Math.min(...arrived.map((one) => one.firstMs)),
        Math.max(...arrived.map((one) => one.lastMs)),
      ];
      const cpuSecondsPerMillion = ((await agent.cpuSeconds()) / entries) * 1e6;
      return { perSecond: (entries / (lastMs - firstMs)) * 1_000, cpuSecondsPerMillion };
    } finally {
      await agent.stop();
      await stopBoard();
    }
  });
}

/** Ten entries of one set of keys, then ten of the next. */
async function fill({
  folder,
  devices,
  entries,
  keySets,
}: {
  readonly folder: string;
  readonly devices: number;
  readonly entries: number;
  readonly keySets: number;
}): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o750 });
  const outbox = await openBenchOutbox(folder, { commitEntries: COMMIT_ENTRIES });
  const corpus = new Corpus(systemClock.bootId);
  const waiting: Promise<void>[] = [];
  for (let done = 0; done < entries; done += COMMIT_ENTRIES) {
    const commit = corpus.entries(Math.min(COMMIT_ENTRIES, entries - done)).map((entry, at) => {
      const set = Math.floor((done + at) / KEYS) % keySets;
      return { ...entry, key: `m${set}_${entry.key}`, device: devices === 0 ? 'self' : deviceName(set % devices) };
    });
    waiting.push(outbox.append(commit));
    if (waiting.length >= COMMITS_UNDER_WAY) await Promise.all(waiting.splice(0));
  }
  await Promise.all(waiting);
  await outbox.close();
}
