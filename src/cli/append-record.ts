/** Writes down every entry whose append has resolved, one JSON line each: what a test, or the demo, holds against the platform. */
import { createWriteStream, type WriteStream } from 'node:fs';
import { stringifyJson } from '../host/json.ts';
import type { TelemetryEntry } from '../outbox/outbox.ts';

export class AppendRecord {
  readonly #file: WriteStream;
  readonly #life: string;

  /** @param life names this process among those that write to the same file. */
  constructor(path: string, life: string) {
    this.#file = createWriteStream(path, { flags: 'a', mode: 0o644 });
    this.#life = life;
  }

  add(entries: readonly TelemetryEntry[]): void {
    const lines = entries.map(({ key, value, monotonicMs }) => `${stringifyJson({ life: this.#life, key, value, monotonicMs })}\n`);
    this.#file.write(lines.join(''));
  }

  async close(): Promise<void> {
    await new Promise<void>((resolve) => this.#file.end(() => resolve()));
  }
}
