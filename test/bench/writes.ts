/**
 * Bytes that a whole agent makes the disk write at its defaults, and the delay from a reading to its arrival.
 *
 *   npm run bench:writes [-- --json] [-- --minutes 10] [-- --after 15] [-- --only tenEntries,outage]
 *
 * Each site is a process of the bundle on an ext4 image of its own, side by side: they sleep nearly all the time. Needs the rights to make and mount
 * an image, and strace.
 *
 *   quiet        the machine's own sensor, each 10 s
 *   tenEntries   five sensors with two values, each second
 *   outage       the same, with a platform that is away each second minute
 *   hundred      a hundred attached devices with a value each 10 s
 *
 * `mbPerDay` counts the image's block device: data, and the file system's journal. What the agent keeps in memory is written later, so its sensors
 * over HTTP are taken out at the end of the run, it goes on for a quarter of an hour (`--after`), and what it writes meanwhile is counted to the run.
 * The machine's own sensor does not end, and that quarter of an hour is part of its run. The agent is stopped after that, which is not counted.
 * `blockBytesPerPayloadByte` divides by the entries that arrived, as the corpus of the outbox's benchmark counts them.
 *
 * By writer are the blocks of 4 KiB that each kind of file was given between its syncs, and these syncs, as strace sees them. The rest of the whole
 * is the file system's own: its journal, and the places and times of files.
 */
import { execFileSync, spawn } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { buildBundle, ownNativeModules } from '../../scripts/bundle.ts';
import { ENTRY_BYTES } from './corpus.ts';
import { mountImage } from './outbox-bench/image.ts';
import { type Written, writtenByKind } from './written-files.ts';

const LAUNCHER = resolve(import.meta.dirname, '../../build/bundle/turnstone');
/** Until an agent has started, and its first writes are over: the link's account after half a minute is the last. */
const BEGINS_AFTER_MS = 45_000;
/** Longer than any sensor's period: a connection that ends while it is taken up again is a failing sensor, and that an alarm. */
const KEEP_ALIVE_MS = 120_000;
const STOPS_WITHIN_MS = 20_000;
const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;
const DEFAULT_POLL_MS = 20_000;
/** System calls that write or sync. */
const TRACED = 'write,writev,pwrite64,pwritev,pwritev2,fsync,fdatasync';
const TIMES = {
  json: { type: 'boolean', default: false },
  minutes: { type: 'string', default: '10' },
  after: { type: 'string', default: '15' },
} as const;

interface Site {
  readonly sections: (url: string) => string;
  readonly isAway?: (nowMs: number) => boolean;
  /** Its sensors do not end with the run. */
  readonly goesOn?: true;
}

const HTTP_SENSORS = (url: string): string =>
  `sensors:\n${Array.from({ length: 5 }, (_none, at) => `  - { name: s${at}, kind: http, url: "${url}/sensor/${at}", format: json, period: 1s }\n`).join('')}`;

const SITES: Readonly<Record<string, Site>> = {
  quiet: { sections: () => 'sensors: [{ name: machine, kind: host, period: 10s }]\n', goesOn: true },
  tenEntries: { sections: HTTP_SENSORS },
  outage: { sections: HTTP_SENSORS, isAway: (nowMs) => Math.floor(nowMs / MINUTE_MS) % 2 === 1 },
  hundred: {
    sections: (url) => {
      const all = Array.from({ length: 100 }, (_none, at) => at);
      const devices = all.map((at) => `  - { name: d${at}, accessToken: token-${at} }\n`).join('');
      const sensors = all
        .map(
          (at) =>
            `  - { name: s${at}, device: d${at}, kind: http, url: "${url}/sensor/${at}", format: json, period: 10s }\n`,
        )
        .join('');
      return `devices:\n${devices}sensors:\n${sensors}`;
    },
  },
};

interface Figures {
  readonly mbPerDay: number;
  readonly blockBytesPerPayloadByte: number;
  readonly entries: number;
  readonly arrivalP50Ms: number;
  readonly arrivalP99Ms: number;
  readonly writers: readonly Written[];
}

/** Sensors and platform in one: it counts what arrives, and when. */
class Sink {
  readonly delays: number[] = [];
  values = 0;
  isAway: () => boolean = () => false;
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async open(): Promise<Sink> {
    const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS });
    const sink = new Sink(server);
    server.on('request', (request, response) => void sink.#answer(request, response));
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    return sink;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://sink');
    if (pathname.startsWith('/sensor/')) return reply(response, reading(Number(pathname.slice(8))));
    if (this.isAway()) return void request.socket.destroy();
    if (request.method === 'GET' && /\/(rpc|updates)$/.test(pathname))
      return hold(response, Number(searchParams.get('timeout')));
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    if (pathname.endsWith('/telemetry')) this.#count(Buffer.concat(pieces).toString());
    reply(response, {});
  }

  #count(body: string): void {
    const nowMs = Date.now();
    for (const record of [JSON.parse(body)].flat() as { readonly ts: number; readonly values: object }[]) {
      const count = Object.keys(record.values).length;
      this.values += count;
      for (let at = 0; at < count; at += 1) this.delays.push(nowMs - record.ts);
    }
  }
}

const { values: flags } = parseArgs({
  options: { ...TIMES, only: { type: 'string', default: Object.keys(SITES).join(',') } },
});
const folder = await mkdtemp(join(tmpdir(), 'turnstone-writes-'));
try {
  await buildBundle(ownNativeModules());
  const names = flags.only.split(',').filter((name) => Object.hasOwn(SITES, name));
  const figures = await Promise.all(names.map((name) => measure(name, SITES[name] as Site)));
  report(Object.fromEntries(names.map((name, at) => [name, figures[at] as Figures])));
} finally {
  await rm(folder, { recursive: true, force: true });
}

async function measure(name: string, site: Site): Promise<Figures> {
  const sink = await Sink.open();
  sink.isAway = () => site.isAway?.(Date.now()) ?? false;
  await mkdir(join(folder, name));
  const image = await mountImage(join(folder, name), 'defaults');
  const config = join(folder, `${name}.yaml`);
  await writeFile(
    config,
    `version: 1
platform: { url: "${sink.url}", accessToken: writes-token }
stateFolder: ${join(image.folder, 'state')}
runFolder: ${join(folder, `${name}-run`)}
log: { level: error }
time: { trust: always }
${site.sections(sink.url)}`,
  );
  const trace = join(folder, `${name}.trace`);
  const traced = ['-D', '-f', '--seccomp-bpf', '-qq', '-ttt', '-y', '-s', '0', '-e', `trace=${TRACED}`, '-o', trace];
  const child = spawn('strace', [...traced, LAUNCHER, 'run', '--config', config], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, XDG_CACHE_HOME: join(folder, `${name}-cache`) },
  });
  const exited = new Promise<void>((done) => child.once('exit', () => done()));
  const written = (): number => {
    execFileSync('sync', ['--file-system', image.folder]);
    return image.writtenBytes();
  };
  try {
    await delay(BEGINS_AFTER_MS);
    const before = { bytes: written(), values: sink.values, atMs: Date.now() };
    sink.delays.length = 0;
    await delay(Number(flags.minutes) * MINUTE_MS);
    if (site.goesOn !== true) {
      // Sensors come last in each file.
      await writeFile(config, (await readFile(config, 'utf8')).replace(/^sensors:[\s\S]*$/m, ''));
      child.kill('SIGHUP');
    }
    const runMs = Date.now() - before.atMs;
    await delay(Number(flags.after) * MINUTE_MS);
    const bytes = written() - before.bytes;
    const wholeMs = Date.now() - before.atMs;
    const delays = [...sink.delays].sort((a, b) => a - b);
    const entries = sink.values - before.values;
    const countedMs = site.goesOn === true ? wholeMs : runMs;
    return {
      mbPerDay: (bytes / 1e6) * (DAY_MS / countedMs),
      blockBytesPerPayloadByte: bytes / (entries * ENTRY_BYTES),
      entries,
      arrivalP50Ms: delays[Math.floor(delays.length / 2)] ?? Number.NaN,
      arrivalP99Ms: delays[Math.floor(delays.length * 0.99)] ?? Number.NaN,
      writers: writtenByKind(await readFile(trace, 'utf8'), {
        folder: join(image.folder, 'state'),
        fromMs: before.atMs,
        untilMs: before.atMs + wholeMs,
        countedMs,
      }),
    };
  } finally {
    child.kill('SIGTERM');
    await Promise.race([exited, delay(STOPS_WITHIN_MS)]);
    child.kill('SIGKILL');
    await exited;
    sink.close();
    image.release();
  }
}

/** A value that a person would see move: one decimal, and a switch now and then. */
function reading(number: number): object {
  const seconds = Date.now() / 1000;
  return {
    [`t${number}`]: Number((20 + Math.sin(seconds / 60 + number) * 3 + Math.random() / 5).toFixed(2)),
    [`p${number}`]: Number((1_000 + Math.cos(seconds / 90 + number) * 20 + Math.random()).toFixed(1)),
  };
}

function hold(response: ServerResponse, timeoutMs: number): void {
  const timer = setTimeout(() => response.writeHead(408).end(), timeoutMs > 0 ? timeoutMs : DEFAULT_POLL_MS);
  response.on('close', () => clearTimeout(timer));
}

function reply(response: ServerResponse, value: object): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}

function report(figures: Readonly<Record<string, Figures>>): void {
  console.log(
    `${'site'.padEnd(12)}${'MB a day'.padStart(10)}${'block bytes'.padStart(13)}${'entries'.padStart(9)}${'p50 ms'.padStart(9)}${'p99 ms'.padStart(9)}`,
  );
  for (const [name, one] of Object.entries(figures)) {
    const cells = [
      one.mbPerDay.toFixed(1).padStart(10),
      one.blockBytesPerPayloadByte.toFixed(2).padStart(13),
      String(one.entries).padStart(9),
      one.arrivalP50Ms.toFixed(0).padStart(9),
      one.arrivalP99Ms.toFixed(0).padStart(9),
    ];
    console.log(`${name.padEnd(12)}${cells.join('')}`);
    for (const { kind, mbPerDay, syncs } of one.writers)
      console.log(`  ${kind.padEnd(36)}${mbPerDay.toFixed(2).padStart(8)} MB a day ${String(syncs).padStart(6)} syncs`);
  }
  if (!flags.json) return;
  const { quiet, tenEntries, outage, hundred } = figures;
  console.log(
    JSON.stringify({
      mbPerDayQuiet: quiet?.mbPerDay,
      mbPerDay: tenEntries?.mbPerDay,
      blockBytesPerPayloadByteOnline: tenEntries?.blockBytesPerPayloadByte,
      arrivalP99Ms: tenEntries?.arrivalP99Ms,
      mbPerDayOutage: outage?.mbPerDay,
      blockBytesPerPayloadByteOffline: outage?.blockBytesPerPayloadByte,
      mbPerDay100Devices: hundred?.mbPerDay,
      arrivalP99Ms100Devices: hundred?.arrivalP99Ms,
      writers: Object.fromEntries(Object.entries(figures).map(([name, { writers }]) => [name, writers])),
    }),
  );
}
