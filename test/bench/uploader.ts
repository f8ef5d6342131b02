/**
 * How fast a backlog leaves: a million entries through outbox, uploader and platform client to a local sink, against bare undici that posts
 * the same bodies, made beforehand, over the same kind of connection. Both in turn, a few batches each, so that a machine that changes its
 * speed changes both.
 *
 *   npm run bench:uploader [-- --json] [-- --runs 5] [-- --entries 1000000]
 *
 * `growthMb` is private memory after a forced collection: the greatest while another such backlog leaves, above what it was when it began.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { Pool } from 'undici';
import { systemClock } from '../../src/host/clock.ts';
import { silentLog } from '../../src/host/log.ts';
import type { Outbox } from '../../src/outbox/outbox.ts';
import { HttpDeviceApi } from '../../src/platform/http-device-api.ts';
import { jsonCodec, type PayloadCodec } from '../../src/platform/payload-codec.ts';
import { Uploader, type UploadSettings } from '../../src/telemetry/uploader.ts';
import { Corpus } from './corpus.ts';
import { inFolder, median, openBenchOutbox } from './outbox-bench/bench-outbox.ts';

const MB = 1024 * 1024;
/** As the configuration ships them, but for the rate at which history may leave. */
const SETTINGS: UploadSettings = { maxBatchBytes: 256_000, maxBatchEntries: 2_000, intervalMs: 0 };
/** Ten keys a second for the default commit age. */
const COMMIT_ENTRIES = 50;
const LOOK_AT_MEMORY_EVERY = 100_000;
/** Batches of one way before it is the other's turn. */
const TURN = 25;
const PATH = '/api/v1/bench/telemetry';

const { values: flags } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    runs: { type: 'string', default: '5' },
    entries: { type: 'string', default: '1000000' },
  },
});
const entries = Number(flags.entries);
const child = spawn(process.execPath, [join(import.meta.dirname, 'uploader-bench/sink.ts')], {
  stdio: ['ignore', 'pipe', 'inherit'],
});
const [port] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
const url = `http://127.0.0.1:${port}`;

try {
  const runs: Run[] = [];
  for (let run = 0; run < Number(flags.runs); run += 1)
    runs.push({ ...(await inFolder(drainInTurn)), growthMb: await inFolder(drainWatchingMemory) });
  report(runs);
} finally {
  child.kill();
}

/** The real way (blocks are read, resolved, encoded, posted, acknowledged), and the bare way with what the real one has just sent. */
async function drainInTurn(folder: string): Promise<{ readonly ours: number; readonly bare: number }> {
  await fill(folder);
  const bodies: (string | Uint8Array)[] = [];
  const encodeTelemetry: PayloadCodec['encodeTelemetry'] = (rows) => {
    const body = jsonCodec.encodeTelemetry(rows);
    bodies.push(body);
    return body;
  };
  const { outbox, uploader, api } = await openUploader(folder, { ...jsonCodec, encodeTelemetry });
  const pool = new Pool(url, { connections: 1, pipelining: 1 });
  const { signal } = new AbortController();
  let oursMs = 0;
  let bareMs = 0;
  let posted = 0;
  while (uploader.state.acknowledgedEntries < entries) {
    oursMs += await timed(async () => {
      for (let batch = 0; batch < TURN; batch += 1) await uploader.uploadNextBatch(signal);
    });
    await takeCount();
    const sent = bodies.splice(0);
    bareMs += await timed(async () => {
      for (const body of sent) {
        const answer = await pool.request({
          path: PATH,
          method: 'POST',
          body,
          headers: { 'content-type': 'application/json' },
        });
        await answer.body.dump();
      }
    });
    posted += await takeCount();
  }
  await Promise.all([pool.close(), api.close(), outbox.close()]);
  if (posted !== entries) throw new Error(`${posted} entries were posted, not ${entries}`);
  return { ours: (entries / oursMs) * 1000, bare: (entries / bareMs) * 1000 };
}

async function drainWatchingMemory(folder: string): Promise<number> {
  await fill(folder);
  const { outbox, uploader, api } = await openUploader(folder, jsonCodec);
  const { signal } = new AbortController();
  const atStart = privateBytes();
  let greatest = 0;
  for (let nextLookAt = LOOK_AT_MEMORY_EVERY; uploader.state.acknowledgedEntries < entries; ) {
    await uploader.uploadNextBatch(signal);
    if (uploader.state.acknowledgedEntries < nextLookAt) continue;
    nextLookAt += LOOK_AT_MEMORY_EVERY;
    greatest = Math.max(greatest, privateBytes());
  }
  await Promise.all([api.close(), outbox.close()]);
  const counted = await takeCount();
  if (counted !== entries) throw new Error(`the sink got ${counted} values, not ${entries}`);
  return (greatest - atStart) / MB;
}

/** Opens an uploader; entries of an earlier process are its backlog. */
async function openUploader(
  folder: string,
  codec: PayloadCodec,
): Promise<{ outbox: Outbox; uploader: Uploader; api: HttpDeviceApi }> {
  const outbox = await openBenchOutbox(folder);
  const api = new HttpDeviceApi({ settings: { url }, token: () => 'bench', clock: systemClock, codec });
  const uploader = new Uploader({
    outbox,
    clock: systemClock,
    log: silentLog,
    settings: () => SETTINGS,
    link: () => ({ history: true, present: true }),
    postTelemetry: (rows, signal) => api.postTelemetry(rows, signal),
    prepareTelemetry: (rows) => api.prepareTelemetry(rows),
  });
  return { outbox, uploader, api };
}

async function timed(work: () => Promise<void>): Promise<number> {
  const startedMs = systemClock.monotonicMs();
  await work();
  return systemClock.monotonicMs() - startedMs;
}

async function fill(folder: string): Promise<void> {
  const outbox = await openBenchOutbox(folder, { commitEntries: COMMIT_ENTRIES });
  const corpus = new Corpus(systemClock.bootId);
  const waiting: Promise<void>[] = [];
  for (let done = 0; done < entries; done += COMMIT_ENTRIES) {
    waiting.push(outbox.append(corpus.entries(COMMIT_ENTRIES)));
    if (waiting.length >= 200) await Promise.all(waiting.splice(0));
  }
  await Promise.all(waiting);
  await outbox.close();
}

/** Returns the sink's count since the last call. */
async function takeCount(): Promise<number> {
  return Number(await (await fetch(`${url}/count`)).text());
}

function privateBytes(): number {
  globalThis.gc?.();
  globalThis.gc?.();
  const rollup = readFileSync('/proc/self/smaps_rollup', 'utf8');
  return (
    [...rollup.matchAll(/^Private_(?:Clean|Dirty):\s+(\d+) kB/gm)].reduce((sum, [, kb]) => sum + Number(kb), 0) * 1024
  );
}

interface Run {
  /** Entries per second. */
  readonly ours: number;
  readonly bare: number;
  readonly growthMb: number;
}

function report(runs: readonly Run[]): void {
  const shown = (value: number, digits: number): string => value.toFixed(digits).padStart(14);
  console.log('entries per second      uploader   bare undici         ratio     growth MB');
  for (const { ours, bare, growthMb } of runs)
    console.log(`${' '.repeat(18)}${shown(ours, 0)}${shown(bare, 0)}${shown(ours / bare, 2)}${shown(growthMb, 1)}`);
  const result = {
    ratioBareUndici: Number(median(runs.map(({ ours, bare }) => ours / bare)).toFixed(2)),
    growthMb: Number(median(runs.map(({ growthMb }) => growthMb)).toFixed(1)),
  };
  if (flags.json) console.log(JSON.stringify(result));
}
