/**
 * Bytes that reach the disk for each byte of payload, at ten entries a second, everything acknowledged as it goes, in real time: haste would
 * hide the file system's own journal, which commits by the clock. Each run is a process of its own on an image of its own, and counts twice:
 *
 *   processBytes  /proc/self/io: the pages that this process made the disk write
 *   deviceBytes   the image's block device: those, and what ext4 adds for a file's changed time (three journal blocks every 5 s)
 */
import { execFile, execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { systemClock } from '../../../src/host/clock.ts';
import { DEFAULT_OUTBOX_SETTINGS } from '../../support/outbox-settings.ts';
import { Corpus, ENTRY_BYTES } from '../corpus.ts';
import { inFolder, nextBatch, openBenchOutbox } from './bench-outbox.ts';
import { mountImage } from './image.ts';

const ENTRIES_PER_S = 10;
const BATCH = { maxEntries: 2_000, maxBytes: 256_000 };

export interface BytesPerPayloadByte {
  readonly processBytes: number;
  /** Absent without the rights to make and mount an image. */
  readonly deviceBytes?: number;
}

export interface DeviceRun {
  readonly commitAgeMs: number;
  readonly mountOptions: string;
  readonly seconds: number;
}

/** Runs all side by side: they sleep nearly all the time. */
export async function measureDeviceBytes(runs: readonly DeviceRun[]): Promise<BytesPerPayloadByte[]> {
  return Promise.all(
    runs.map(async (run) => {
      const { stdout } = await promisify(execFile)(process.execPath, [import.meta.filename, JSON.stringify(run)]);
      return JSON.parse(stdout) as BytesPerPayloadByte;
    }),
  );
}

async function measure({ commitAgeMs, mountOptions, seconds }: DeviceRun): Promise<BytesPerPayloadByte> {
  return inFolder(async (folder) => {
    const image = await mountImage(folder, mountOptions).catch(() => undefined);
    try {
      return await run(image?.folder ?? folder, commitAgeMs, seconds, image?.writtenBytes);
    } finally {
      image?.release();
    }
  });
}

async function run(
  folder: string,
  commitAgeMs: number,
  seconds: number,
  deviceBytes: (() => number) | undefined,
): Promise<BytesPerPayloadByte> {
  const outbox = await openBenchOutbox(join(folder, 'outbox'), { commitAgeMs });
  const corpus = new Corpus(systemClock.bootId);
  const deliver = async (): Promise<void> => {
    for (let batch = await nextBatch(outbox, BATCH); batch !== undefined; batch = await nextBatch(outbox, BATCH))
      await outbox.acknowledge(batch);
  };
  outbox.onAppended(() => void deliver());
  await outbox.append(corpus.entries(ENTRIES_PER_S));
  execFileSync('sync', ['--file-system', folder]);
  const before = { process: processBytes(), device: deviceBytes?.() ?? 0 };
  const appends: Promise<void>[] = [];
  const started = systemClock.monotonicMs();
  for (let tick = 1; tick <= seconds * ENTRIES_PER_S; tick += 1) {
    appends.push(outbox.append(corpus.entries(1)));
    await delay(Math.max(0, started + (tick * 1000) / ENTRIES_PER_S - systemClock.monotonicMs()));
  }
  await outbox.flush();
  await Promise.all(appends);
  await deliver();
  execFileSync('sync', ['--file-system', folder]);
  const payload = appends.length * ENTRY_BYTES;
  const written = {
    process: (processBytes() - before.process) / payload,
    device: ((deviceBytes?.() ?? 0) - before.device) / payload,
  };
  await outbox.close();
  return { processBytes: written.process, ...(deviceBytes === undefined ? {} : { deviceBytes: written.device }) };
}

function processBytes(): number {
  return Number(/^write_bytes: (\d+)/m.exec(readFileSync('/proc/self/io', 'utf8'))?.[1] ?? Number.NaN);
}

if (import.meta.main) {
  const defaults = { commitAgeMs: DEFAULT_OUTBOX_SETTINGS.commitAgeMs, mountOptions: 'defaults', seconds: 60 };
  const run: DeviceRun = { ...defaults, ...(JSON.parse(process.argv[2] ?? '{}') as Partial<DeviceRun>) };
  console.log(JSON.stringify(await measure(run)));
}
