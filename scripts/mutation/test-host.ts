/**
 * The runner's end of a test host: starts it, gives it an order, waits for the verdict up to a limit, and kills it with all that its
 * tests have started when none comes; the next order starts another. Everything the tests leave behind lies in one folder, taken away at the end.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ORDER_FILE, type Order, type Verdict } from './order.ts';

const START_WITHIN_MS = 120_000;

export class TestHost {
  readonly #root: string;
  #folder: string | undefined;
  #child: ChildProcess | undefined;

  constructor(root: string) {
    this.#root = root;
  }

  /** @throws when the host ends by itself. */
  async carryOut(order: Order, limitMs: number): Promise<Verdict> {
    const child = this.#child ?? (await this.#start());
    child.send(order);
    const verdict = await messageFrom<Verdict>(child, limitMs);
    if (verdict !== undefined) return verdict;
    await this.#end();
    return { outcome: 'timed-out', because: `no end within ${Math.round(limitMs / 1000)} s`, files: [] };
  }

  async close(): Promise<void> {
    await this.#end();
    if (this.#folder !== undefined) await rm(this.#folder, { recursive: true, force: true });
  }

  async #start(): Promise<ChildProcess> {
    this.#folder ??= await mkdtemp(join(tmpdir(), 'turnstone-mutate-'));
    // Processes that tests start as another user have to find their files below.
    await chmod(this.#folder, 0o711);
    const child = fork(join(import.meta.dirname, 'test-host-child.ts'), [], {
      cwd: this.#root,
      // A group of its own, so that nothing of it outlives it.
      detached: true,
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      env: { ...process.env, TMPDIR: this.#folder, [ORDER_FILE]: join(this.#folder, 'order.json') },
    });
    this.#child = child;
    if ((await messageFrom(child, START_WITHIN_MS)) === undefined) throw new Error('the test host does not start');
    return child;
  }

  async #end(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child?.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once('exit', resolve));
    process.kill(-child.pid, 'SIGKILL');
    await ended;
  }
}

/** The next message; undefined when none comes in time. */
function messageFrom<T>(child: ChildProcess, withinMs: number): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const settle = (act: () => void): void => {
      clearTimeout(timer);
      child.removeAllListeners('message').removeAllListeners('exit');
      act();
    };
    const timer = setTimeout(() => settle(() => resolve(undefined)), withinMs);
    child.once('message', (message) => settle(() => resolve(message as T)));
    child.once('exit', (code, signal) => settle(() => reject(new Error(`the test host ended with ${code ?? signal}`))));
  });
}
