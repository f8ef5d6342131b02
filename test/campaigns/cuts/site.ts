/** A whole agent at its defaults: five sensors with two values each second, its state on an ext4 image of its own, its platform in another process. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { mkdir, open, readFile, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { type MountedImage, mountImage } from '../../bench/outbox-bench/image.ts';
import { type Failure, SENSORS } from './ledger.ts';
import { type OutboxContent, readOutboxCopy } from './outbox-copy.ts';
import { Platform } from './platform.ts';

const LAUNCHER = resolve(import.meta.dirname, '../../../build/bundle/turnstone');
const BEGINS_WITHIN_MS = 60_000;
const STOPS_WITHIN_MS = 60_000;
const LOOK_EVERY_MS = 50;

const run = promisify(execFile);

/** An agent's end, or a copy of its disk. */
export interface Seen extends OutboxContent {
  /** UTC epoch ms: what was read until then is judged. */
  readonly atMs: number;
}

export class Site {
  readonly platform: Platform;
  readonly #folder: string;
  readonly #image: MountedImage;
  #agent: { readonly child: ChildProcess; readonly exited: Promise<void> } | undefined;

  private constructor(folder: string, image: MountedImage, platform: Platform) {
    this.#folder = folder;
    this.#image = image;
    this.platform = platform;
  }

  /** @throws without the rights to make and mount an image. */
  static async open(folder: string, seed: number): Promise<Site> {
    await mkdir(folder);
    const image = await mountImage(folder, 'defaults');
    const platform = await Platform.start(seed);
    const site = new Site(folder, image, platform);
    const sensors = Array.from(
      { length: SENSORS },
      (_none, at) =>
        `  - { name: s${at}, kind: http, url: "${platform.url}/sensor/${at}", format: json, period: 1s }\n`,
    );
    await writeFile(
      site.#config,
      `version: 1
platform: { url: "${platform.url}", accessToken: cuts-token }
stateFolder: ${join(image.folder, 'state')}
runFolder: ${join(folder, 'run')}
log: { level: info }
time: { trust: always }
status: { page: loopback, port: 0 }
sensors:
${sensors.join('')}`,
      { mode: 0o600 },
    );
    return site;
  }

  get #config(): string {
    return join(this.#folder, 'turnstone.yaml');
  }

  get #log(): string {
    return join(this.#folder, 'agent.log');
  }

  /** Resolves with the first reading of this life. */
  async start(): Promise<void> {
    const { given } = this.platform.ledger;
    const before = given.length;
    const log = await open(this.#log, 'a');
    const child = spawn(LAUNCHER, ['run', '--config', this.#config], {
      stdio: ['ignore', log.fd, log.fd],
      env: { ...process.env, XDG_CACHE_HOME: join(this.#folder, 'cache') },
    });
    await log.close();
    this.#agent = { child, exited: new Promise((done) => child.once('exit', () => done())) };
    const untilMs = Date.now() + BEGINS_WITHIN_MS;
    while (given.length === before) {
      if (Date.now() > untilMs) throw new Error('the agent reads no sensor');
      await delay(LOOK_EVERY_MS);
    }
  }

  /** SIGKILL; the outbox as the kernel has it then. */
  async kill(): Promise<Seen> {
    const atMs = Date.now();
    await this.#end('SIGKILL');
    return await this.#left(atMs);
  }

  /** The outbox as the disk alone has it, after the journal is replayed. The agent stands still meanwhile, and goes on. */
  async cutPower(): Promise<Seen> {
    const copy = join(this.#folder, 'cut.img');
    const atMs = Date.now();
    this.#agent?.child.kill('SIGSTOP');
    try {
      for (let before = -1; before !== this.#image.writtenBytes(); ) {
        before = this.#image.writtenBytes();
        await run('cp', ['--sparse=always', this.#image.file, copy]);
      }
    } finally {
      this.#agent?.child.kill('SIGCONT');
    }
    await this.settled();
    const mount = join(this.#folder, 'cut');
    await mkdir(mount);
    await run('mount', ['-o', 'loop', copy, mount]);
    try {
      return await this.#look(atMs, join(mount, 'state/outbox'));
    } finally {
      await run('umount', [mount]);
      await rm(mount, { recursive: true });
      await rm(copy);
    }
  }

  /** Resolves when all that happened until now is in the ledger. */
  async settled(): Promise<void> {
    await this.platform.settled();
    this.platform.ledger.failures = failuresIn(await readFile(this.#log, 'utf8'));
  }

  /** SIGTERM; what it left, and how long it took. @throws when that is too long. */
  async stop(): Promise<Seen & { readonly tookMs: number }> {
    const fromMs = Date.now();
    const isOver = await Promise.race([this.#end('SIGTERM').then(() => false), delay(STOPS_WITHIN_MS, true)]);
    if (isOver) throw new Error('the agent does not stop');
    const { atMs, written, held, damaged } = await this.#left(Date.now());
    return { atMs, written, held, damaged, tookMs: atMs - fromMs };
  }

  async close(): Promise<void> {
    await this.#end('SIGKILL');
    await writeFile(join(this.#folder, 'ledger.json'), JSON.stringify(this.platform.ledger));
    this.platform.close();
    this.#image.release();
  }

  async #left(atMs: number): Promise<Seen> {
    const copy = join(this.#folder, 'outbox');
    await run('cp', ['-r', join(this.#image.folder, 'state/outbox'), copy]);
    await this.settled();
    return await this.#look(atMs, copy);
  }

  async #look(atMs: number, outbox: string): Promise<Seen> {
    const { written, held, damaged } = await readOutboxCopy(outbox);
    await rm(outbox, { recursive: true });
    return { atMs, written, held, damaged };
  }

  async #end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    this.#agent?.child.kill(signal);
    await this.#agent?.exited;
    this.#agent = undefined;
  }
}

/** Times at which the agent's log says that a sensor failed. */
function failuresIn(log: string): readonly Failure[] {
  const failures: Failure[] = [];
  const open = new Map<string, number>();
  const end = (name: string, untilMs: number): void => {
    const fromMs = open.get(name);
    if (fromMs !== undefined) failures.push({ sensor: Number(name.slice(1)), fromMs, untilMs });
    open.delete(name);
  };
  // A kill may have cut a line off.
  for (const line of log.split('\n').filter((text) => text.startsWith('{') && text.endsWith('}'))) {
    const { time, sensor, msg } = JSON.parse(line) as { readonly time: string; readonly sensor?: string; msg: string };
    const atMs = Date.parse(time);
    if (msg === 'the agent runs') for (const name of [...open.keys()]) end(name, atMs);
    if (sensor === undefined) continue;
    if (msg === 'the sensor works again') end(sensor, atMs);
    else if (!open.has(sensor)) open.set(sensor, atMs);
  }
  for (const name of [...open.keys()]) end(name, Number.POSITIVE_INFINITY);
  return failures;
}
