/** The stand-in platform in its process, as the campaign has it: its ledger grows by itself. */
import { type ChildProcess, fork } from 'node:child_process';
import type { Ledger } from './ledger.ts';
import type { FromChild, Manner, ToChild } from './platform-child.ts';

export class Platform {
  readonly ledger: Ledger = { given: [], taken: [], failures: [] };
  readonly url: string;
  readonly #child: ChildProcess;
  readonly #settled = new Map<number, () => void>();
  #asked = 0;

  private constructor(child: ChildProcess, url: string) {
    this.#child = child;
    this.url = url;
    child.on('message', ({ given = [], taken = [], settled = 0 }: FromChild) => {
      this.ledger.given.push(...given);
      this.ledger.taken.push(...taken);
      this.#settled.get(settled)?.();
      this.#settled.delete(settled);
    });
  }

  static async start(seed: number): Promise<Platform> {
    const child = fork(new URL('./platform-child.ts', import.meta.url), [String(seed)]);
    const url = await new Promise<string>((resolve, reject) => {
      child.once('message', (message: FromChild) => resolve(message.url ?? ''));
      child.once('exit', () => reject(new Error('the platform did not start')));
    });
    return new Platform(child, url);
  }

  behave(manner: Manner): void {
    this.#tell({ manner });
  }

  /** Resolves when all that happened until now is in the ledger. */
  settled(): Promise<void> {
    this.#asked += 1;
    const settle = this.#asked;
    return new Promise((resolve) => {
      this.#settled.set(settle, resolve);
      this.#tell({ settle });
    });
  }

  close(): void {
    this.#child.disconnect();
  }

  #tell(message: ToChild): void {
    this.#child.send(message);
  }
}
