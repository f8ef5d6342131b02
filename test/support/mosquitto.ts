/** Debian's mosquitto as a process of its own, with persistence in a folder of the test's. */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { freePort } from './free-port.ts';

const PROGRAM = '/usr/sbin/mosquitto';
const WITHIN_MS = 10_000;

/** Why tests with it cannot run here; undefined when they can. */
export function missingMosquitto(): string | undefined {
  return existsSync(PROGRAM) ? undefined : 'no mosquitto: scripts/ensure-test-tools.sh installs it, as root';
}

export class Mosquitto {
  readonly port: number;
  readonly #folder: string;
  #child: ChildProcess | undefined;

  private constructor(folder: string, port: number) {
    this.#folder = folder;
    this.port = port;
  }

  static async open(): Promise<Mosquitto> {
    const broker = new Mosquitto(await mkdtemp(join(tmpdir(), 'turnstone-mosquitto-')), await freePort());
    const lines = [
      `listener ${broker.port} 127.0.0.1`,
      'allow_anonymous true',
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
    return `mqtt://127.0.0.1:${this.port}`;
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
