/**
 * Footprint of the agent on a small board: time from start to the first durable reading, and memory with every loop running.
 *
 *   npm run bench:footprint [-- --json] [-- --runs 5]
 *
 * Runs the bundle, as a release does, with its compile cache warm, against a local platform in this process. `startToDurableMs` is
 * from the spawn to the line that the agent writes when its first append resolved; memory is read from /proc after a forced collection.
 */
import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { buildBundle, ownNativeModules } from '../../scripts/bundle.ts';
import { ControlClient } from '../../src/control-socket/control-client.ts';
import { LocalPlatform } from '../../src/local-platform/local-platform.ts';

const LAUNCHER = resolve(import.meta.dirname, '../../build/bundle/turnstone');
/** Until the loops have polled and the first uploads are acknowledged. */
const SETTLE_MS = 6_000;
const START_WITHIN_MS = 20_000;

interface Run {
  readonly startToDurableMs: number;
  readonly rssMb: number;
  readonly privateMb: number;
}

const { values: flags } = parseArgs({ options: { json: { type: 'boolean', default: false }, runs: { type: 'string', default: '5' } } });
const folder = await mkdtemp(join(tmpdir(), 'turnstone-footprint-'));
await buildBundle(ownNativeModules());
const platform = await LocalPlatform.start({ port: 0 });
try {
  const config = await prepare();
  await measure(config, 'warm-up');
  const runs: Run[] = [];
  for (let run = 1; run <= Number(flags.runs); run += 1) runs.push(await measure(config, `run-${run}`));
  report(runs);
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
  const record = join(folder, `${name}.appends`);
  await rm(join(folder, 'state'), { recursive: true, force: true });
  const startedMs = performance.now();
  const child = spawn(LAUNCHER, ['run', '--config', config, '--record-appends', record], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, NODE_OPTIONS: '--expose-gc', XDG_CACHE_HOME: join(folder, 'cache') },
  });
  const exited = new Promise<void>((done) => child.once('exit', () => done()));
  try {
    while ((await readFile(record, 'utf8').catch(() => '')) === '') {
      if (performance.now() - startedMs > START_WITHIN_MS || child.exitCode !== null) throw new Error('the agent did not become durable');
      await delay(1);
    }
    const startToDurableMs = performance.now() - startedMs;
    await delay(SETTLE_MS);
    const client = await ControlClient.connect({ folder: join(folder, 'run') });
    await client.request('memory', { collect: true });
    await client.close();
    const { rssMb, privateMb } = await memoryOf(child.pid ?? 0);
    return { startToDurableMs, rssMb, privateMb };
  } finally {
    child.kill('SIGTERM');
    await exited;
  }
}

async function memoryOf(pid: number): Promise<{ readonly rssMb: number; readonly privateMb: number }> {
  const text = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8');
  const kilobytes = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text)?.[1] ?? 0);
  return { rssMb: kilobytes('Rss') / 1024, privateMb: (kilobytes('Private_Clean') + kilobytes('Private_Dirty')) / 1024 };
}

function report(runs: readonly Run[]): void {
  const fields = ['startToDurableMs', 'rssMb', 'privateMb'] as const;
  const result = Object.fromEntries(fields.map((field) => [field, Number(median(runs.map((run) => run[field])).toFixed(1))]));
  console.log(`${'figure'.padEnd(20)}${'median'.padStart(10)}${'least'.padStart(10)}${'greatest'.padStart(10)}   (${runs.length} runs)`);
  for (const field of fields) {
    const all = runs.map((run) => run[field]);
    console.log(
      `${field.padEnd(20)}${[median(all), Math.min(...all), Math.max(...all)].map((value) => value.toFixed(1).padStart(10)).join('')}`,
    );
  }
  if (flags.json) console.log(JSON.stringify(result));
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}
