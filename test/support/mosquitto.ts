/** Debian's mosquitto as a process of its own, with persistence in a folder of the test's. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { freePort } from './free-port.ts';

const PROGRAM = '/usr/sbin/mosquitto';
const WITHIN_MS = 10_000;

/** Why tests with it cannot run here; undefined when they can. */
export function missingMosquitto(): string | undefined {
  return existsSync(PROGRAM) ? undefined : 'no mosquitto: scripts/ensure-test-tools.sh installs it, as root';
}

export interface MosquittoOptions {
  /** Password of the user `agent`, without whom nobody is let in; default: anybody is. */
  readonly password?: string;
  /** Certificate and key of a listener with TLS, PEM files. */
  readonly tls?: { readonly certificateFile: string; readonly keyFile: string };
}

export class Mosquitto {
  readonly port: number;
  readonly #folder: string;
  readonly #hasTls: boolean;
  #child: ChildProcess | undefined;

  private constructor({
    folder,
    port,
    hasTls,
  }: { readonly folder: string; readonly port: number; readonly hasTls: boolean }) {
    this.#folder = folder;
    this.#hasTls = hasTls;
    this.port = port;
  }

  static async open({ password, tls }: MosquittoOptions = {}): Promise<Mosquitto> {
    const folder = await mkdtemp(join(tmpdir(), 'turnstone-mosquitto-'));
    const broker = new Mosquitto({ folder, port: await freePort(), hasTls: tls !== undefined });
    const passwords = join(folder, 'passwords');
    if (password !== undefined)
      await promisify(execFile)('mosquitto_passwd', ['-c', '-b', passwords, 'agent', password]);
    const lines = [
      `listener ${broker.port} 127.0.0.1`,
      ...(password === undefined ? ['allow_anonymous true'] : ['allow_anonymous false', `password_file ${passwords}`]),
      ...(tls === undefined ? [] : [`certfile ${tls.certificateFile}`, `keyfile ${tls.keyFile}`]),
      'persistence true',
      `persistence_location ${broker.#folder}/`,
      'max_queued_messages 0',
      // As root it would change to a user who may not write here.
      ...(process.getuid?.() === 0 ? ['user root'] : []),
    ];
    await writeFile(join(broker.#folder, 'mosquitto.conf'), `${lines.join('\n')}\n`);
    return broker;
  }

  get url(): string {
    return `${this.#hasTls ? 'mqtts' : 'mqtt'}://127.0.0.1:${this.port}`;
  }

  /** Resolves once it takes connections. */
  async start(): Promise<void> {
    this.#child = spawn(PROGRAM, ['-c', join(this.#folder, 'mosquitto.conf')], { stdio: 'ignore' });
    for (const until = performance.now() + WITHIN_MS; performance.now() < until; await pause(10))
      if (await this.#answers()) return;
    throw new Error('mosquitto does not start');
  }

  /** Ends it in the way in which it writes what it keeps. */
  async stop(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined || child.exitCode !== null) return;
    const ended = new Promise((resolve) => child.once('close', resolve));
    child.kill('SIGTERM');
    await ended;
  }

  async remove(): Promise<void> {
    await this.stop();
    await rm(this.#folder, { recursive: true, force: true });
  }

  #answers(): Promise<boolean> {
    return new Promise((resolve) => {
      const socket = connect(this.port, '127.0.0.1', () => {
        socket.destroy();
        resolve(true);
      });
      socket.on('error', () => resolve(false));
    });
  }
}
