/**
 * Cost of open status pages: private memory and CPU with 20 pages against none; and of opening one: bytes, requests, and the time to the first reading
 * with the CPU slowed four times, beside an empty page of the same server and run.
 *
 *   npm run bench:status [-- --json] [-- --runs 3 --seconds 60 --pages 20]
 *
 * Runs the bundle over a local platform at 10 entries/s. Each page is a real one in its own browser context, so that none shares its stream or
 * its connections with another. Per run: a window without pages, the pages opened, the same window again; memory is read from /proc
 * after a forced collection at the end of each.
 */
import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { Browser, Page } from 'playwright-core';
import { buildBundle, ownNativeModules } from '../../scripts/bundle.ts';
import { ControlClient } from '../../src/control-socket/control-client.ts';
import { LocalPlatform } from '../../src/stand-ins/local-platform/local-platform.ts';
import type { JsonObject } from '../../src/values/json.ts';
import { launchBrowser } from '../support/browser.ts';

const SLOWED = 4;
const LOADS = 5;
const SETTLE_MS = 8_000;
/** USER_HZ, as /proc counts. */
const TICKS_PER_SECOND = 100;
const MAX_MB_PER_PAGE = 3;
const MAX_PERCENT_PER_PAGE = 1;

interface Window {
  readonly privateMb: number;
  /** Share of one core. */
  readonly cpuPercent: number;
  readonly entriesPerS: number;
}

/** One page as it is opened, by a browser that has nothing of it. */
interface Load {
  /** Of its files, as they are sent: compressed. */
  readonly bytes: number;
  readonly requests: number;
  /** Bytes with the plot opened. */
  readonly bytesWithPlot: number;
  readonly firstReadingMs: number;
  readonly emptyMs: number;
}

interface Run {
  readonly none: Window;
  readonly open: Window;
  readonly loads: readonly Load[];
}

const { values: flags } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    runs: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '60' },
    pages: { type: 'string', default: '20' },
  },
});
const pages = Number(flags.pages);
const windowMs = Number(flags.seconds) * 1000;
const folder = await mkdtemp(join(tmpdir(), 'turnstone-bench-status-'));
const bundle = join(folder, 'bundle');
await buildBundle(ownNativeModules(), { target: bundle });
const platform = await LocalPlatform.start();
try {
  platform.ensureDevice('bench', 'bench-token');
  const runs: Run[] = [];
  for (let run = 0; run < Number(flags.runs); run += 1) runs.push(await measure());
  process.exitCode = report(runs);
} finally {
  await platform.close();
  await rm(folder, { recursive: true, force: true });
}

async function measure(): Promise<Run> {
  await rm(join(folder, 'state'), { recursive: true, force: true });
  const config = join(folder, 'turnstone.yaml');
  // 10 keys a second.
  await writeFile(
    config,
    `version: 1
platform: { url: "${platform.url}", accessToken: bench-token }
stateFolder: ${join(folder, 'state')}
runFolder: ${join(folder, 'run')}
log: { level: warn }
time: { trust: always }
status: { page: loopback, port: 0 }
sensors: [{ name: machine, kind: host, period: 1s, keys: { uptimeS: { report: false } } }]
`,
  );
  const child = spawn(join(bundle, 'turnstone'), ['run', '--config', config], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, NODE_OPTIONS: '--expose-gc', XDG_CACHE_HOME: join(folder, 'cache') },
  });
  const exited = new Promise<void>((done) => child.once('exit', () => done()));
  const browser = await launchBrowser();
  try {
    await delay(SETTLE_MS);
    const client = await ControlClient.connect({ folder: join(folder, 'run') });
    const url = String(((await client.request('statusPage', {})) as JsonObject).url);
    // Once, so that what is loaded with the first page is not counted as the pages'.
    const none = await observe(child.pid ?? 0, client);
    const loads: Load[] = [];
    for (let load = 0; load < LOADS; load += 1) loads.push(await measureLoad(browser, url));
    for (let page = 0; page < pages; page += 1) {
      const opened = await (await browser.newContext()).newPage();
      await opened.goto(url);
      await opened.locator('#verdict[data-state=good]').waitFor({ timeout: 60_000 });
    }
    await delay(SETTLE_MS);
    const open = await observe(child.pid ?? 0, client);
    const metrics = await (await fetch(`${url}/metrics`)).text();
    if (!metrics.includes(`turnstone_status_pages ${pages}\n`)) throw new Error('not every page kept its stream');
    await client.close();
    return { none, open, loads };
  } finally {
    await browser.close();
    child.kill('SIGTERM');
    await exited;
  }
}

async function measureLoad(browser: Browser, url: string): Promise<Load> {
  const context = await browser.newContext();
  try {
    const page = await context.newPage();
    const session = await context.newCDPSession(page);
    await session.send('Emulation.setCPUThrottlingRate', { rate: SLOWED });
    let [bytes, requests] = [0, 0];
    page.on('response', (response) => {
      requests += 1;
      if (/^\/$|^\/page\//.test(new URL(response.url()).pathname))
        bytes += Number(response.headers()['content-length'] ?? 0);
    });
    const empty = await timeOf(page, `${url}/healthz`, 'document.body !== null');
    [bytes, requests] = [0, 0];
    const firstReadingMs = await timeOf(
      page,
      url,
      "(document.querySelector('.reading .value')?.textContent ?? '') !== ''",
    );
    const first = { bytes, requests };
    await page
      .locator('#machine:not([open]) > summary')
      .click({ timeout: 2_000 })
      .catch(() => {});
    await page.locator('button.reading').first().click();
    await page.locator('#plot-area canvas').waitFor();
    return { ...first, bytesWithPlot: bytes, firstReadingMs, emptyMs: empty };
  } finally {
    await context.close();
  }
}

/** Milliseconds from the start of the navigation to the first picture in which the condition holds, by the page's own clock. */
async function timeOf(page: Page, url: string, condition: string): Promise<number> {
  await page.goto(url, { waitUntil: 'commit' });
  return (await page.evaluate(
    `new Promise((done) => { const look = () => (${condition}) ? done(performance.now()) : requestAnimationFrame(look); look(); })`,
  )) as number;
}

async function observe(pid: number, client: ControlClient): Promise<Window> {
  const entries = async (): Promise<number> => {
    const status = (await client.request('getStatus', {})) as unknown as {
      connection: { acknowledgedEntries: number };
    };
    return status.connection.acknowledgedEntries;
  };
  const before = { cpu: await cpuSeconds(pid), entries: await entries(), atMs: performance.now() };
  await delay(windowMs);
  const elapsedS = (performance.now() - before.atMs) / 1000;
  const cpuPercent = (100 * ((await cpuSeconds(pid)) - before.cpu)) / elapsedS;
  const entriesPerS = ((await entries()) - before.entries) / elapsedS;
  await client.request('memory', { collect: true });
  return { privateMb: await privateMb(pid), cpuPercent, entriesPerS };
}

async function cpuSeconds(pid: number): Promise<number> {
  const fields = (await readFile(`/proc/${pid}/stat`, 'utf8')).replace(/^.*\) /s, '').split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

async function privateMb(pid: number): Promise<number> {
  const text = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8');
  const kilobytes = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text)?.[1] ?? 0);
  return (kilobytes('Private_Clean') + kilobytes('Private_Dirty')) / 1024;
}

function report(runs: readonly Run[]): number {
  const figure = (pick: (run: Run) => number, digits = 2): number => Number(median(runs.map(pick)).toFixed(digits));
  const loads = runs.flatMap((run) => run.loads);
  const ofLoads = (pick: (load: Load) => number): number => Math.round(median(loads.map(pick)));
  const ratio = median(loads.map(({ firstReadingMs, emptyMs }) => firstReadingMs / emptyMs));
  const result = {
    pages,
    windowS: windowMs / 1000,
    runs: runs.length,
    entriesPerS: figure(({ open }) => open.entriesPerS, 1),
    privateMbNone: figure(({ none }) => none.privateMb),
    privateMbOpen: figure(({ open }) => open.privateMb),
    cpuPercentNone: figure(({ none }) => none.cpuPercent),
    cpuPercentOpen: figure(({ open }) => open.cpuPercent),
    privateMbPerPage: figure(({ none, open }) => (open.privateMb - none.privateMb) / pages, 3),
    cpuPercentPerPage: figure(({ none, open }) => (open.cpuPercent - none.cpuPercent) / pages, 3),
    pageBytes: ofLoads(({ bytes }) => bytes),
    pageBytesWithPlot: ofLoads(({ bytesWithPlot }) => bytesWithPlot),
    requestsToFirstReading: ofLoads(({ requests }) => requests),
    slowedCpu: SLOWED,
    firstReadingMs: ofLoads(({ firstReadingMs }) => firstReadingMs),
    emptyPageMs: ofLoads(({ emptyMs }) => emptyMs),
    firstReadingOverEmpty: Number(ratio.toFixed(1)),
  };
  for (const [name, value] of Object.entries(result)) console.log(`${name.padEnd(24)}${String(value).padStart(10)}`);
  if (flags.json) console.log(JSON.stringify(result));
  return result.privateMbPerPage <= MAX_MB_PER_PAGE && result.cpuPercentPerPage <= MAX_PERCENT_PER_PAGE ? 0 : 1;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}
