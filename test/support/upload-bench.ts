/** An outbox on a disk in memory, an uploader, and a platform that answers as told. */
import { expect } from 'vitest';
import { silentLog } from '../../src/host/log.ts';
import type { TelemetryEntry } from '../../src/outbox/format/telemetry-entry.ts';
import type { Outbox } from '../../src/outbox/outbox.ts';
import type { TelemetryRows, UploadAnswer } from '../../src/platform/device-api.ts';
import { Uploader } from '../../src/telemetry/uploader.ts';
import { MemoryFiles } from './memory-files.ts';
import { OutboxFixture } from './outbox-fixture.ts';

interface Post {
  readonly atMs: number;
  readonly keys: readonly string[];
  readonly answer: UploadAnswer;
}

/** Answer of a call that the agent itself has ended. */
const ENDED: UploadAnswer = { kind: 'busy', text: 'the call was ended by the agent' };

export class UploadBench {
  readonly fixture: OutboxFixture;
  readonly outbox: Outbox;
  readonly files: MemoryFiles;
  readonly uploader: Uploader;
  readonly #stop = new AbortController();
  #running: Promise<void> = Promise.resolve();
  readonly posts: Post[] = [];
  /** False while the link holds history back. */
  hasHistory = true;
  /** How long a post is on its way. */
  tookMs: (rows: TelemetryRows) => number = () => 0;
  answer: (rows: TelemetryRows, atMs: number) => UploadAnswer = () => ({ kind: 'accepted' });

  private constructor(fixture: OutboxFixture, outbox: Outbox, files: MemoryFiles) {
    this.fixture = fixture;
    this.outbox = outbox;
    this.files = files;
    const { clock } = fixture;
    let drawn = 7;
    clock.jitter = () => {
      drawn = (drawn * 1103515245 + 12345) % 2 ** 31;
      return drawn / 2 ** 31;
    };
    this.uploader = new Uploader({
      outbox,
      clock,
      log: silentLog,
      settings: () => ({ maxBatchBytes: 256_000, maxBatchEntries: 2_000, intervalMs: 0 }),
      link: () => ({ history: this.hasHistory, present: true }),
      postTelemetry: async (rows, signal) => {
        const tookMs = this.tookMs(rows);
        if (tookMs > 0) await clock.sleep(tookMs, signal);
        if (tookMs > 0 && signal.aborted) {
          this.posts.push({ atMs: clock.monotonicMs(), keys: rows.keys, answer: ENDED });
          return ENDED;
        }
        const answer = this.answer(rows, clock.monotonicMs());
        this.posts.push({ atMs: clock.monotonicMs(), keys: rows.keys, answer });
        return answer;
      },
    });
  }

  static async open(settings: Parameters<typeof OutboxFixture.make>[0] = {}): Promise<UploadBench> {
    const fixture = await OutboxFixture.make({ commitAgeMs: 100, ...settings });
    const files = new MemoryFiles();
    fixture.files = files;
    const bench = new UploadBench(fixture, await fixture.open(), files);
    bench.#running = bench.uploader.run(bench.#stop.signal);
    return bench;
  }

  /** Ends the loop; what can be sent is sent by a drain. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.fixture.until(this.#running);
  }

  async close(): Promise<void> {
    await this.stop();
    await this.fixture.remove();
  }

  async commit(keys: readonly string[], more: Partial<TelemetryEntry> = {}): Promise<void> {
    const { fixture, outbox } = this;
    await fixture.commit(
      outbox,
      keys.map((key, at) => fixture.entry(key, at, more)),
    );
  }

  /** Minutes pass; before each, something new is read. */
  async minutes(count: number, keys: readonly string[] = ['live']): Promise<void> {
    for (let minute = 0; minute < count; minute += 1) {
      if (keys.length > 0) await this.commit(keys);
      await this.fixture.clock.advance(60_000);
    }
  }

  /** Entries that wait, in lanes or as dead letters. */
  get waiting(): number {
    const { heldEntries, deadLetters = 0 } = this.outbox.status();
    return heldEntries + deadLetters;
  }

  /** Time passes until nothing waits any more, an hour at most. */
  async drained(): Promise<void> {
    for (let second = 0; second < 3_600 && this.waiting > 0; second += 1) await this.fixture.clock.advance(1_000);
    expect(this.outbox.status()).toMatchObject({ rejected: 0, dropped: 0, heldEntries: 0 });
    expect(this.outbox.status().deadLetters).toBeUndefined();
  }

  async rejected(): Promise<string[]> {
    return (await this.outbox.rejected()).map(({ key }) => key);
  }

  /** Keys of what waits in the dead-letter queue, by its file. */
  deadLetters(): string[] {
    const path = `${this.fixture.folder}/dead-letters.jsonl`;
    const letters = new Map<number, string>();
    if (!this.files.paths.includes(path)) return [];
    for (const line of this.files.contentOf(path).toString().split('\n').slice(1)) {
      const { sequence, rows = [] } = line === '' ? {} : JSON.parse(line);
      letters.delete(sequence);
      if (rows.length > 0) letters.set(sequence, rows[0].key);
    }
    return [...letters.values()];
  }

  get taken(): string[] {
    return this.posts.filter(({ answer }) => answer.kind === 'accepted').flatMap(({ keys }) => keys);
  }

  /** The largest number of failing posts within a minute. */
  get mostFailuresAMinute(): number {
    const failed = this.posts.filter(({ answer }) => answer.kind !== 'accepted').map(({ atMs }) => atMs);
    return Math.max(0, ...failed.map((from) => failed.filter((at) => at >= from && at < from + 60_000).length));
  }
}
