/** The demo's processes: each with its output kept in a file, told apart by name, and stopped in order. */
import { type ChildProcess, spawn } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { join, resolve } from 'node:path';

/** Tests name the one that they have bundled. */
const MAIN = process.env.TURNSTONE_DEMO_PROGRAM ?? resolve(import.meta.dirname, '../../src/main.ts');
/** Longer than the agent's own drain. */
const STOP_WITHIN_MS = 20_000;

export interface DemoProcessOptions {
  readonly folder: string;
  readonly onUnexpectedExit: (what: string) => void;
  /** Whoever starts it looks whether it said anything: an end before is no accident. */
  readonly mayEndFirst?: boolean;
}

export class DemoProcess {
  readonly #child: ChildProcess;
  readonly #exited: Promise<void>;
  readonly name: string;
  #stopping = false;
  #tail = '';
  /** First line that it printed; undefined when it ended without one. */
  readonly firstLine: Promise<string | undefined>;

  private constructor(
    name: string,
    child: ChildProcess,
    { onUnexpectedExit, mayEndFirst = false }: DemoProcessOptions,
  ) {
    this.name = name;
    this.#child = child;
    const { promise, resolve: say } = Promise.withResolvers<string | undefined>();
    this.firstLine = promise;
    let hasSpoken = false;
    child.stdout?.once('data', (chunk: Buffer) => {
      hasSpoken = true;
      say(chunk.toString().split('\n', 1)[0]);
    });
    this.#exited = new Promise((done) => {
      child.once('close', (code, signal) => {
        done();
        say(undefined);
        if (!this.#stopping && (hasSpoken || !mayEndFirst))
          onUnexpectedExit(`the ${name} ended by itself (${signal ?? `exit code ${code}`}):\n${this.#tail}`);
      });
    });
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (chunk: Buffer) => {
        this.#tail = (this.#tail + chunk.toString()).slice(-2_000);
      });
    }
  }

  /** Starts `turnstone ARGS…`; what it prints goes to `<folder>/<name>.log`. */
  static start(name: string, args: readonly string[], options: DemoProcessOptions): DemoProcess {
    // Ctrl-C in a terminal reaches the demo alone, which stops them in order; over the channel they notice when it is killed.
    const child = spawn(process.execPath, [MAIN, ...args], {
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      detached: true,
    });
    const log = createWriteStream(join(options.folder, `${name}.log`), { flags: 'a' });
    for (const stream of [child.stdout, child.stderr]) stream?.pipe(log, { end: false });
    // Whatever ends the demo, nothing of it stays behind.
    process.once('exit', () => child.kill('SIGKILL'));
    return new DemoProcess(name, child, options);
  }

  /** SIGTERM, and SIGKILL when that is not enough. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.#child.kill('SIGTERM');
    const late = setTimeout(() => this.#child.kill('SIGKILL'), STOP_WITHIN_MS);
    await this.#exited;
    clearTimeout(late);
  }

  /** SIGKILL: nothing in it gets to run again. */
  async kill(): Promise<void> {
    this.#stopping = true;
    this.#child.kill('SIGKILL');
    await this.#exited;
  }
}
