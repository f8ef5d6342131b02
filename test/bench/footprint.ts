/**
 * Footprint of the agent on a small board: time from start to the first durable reading, and memory with every loop running.
 *
 *   npm run bench:footprint [-- --json] [-- --runs 5] [-- --minutes 20]
 *
 * Runs the bundle, as a release does, with its compile cache warm, against a local platform in this process. `startToDurableMs` is
 * from the spawn to the line that the agent writes when its first append resolved, `startToDurableOverEmptyNode` that time over the time
 * of an empty script of the same Node, started in turn; memory is read from /proc after a forced collection. With `--minutes` one more
 * run lasts so long without a forced collection: `…AfterMb` is the median of its last fifth, `growthMb` that of the last fifth less that of the
 * fifth before the middle.
 */
import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { buildBundle, ownNativeModules } from '../../scripts/bundle.ts';
import { ControlClient } from '../../src/control-socket/control-client.ts';
import { LocalPlatform } from '../../src/stand-ins/local-platform/local-platform.ts';

const LAUNCHER = resolve(import.meta.dirname, '../../build/bundle/turnstone');
/** Until the loops have polled and the first uploads are acknowledged. */
const SETTLE_MS = 6_000;
const START_WITHIN_MS = 20_000;

interface Run {
  readonly startToDurableMs: number;
  readonly emptyNodeMs: number;
  readonly rssMb: number;
  readonly privateMb: number;
}

interface Memory {
  readonly rssMb: number;
  readonly privateMb: number;
  /** Proportional share: a page that n processes share counts as its nth part. */
  readonly pssMb: number;
}

/** Share of a long run that one figure is the median of. */
const FIFTH = 0.2;
const LOOK_EVERY_MS = 10_000;
/** Until the compile cache is written (src/main.ts). */
const CACHED_AFTER_MS = 20_000;

const { values: flags } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    runs: { type: 'string', default: '5' },
    minutes: { type: 'string', default: '0' },
  },
});
const folder = await mkdtemp(join(tmpdir(), 'turnstone-footprint-'));
await buildBundle(ownNativeModules());
const platform = await LocalPlatform.start({ port: 0 });
try {
  const config = await prepare();
  await measure(config, 'warm-up');
  const runs: Run[] = [];
  for (let run = 1; run <= Number(flags.runs); run += 1) runs.push(await measure(config, `run-${run}`));
  report(runs, Number(flags.minutes) > 0 ? await watchMemory(config, Number(flags.minutes)) : {});
} finally {
  await platform.close();
  await rm(folder, { recursive: true, force: true });
}

async function prepare(): Promise<string> {
  platform.ensureDevice('footprint', 'footprint-token');
  const path = join(folder, 'turnstone.yaml');
  await writeFile(
    path,
    `version: 1
platform: { url: "${platform.url}", accessToken: footprint-token }
stateFolder: ${join(folder, 'state')}
runFolder: ${join(folder, 'run')}
log: { level: warn }
time: { trust: always }
status: { page: loopback, port: 0 }
sensors:
  - { name: machine, kind: host, period: 1s }
`,
  );
  return path;
}

async function measure(config: string, name: string): Promise<Run> {
  const emptyNodeMs = await startEmptyNode();
  return await runAgent(
    config,
    { name, environment: { NODE_OPTIONS: '--expose-gc' } },
    async (pid, startToDurableMs) => {
      await delay(SETTLE_MS);
      const client = await ControlClient.connect({ folder: join(folder, 'run') });
      await client.request('memory', { collect: true });
      await client.close();
      const { rssMb, privateMb } = await memoryOf(pid);
      return { startToDurableMs, emptyNodeMs, rssMb, privateMb };
    },
  );
}

/** From the spawn of the same Node with an empty script to its end. */
async function startEmptyNode(): Promise<number> {
  const script = join(folder, 'empty.mjs');
  await writeFile(script, '');
  const startedMs = performance.now();
  const child = spawn(process.execPath, [script], { stdio: 'ignore' });
  await new Promise<void>((done) => child.once('exit', () => done()));
  return performance.now() - startedMs;
}

/** Looks at one run for so many minutes; nobody forces a collection. */
async function watchMemory(config: string, minutes: number): Promise<Record<string, number>> {
  // The other runs have another option of V8, and what they compiled does not count here.
  await runAgent(config, { name: 'long-warm-up', environment: {} }, () => delay(CACHED_AFTER_MS));
  const looks = await runAgent(config, { name: 'long', environment: {} }, async (pid) => {
    const seen: Memory[] = [];
    const endMs = performance.now() + minutes * 60_000;
    while (performance.now() < endMs) {
      await delay(Math.min(LOOK_EVERY_MS, endMs - performance.now()));
      seen.push(await memoryOf(pid));
    }
    return seen;
  });
  const medianOf = (name: keyof Memory, from: number): number => {
    const part = looks.slice(Math.floor(looks.length * from), Math.ceil(looks.length * (from + FIFTH)));
    return median(part.map((one) => one[name]));
  };
  return {
    rssAfterMb: medianOf('rssMb', 1 - FIFTH),
    pssAfterMb: medianOf('pssMb', 1 - FIFTH),
    privateAfterMb: medianOf('privateMb', 1 - FIFTH),
    growthMb: medianOf('privateMb', 1 - FIFTH) - medianOf('privateMb', 0.5 - FIFTH),
  };
}

interface Life {
  readonly name: string;
  readonly environment: NodeJS.ProcessEnv;
}

async function runAgent<T>(
  config: string,
  { name, environment }: Life,
  look: (pid: number, startToDurableMs: number) => Promise<T>,
): Promise<T> {
  const record = join(folder, `${name}.appends`);
  await rm(join(folder, 'state'), { recursive: true, force: true });
  const startedMs = performance.now();
  const child = spawn(LAUNCHER, ['run', '--config', config, '--record-appends', record], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, XDG_CACHE_HOME: join(folder, 'cache'), ...environment },
  });
  const exited = new Promise<void>((done) => child.once('exit', () => done()));
  try {
    while ((await readFile(record, 'utf8').catch(() => '')) === '') {
      if (performance.now() - startedMs > START_WITHIN_MS || child.exitCode !== null)
        throw new Error('the agent did not become durable');
      await delay(1);
    }
    return await look(child.pid ?? 0, performance.now() - startedMs);
  } finally {
    child.kill('SIGTERM');
    await exited;
  }
}

async function memoryOf(pid: number): Promise<Memory> {
  const text = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8');
  const kilobytes = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text)?.[1] ?? 0);
  return {
    rssMb: kilobytes('Rss') / 1024,
    privateMb: (kilobytes('Private_Clean') + kilobytes('Private_Dirty')) / 1024,
    pssMb: kilobytes('Pss') / 1024,
  };
}

function report(runs: readonly Run[], long: Readonly<Record<string, number>>): void {
  const fields = ['startToDurableMs', 'emptyNodeMs', 'rssMb', 'privateMb'] as const;
  const ratio = median(runs.map((run) => run.startToDurableMs / run.emptyNodeMs));
  const figures = {
    ...Object.fromEntries(fields.map((field) => [field, median(runs.map((run) => run[field]))])),
    ...long,
  };
  const result = Object.fromEntries(
    Object.entries({ ...figures, startToDurableOverEmptyNode: ratio }).map(([name, value]) => [
      name,
      Number(value.toFixed(1)),
    ]),
  );
  console.log(
    `${'figure'.padEnd(20)}${'median'.padStart(10)}${'least'.padStart(10)}${'greatest'.padStart(10)}   (${runs.length} runs)`,
  );
  for (const field of fields) {
    const all = runs.map((run) => run[field]);
    console.log(
      `${field.padEnd(20)}${[median(all), Math.min(...all), Math.max(...all)].map((value) => value.toFixed(1).padStart(10)).join('')}`,
    );
  }
  for (const [name, value] of Object.entries({ startToDurableOverEmptyNode: ratio, ...long }))
    console.log(`${name.padEnd(28)}${value.toFixed(1).padStart(8)}`);
  if (flags.json) console.log(JSON.stringify(result));
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}
