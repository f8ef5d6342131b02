/**
 * A gateway that install.sh made in a folder, out of real release bundles: launcher, runtime, native modules, root helper, boot guard. Only
 * the service manager is a stand-in: it starts what `current` leads to, starts it again when it ends, and starts the root helper for a request.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { access, chmod, lstat, mkdir, mkdtemp, readFile, readlink, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);
export const ROOT = resolve(import.meta.dirname, '../..');
const LOOK_EVERY_MS = 20;
/** RestartSec= of the unit, shortened. */
const RESTART_AFTER_MS = 50;

export interface BuiltRelease {
  readonly file: string;
  readonly release: string;
  readonly bytes: number;
  readonly bundleMb: number;
  readonly sha256: string;
}

/** Builds a release of this checkout; `level` 1 is quick and large. */
export async function buildRelease(options: {
  readonly out: string;
  readonly key?: string;
  readonly release?: string;
  readonly level?: number;
  readonly arch?: string;
  /** Makes the Debian package too, beside the bundle. */
  readonly deb?: true;
}): Promise<BuiltRelease> {
  const words = ['--json', '--out', options.out, '--level', String(options.level ?? 1)];
  if (options.key !== undefined) words.push('--key', options.key);
  if (options.release !== undefined) words.push('--release', options.release);
  if (options.arch !== undefined) words.push('--arch', options.arch);
  if (options.deb === true) words.push('--deb');
  const { stdout } = await run(join(ROOT, 'scripts/build-release.sh'), words, { maxBuffer: 1e7 });
  return JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as BuiltRelease;
}

/** A new signing key in PEM. */
export async function makeSigningKey(folder: string): Promise<string> {
  const { generateKeyPairSync } = await import('node:crypto');
  const { privateKey } = generateKeyPairSync('ed25519');
  const path = join(folder, 'signing-key.pem');
  await writeFile(path, privateKey.export({ format: 'pem', type: 'pkcs8' }), { mode: 0o600 });
  return path;
}

export class InstalledGateway {
  readonly root: string;
  readonly environment: NodeJS.ProcessEnv;
  /** Versions in the order of their starts. */
  readonly starts: string[] = [];
  #agent: ChildProcess | undefined;
  #isOn = false;
  #loop: Promise<void> = Promise.resolve();

  private constructor(root: string) {
    this.root = root;
    this.environment = {
      PATH: `${join(root, 'bin')}:${process.env.PATH}`,
      TURNSTONE_ROOT: root,
      XDG_CACHE_HOME: join(root, 'cache'),
    };
  }

  static async make(): Promise<InstalledGateway> {
    const root = await mkdtemp(join(tmpdir(), 'turnstone-installed-'));
    // The self-test runs as another user.
    await chmod(root, 0o755);
    await mkdir(join(root, 'bin'));
    await writeFile(
      join(root, 'bin/systemctl'),
      `#!/bin/sh\necho "$*" >>"${root}/systemctl.log"\ntouch "${root}/restart-wanted"\n`,
      {
        mode: 0o755,
      },
    );
    return new InstalledGateway(root);
  }

  path(...names: string[]): string {
    return join(this.root, ...names);
  }

  async install(releaseFolder: string, ...options: string[]): Promise<string> {
    const { stdout } = await run(join(releaseFolder, 'install.sh'), options, { env: this.environment });
    return stdout;
  }

  async current(): Promise<string> {
    return (await readlink(this.path('opt/turnstone/current'))).split('/').at(-1) ?? '';
  }

  /** When `current` was last moved, UTC epoch ms. */
  async movedAtMs(): Promise<number> {
    return (await lstat(this.path('opt/turnstone/current'))).ctimeMs;
  }

  /** Runs the installed command line. */
  async turnstone(...words: string[]): Promise<string> {
    return (await run(this.path('opt/turnstone/current/turnstone'), words, { env: this.environment })).stdout;
  }

  async configure(lines: string): Promise<void> {
    const firmware = `{ installFolder: ${this.path('opt/turnstone')}, guardFolder: ${this.path('var/lib/turnstone-guard')}, trustedKeys: ${this.path('etc/turnstone/trusted-keys')}, confirm: { healthyFor: 1s } }`;
    const text = `version: 1\nstateFolder: ${this.path('var/lib/turnstone')}\nrunFolder: ${this.path('run')}\nlog: { level: warn }\nstatus: { page: loopback, port: 0 }\ntime: { trust: always }\nfirmware: ${firmware}\n${lines}\n`;
    await writeFile(this.path('etc/turnstone/turnstone.yaml'), text);
  }

  start(): void {
    this.#isOn = true;
    this.#loop = this.#manage();
  }

  async stop(): Promise<void> {
    this.#isOn = false;
    this.#agent?.kill('SIGTERM');
    await this.#loop;
  }

  async remove(): Promise<void> {
    await this.stop();
    await rm(this.root, { recursive: true, force: true });
  }

  async #manage(): Promise<void> {
    while (this.#isOn) {
      await run('sh', [this.path('opt/turnstone/guard/boot-guard'), 'starting'], { env: this.environment });
      this.starts.push(await this.current());
      const agent = spawn(
        this.path('opt/turnstone/current/turnstone'),
        ['run', '--config', this.path('etc/turnstone/turnstone.yaml')],
        {
          env: this.environment,
          stdio: ['ignore', 'inherit', 'inherit'],
        },
      );
      this.#agent = agent;
      const ended = new Promise<number | null>((done) => agent.once('exit', done));
      const attending = this.#attend(agent);
      const code = await ended;
      await attending;
      await run('sh', [this.path('opt/turnstone/guard/boot-guard'), 'stopped'], {
        env: { ...this.environment, EXIT_STATUS: String(code) },
      });
      await delay(RESTART_AFTER_MS);
    }
  }

  /** The path unit, and what systemctl asks for. */
  async #attend(agent: ChildProcess): Promise<void> {
    const helper = this.path('opt/turnstone/guard/root-helper.mjs');
    while (agent.exitCode === null && agent.signalCode === null) {
      if (await exists(this.path('var/lib/turnstone/firmware/request')))
        await run(this.path('opt/turnstone/guard/node'), [helper, 'request'], { env: this.environment });
      if (await exists(this.path('restart-wanted'))) {
        await rm(this.path('restart-wanted'));
        agent.kill('SIGTERM');
      }
      await delay(LOOK_EVERY_MS);
    }
  }
}

/** Waits until something is so. */
export async function until(what: string, isSo: () => Promise<boolean> | boolean, withinMs = 30_000): Promise<void> {
  const startedMs = performance.now();
  while (!(await isSo())) {
    if (performance.now() - startedMs > withinMs) throw new Error(`not within ${withinMs} ms: ${what}`);
    await delay(LOOK_EVERY_MS);
  }
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

/** Returns the text of a small file; empty when there is none. */
export async function textOf(path: string): Promise<string> {
  return readFile(path, 'utf8').catch(() => '');
}
