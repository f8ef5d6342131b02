/**
 * How fast a backlog leaves: a million entries through outbox, uploader and platform client to a local sink, against bare undici that posts
 * the same bodies, made beforehand, over the same kind of connection. Both in turn, so that a machine that changes its speed changes both.
 *
 *   npm run bench:uploader [-- --json] [-- --runs 3] [-- --entries 1000000]
 *
 * `growthMb` is private memory after a forced collection: the greatest while the backlog leaves, above what it was when it began.
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
import { jsonCodec } from '../../src/platform/payload-codec.ts';
import { toRecords } from '../../src/telemetry/batch-delivery.ts';
import { DailyBudget } from '../../src/telemetry/daily-budget.ts';
import { Uploader, type UploadSettings } from '../../src/telemetry/uploader.ts';
import { Corpus } from './corpus.ts';
import { inFolder, median, openBenchOutbox } from './outbox-bench/bench-outbox.ts';

const MB = 1024 * 1024;
/** As the configuration ships them, but for the rate at which history may leave. */
const SETTINGS: UploadSettings = { maxBatchBytes: 256_000, maxBatchEntries: 2_000, intervalMs: 0 };
/** Ten keys a second for the default commit age. */
const COMMIT_ENTRIES = 50;
const LOOK_AT_MEMORY_EVERY = 100_000;
const PATH = '/api/v1/bench/telemetry';

const { values: flags } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    runs: { type: 'string', default: '3' },
    entries: { type: 'string', default: '1000000' },
  },
});
const entries = Number(flags.entries);
const child = spawn(process.execPath, [join(import.meta.dirname, 'uploader-bench/sink.ts')], { stdio: ['ignore', 'pipe', 'inherit'] });
const [port] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
const url = `http://127.0.0.1:${port}`;

try {
  const runs: { readonly ratio: number; readonly ours: number; readonly bare: number; readonly growthMb: number }[] = [];
  for (let run = 0; run < Number(flags.runs); run += 1) {
    const ours = await inFolder(drainOnce);
    const bare = await postBare(ours.bodies);
    runs.push({ ratio: ours.perS / bare, ours: ours.perS, bare, growthMb: ours.growthMb });
  }
  report(runs);
} finally {
  child.kill();
}

/** The real way: blocks are read, resolved, encoded, posted, acknowledged. */
async function drainOnce(
  folder: string,
): Promise<{ readonly perS: number; readonly growthMb: number; readonly bodies: readonly string[] }> {
  await fill(folder);
  // What an earlier process wrote is backlog.
  const outbox = await openBenchOutbox(folder);
  const api = new HttpDeviceApi({ settings: { url }, token: () => 'bench', clock: systemClock });
  const bodies: string[] = [];
  const memory = { atStart: privateBytes(), greatest: 0, nextLookAt: LOOK_AT_MEMORY_EVERY, looking: 0 };
  const uploader = new Uploader({
    outbox,
    clock: systemClock,
    log: silentLog,
    settings: () => SETTINGS,
    budget: new DailyBudget({ clock: systemClock, bytesSent: () => 0, limitBytes: () => undefined }),
    postTelemetry: (records, signal) => api.postTelemetry(records, signal),
    onAcknowledged: () => {
      if (uploader.state.acknowledgedEntries < memory.nextLookAt) return;
      const startedMs = systemClock.monotonicMs();
      memory.nextLookAt += LOOK_AT_MEMORY_EVERY;
      memory.greatest = Math.max(memory.greatest, privateBytes());
      memory.looking += systemClock.monotonicMs() - startedMs;
    },
  });
  const startedMs = systemClock.monotonicMs();
  await uploader.drain(new AbortController().signal);
  const seconds = (systemClock.monotonicMs() - startedMs - memory.looking) / 1000;
  await api.close();
  await expectCount(entries);
  await outbox.close();
  bodies.push(...(await sameBodies(folder)));
  return { perS: entries / seconds, growthMb: (memory.greatest - memory.atStart) / MB, bodies };
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

/** The bodies that the uploader sent, from the delivered entries that the outbox still keeps: made before the clock runs. */
async function sameBodies(folder: string): Promise<string[]> {
  const outbox: Outbox = await openBenchOutbox(folder);
  const bodies: string[] = [];
  let part: Parameters<typeof toRecords>[0][number][] = [];
  for await (const entry of outbox.read({}, new AbortController().signal)) {
    part.push(entry);
    if (part.length === SETTINGS.maxBatchEntries) bodies.push(jsonCodec.encodeTelemetry(toRecords(part.splice(0))) as string);
  }
  if (part.length > 0) bodies.push(jsonCodec.encodeTelemetry(toRecords(part)) as string);
  await outbox.close();
  part = [];
  return bodies;
}

async function postBare(bodies: readonly string[]): Promise<number> {
  const pool = new Pool(url, { connections: 1, pipelining: 1 });
  const startedMs = systemClock.monotonicMs();
  for (const body of bodies) {
    const answer = await pool.request({ path: PATH, method: 'POST', body, headers: { 'content-type': 'application/json' } });
    await answer.body.dump();
  }
  const seconds = (systemClock.monotonicMs() - startedMs) / 1000;
  await pool.close();
  const posted = await expectCount();
  return posted / seconds;
}

/** What the sink counted since it was last asked. */
async function expectCount(expected?: number): Promise<number> {
  const counted = Number(await (await fetch(`${url}/count`)).text());
  if (expected !== undefined && counted !== expected) throw new Error(`the sink got ${counted} values, not ${expected}`);
  return counted;
}

function privateBytes(): number {
  globalThis.gc?.();
  globalThis.gc?.();
  const rollup = readFileSync('/proc/self/smaps_rollup', 'utf8');
  return [...rollup.matchAll(/^Private_(?:Clean|Dirty):\s+(\d+) kB/gm)].reduce((sum, [, kb]) => sum + Number(kb), 0) * 1024;
}

function report(
  runs: readonly { readonly ratio: number; readonly ours: number; readonly bare: number; readonly growthMb: number }[],
): void {
  console.log('entries per second      uploader   bare undici   ratio   growth MB');
  for (const { ours, bare, ratio, growthMb } of runs)
    console.log(
      `${' '.repeat(22)}${Math.round(ours).toString().padStart(10)}${Math.round(bare).toString().padStart(14)}${ratio.toFixed(2).padStart(8)}${growthMb.toFixed(1).padStart(12)}`,
    );
  const result = {
    ratioBareUndici: Number(median(runs.map(({ ratio }) => ratio)).toFixed(2)),
    growthMb: Number(median(runs.map(({ growthMb }) => growthMb)).toFixed(1)),
  };
  if (flags.json) console.log(JSON.stringify(result));
}
