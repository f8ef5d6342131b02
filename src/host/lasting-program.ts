/**
 * One life of a program that speaks line by line for as long as it runs: started directly, never through a shell, without the agent's variables, as
 * the leader of a session. Whatever it does costs itself: what it prints faster than it may is not read, so that it waits; when it holds more memory
 * than it may it is killed, and the kernel takes it first when memory is short. It ends with all its children.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { systemCode } from '../errors/agent-error.ts';
import { endedWithin } from './bounded-wait.ts';
import type { Clock } from './clock.ts';
import { endFamily, familyOf, MARK, memoryOf } from './program-family.ts';

export interface ProgramBounds {
  /** Longer lines are thrown away. */
  readonly maxLineBytes: number;
  readonly linesPerS: number;
  readonly bytesPerS: number;
  /** Memory of it and its children together. */
  readonly maxMemoryBytes: number;
}

export interface LastingProgramSettings {
  readonly file: string;
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** They may change while it runs. */
  readonly bounds: ProgramBounds;
  /** As `markOf` makes it. */
  readonly mark: string;
}

export interface ProgramListener {
  line(line: string): void;
  /** A line longer than it may be; all of it is thrown away. */
  tooLong(): void;
  /** It prints faster than it may, and is kept waiting. */
  tooFast(): void;
  /** Words on its standard error. */
  words(text: string): void;
}

const PROGRAM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
const WINDOW_MS = 1_000;
/** Standard error is for people: so much at once, and then a pause in which it waits. */
const NEXT_WORDS_AFTER_MS = 100;
const LOOK_AT_MEMORY_MS = 1_000;
/** The same from half of what it may hold on. */
const LOOK_CLOSELY_MS = 250;
/** Time between two searches for new processes of it, which read all of /proc. */
const SEARCH_EVERY_MS = 30_000;
const TERMINATES_WITHIN_MS = 2_000;
const KILLED_WITHIN_MS = 2_000;
/** `exit` may come before the last output. */
const LAST_OUTPUT_MS = 500;
/** Commands wait in its pipe when it does not read them: more bytes are not kept for it. */
const MAX_UNREAD_BYTES = 64 * 1_024;
/** The first to go when memory is short (proc_pid_oom_score_adj(5)). */
const FIRST_TO_GO = '1000';

export class LastingProgram {
  /** Resolves when it and its children have ended, with the reason in words. Never rejects. */
  readonly ended: Promise<string>;
  readonly #settings: LastingProgramSettings;
  readonly #clock: Clock;
  readonly #listener: ProgramListener;
  readonly #child: ChildProcess;
  readonly #exited: Promise<string>;
  /** Resolves when its output has ended, too. */
  readonly #closed: Promise<void>;
  readonly #stopping = new AbortController();
  #reason: string | undefined;
  #rest: Buffer = Buffer.alloc(0);
  #isSkipping = false;
  #windowAtMs = 0;
  #lines = 0;
  #bytes = 0;
  #isTooFast = false;
  #lastWords = '';

  constructor(settings: LastingProgramSettings, clock: Clock, listener: ProgramListener) {
    this.#settings = settings;
    this.#clock = clock;
    this.#listener = listener;
    const { file, args, environment, mark } = settings;
    this.#child = spawn(file, args, {
      shell: false,
      detached: true,
      stdio: ['pipe', 'pipe', 'pipe'],
      // Python keeps lines back on a pipe unless it is told not to.
      env: { PATH: PROGRAM_PATH, LANG: 'C.UTF-8', PYTHONUNBUFFERED: '1', ...environment, [MARK]: mark },
    });
    const child = this.#child;
    // One that does not read its commands is no fault of ours.
    child.stdin?.on('error', () => {});
    this.#readLines(child.stdout as Readable);
    this.#readWords(child.stderr as Readable);
    this.#exited = new Promise((resolve) => {
      child.once('error', (cause) => resolve(`cannot be started: ${systemCode(cause) ?? 'unknown fault'}`));
      child.once('exit', (code, signal) => resolve(signal === null ? `ended with ${code}` : `was ended by ${signal}`));
    });
    this.#closed = new Promise((resolve) => {
      child.once('error', () => resolve());
      child.once('close', () => resolve());
    });
    this.ended = this.#untilEnded();
    void this.#watchMemory();
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Last line on its standard error. */
  get lastWords(): string {
    return this.#lastWords;
  }

  /** Bytes of a line whose end has not come. */
  get unfinished(): string {
    return this.#rest.toString('utf8');
  }

  /** False when it does not read what it is told, or has ended. */
  write(line: string): boolean {
    const { stdin } = this.#child;
    if (stdin === null || !stdin.writable || stdin.writableLength > MAX_UNREAD_BYTES) return false;
    stdin.write(line);
    return true;
  }

  /** SIGTERM for its group, and SIGKILL for what is left 2 s later. Idempotent. */
  end(reason: string): Promise<string> {
    if (this.#reason === undefined) {
      this.#reason = reason;
      this.#signal('SIGTERM');
      void endedWithin(this.#clock, TERMINATES_WITHIN_MS, this.#exited).then((isEnded) => {
        if (!isEnded) this.#signal('SIGKILL');
      });
    }
    return this.ended;
  }

  /** SIGKILL at once, for what cannot wait. */
  kill(): void {
    this.#signal('SIGKILL');
  }

  async #untilEnded(): Promise<string> {
    const atExit = (): void => this.#signal('SIGKILL');
    process.once('exit', atExit);
    const how = await this.#exited;
    await endedWithin(this.#clock, LAST_OUTPUT_MS, this.#closed);
    this.#stopping.abort();
    if (this.pid !== undefined) {
      this.#signal('SIGKILL');
      await endedWithin(this.#clock, KILLED_WITHIN_MS, endFamily({ session: this.pid, mark: this.#settings.mark }));
    }
    process.off('exit', atExit);
    for (const pipe of this.#child.stdio) pipe?.destroy();
    return this.#reason ?? how;
  }

  #signal(signal: NodeJS.Signals): void {
    if (this.pid === undefined) return;
    try {
      process.kill(-this.pid, signal);
    } catch {
      // The whole group has ended.
    }
  }

  #readLines(stdout: Readable): void {
    stdout.on('data', (bytes: Buffer) => {
      stdout.pause();
      this.#startWindow();
      this.#bytes += bytes.length;
      this.#rest = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes]);
      this.#cutLines(stdout);
    });
  }

  /** Gives lines on until the second's share is used up; reads on when none is left. */
  #cutLines(stdout: Readable): void {
    if (this.#stopping.signal.aborted) return;
    this.#startWindow();
    const { linesPerS, bytesPerS, maxLineBytes } = this.#settings.bounds;
    let from = 0;
    let end = this.#rest.indexOf(10);
    while (end >= 0 && this.#lines < linesPerS) {
      const line = this.#rest.subarray(from, end);
      from = end + 1;
      end = this.#rest.indexOf(10, from);
      this.#lines += 1;
      if (this.#isSkipping) this.#isSkipping = false;
      else if (line.length > maxLineBytes) this.#listener.tooLong();
      else this.#listener.line(line.toString('utf8'));
    }
    this.#rest = this.#rest.subarray(from);
    if (end < 0 && this.#rest.length > maxLineBytes) {
      if (!this.#isSkipping) this.#listener.tooLong();
      this.#isSkipping = true;
      this.#rest = Buffer.alloc(0);
    }
    if (end < 0 && this.#bytes < bytesPerS) {
      stdout.resume();
      return;
    }
    if (!this.#isTooFast) this.#listener.tooFast();
    this.#isTooFast = true;
    const waitMs = this.#windowAtMs + WINDOW_MS - this.#clock.monotonicMs();
    this.#clock.after(Math.max(1, waitMs), () => this.#cutLines(stdout));
  }

  #startWindow(): void {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs < this.#windowAtMs + WINDOW_MS) return;
    this.#windowAtMs = nowMs;
    this.#lines = 0;
    this.#bytes = 0;
  }

  #readWords(stderr: Readable): void {
    stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr.pause();
      this.#clock.after(NEXT_WORDS_AFTER_MS, () => stderr.resume());
      this.#lastWords = text.trimEnd().split('\n').at(-1)?.trim() || this.#lastWords;
      this.#listener.words(text);
    });
  }

  async #watchMemory(): Promise<void> {
    const { signal } = this.#stopping;
    const { pid } = this;
    if (pid === undefined) return;
    await writeFile(`/proc/${pid}/oom_score_adj`, FIRST_TO_GO).catch(() => {});
    let family: readonly number[] = [pid];
    let searchAtMs = this.#clock.monotonicMs() + LOOK_CLOSELY_MS;
    while (!signal.aborted) {
      if (this.#clock.monotonicMs() >= searchAtMs) {
        searchAtMs = this.#clock.monotonicMs() + SEARCH_EVERY_MS;
        family = await familyOf({ session: pid, mark: this.#settings.mark }).catch(() => [pid]);
      }
      const { maxMemoryBytes } = this.#settings.bounds;
      const bytes = memoryOf(family);
      if (bytes > maxMemoryBytes) {
        this.#reason ??= `was ended: it used ${megabytes(bytes)} MB of memory, of ${megabytes(maxMemoryBytes)} MB that it may`;
        this.kill();
        return;
      }
      await this.#clock.sleep(bytes > maxMemoryBytes / 2 ? LOOK_CLOSELY_MS : LOOK_AT_MEMORY_MS, signal);
    }
  }
}

function megabytes(bytes: number): number {
  return Math.round(bytes / 1e6);
}
