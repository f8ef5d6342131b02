/**
 * Programs that run as drivers. Sensors and outputs share them: a program with the same arguments and environment runs once for all sections that
 * name it.
 *
 *   standard output ─► lines ─► every user;  {"id": 1, "ok": true} ─► the command that waits for it
 *   standard input  ◄─ {"id": 1, "set": {"pump": true}}
 *
 * A program that ends is started again with backoff. The backoff outlives the users: a sensor that is opened again does not shorten it. Programs that
 * a killed agent left running are ended before the first start.
 */
import { AgentError, messageOf, retryable, systemCode } from '../errors/agent-error.ts';
import { Backoff } from '../host/backoff.ts';
import type { Clock } from '../host/clock.ts';
import { LastingProgram, type ProgramBounds } from '../host/lasting-program.ts';
import type { Log } from '../host/log.ts';
import { endOrphans, markOf } from '../host/program-family.ts';
import { once } from '../host/shared-work.ts';
import { getOrInsert } from '../values/get-or-insert.ts';
import { type JsonValue, stringifyJson } from '../values/json.ts';
import { Listeners } from '../values/listeners.ts';
import { answerWithin, withinDeadline } from './deadline.ts';
import { type ProgramAnswer, type ProgramMessage, programMessage } from './program-message.ts';

export interface ProgramSettings {
  readonly program: string;
  readonly arguments: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
}

/** Called with the state behind a command, or with why it was not carried out. */
type OnLate = (state: JsonValue | undefined, refusal?: string) => void;

/** One user's share of a program. */
export interface ProgramShare {
  /** Reason in words why the program does not run; undefined while it runs, and until its first start. */
  readonly outage: string | undefined;
  /** When it was started, ms since boot; undefined while it does not run. */
  readonly startedAtMs: number | undefined;
  /** Time of its last whole line, ms since boot; undefined when none has come since it was started. */
  readonly spokeAtMs: number | undefined;
  /** Calls back with each line, until the returned function is called. Answers are left out. */
  onMessage(listener: (message: Exclude<ProgramMessage, ProgramAnswer>) => void): () => void;
  /** Returns the last state of an output that the program has told since its start. */
  state(key: string): JsonValue | undefined;
  /**
   * Resolves when the program has carried out the command.
   * @param onLate called when the answer comes after the signal has aborted: with the new state, or with the words of a refusal that tells none.
   * @throws AgentError `hardware/outcome-unknown` (retry) without an answer, `hardware/program-refuses` (retry) with its words,
   * `hardware/program-away` (retry) while the program does not run, when it ends before it answers, or when it does not read its commands and is
   * started again. A program that answers nothing and prints nothing for a minute is started again, too.
   */
  set(key: string, value: JsonValue, signal: AbortSignal, onLate?: OnLate): Promise<void>;
  /** Ends it; it is started again. */
  restart(reason: string): void;
  /** Gives the share back; the last one ends the program. Idempotent. */
  close(): Promise<void>;
}

const DEFAULT_BOUNDS: ProgramBounds = {
  maxLineBytes: 16_000,
  linesPerS: 100,
  bytesPerS: 64_000,
  maxMemoryBytes: 128_000_000,
};

const BACKOFF = { firstMs: 2_000, maxMs: 60_000 };
/** A program that has run for this long is started again with the shortest backoff when it ends. */
const RUNS_WELL_AFTER_MS = 60_000;
/** Commands without an answer yet, and those that were given up, whose answers may still come. */
const MAX_WAITING = 64;
/** A program hangs that prints no line for so long behind a command, with another one unanswered too. A start, or a slow valve, takes less. */
const MUTE_AFTER_MS = 60_000;
/** Outputs whose state a program tells. */
const MAX_STATES = 256;
const MAX_SAID_LENGTH = 500;

/** State of a program that outlives its users. */
interface Pace {
  readonly backoff: Backoff;
  notBeforeMs: number;
  outage: string | undefined;
}

export class Programs {
  readonly #clock: Clock;
  readonly #runs = new Map<string, ProgramRun>();
  readonly #closing = new Map<string, Promise<void>>();
  readonly #paces = new Map<string, Pace>();
  #count = 0;
  #orphans: Promise<number> | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Starts the program, or joins its users; does not wait for the start. @param bounds hold for all users; those that were given last win. */
  open(settings: ProgramSettings, log: Log, bounds?: ProgramBounds): ProgramShare {
    const environment = Object.entries(settings.environment).sort();
    const identity = JSON.stringify([settings.program, settings.arguments, environment]);
    const run = this.#runs.get(identity) ?? this.#started(identity, settings, log);
    this.#runs.set(identity, run);
    if (bounds !== undefined) Object.assign(run.bounds, bounds);
    run.users += 1;
    const close = once(async () => {
      run.users -= 1;
      if (run.users > 0) return;
      this.#runs.delete(identity);
      const closing = run.close();
      this.#closing.set(identity, closing);
      await closing;
      if (this.#closing.get(identity) === closing) this.#closing.delete(identity);
    });
    return run.share(close);
  }

  /** Ends all. Idempotent. */
  async close(): Promise<void> {
    const runs = [...this.#runs.values()];
    this.#runs.clear();
    await Promise.all([...runs.map((run) => run.close()), ...this.#closing.values()]);
  }

  #started(identity: string, settings: ProgramSettings, log: Log): ProgramRun {
    const pace = getOrInsert(this.#paces, identity, () => ({
      backoff: new Backoff(BACKOFF, this.#clock),
      notBeforeMs: 0,
      outage: undefined,
    }));
    const before = this.#closing.get(identity);
    const mark = async (): Promise<string> => {
      await before;
      this.#orphans ??= endOrphans();
      const orphans = await this.#orphans;
      this.#orphans = Promise.resolve(0);
      if (orphans > 0) log.warn({ count: orphans }, 'ended programs that a killed agent had left running');
      this.#count += 1;
      return await markOf(this.#count);
    };
    return new ProgramRun(settings, { clock: this.#clock, log, pace, mark });
  }
}

interface RunDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly pace: Pace;
  /** Resolves when it may be started, with its mark. */
  readonly mark: () => Promise<string>;
}

interface Command {
  readonly key: string;
  readonly value: JsonValue;
  readonly onLate: OnLate | undefined;
}

class ProgramRun {
  users = 0;
  /** Changed in place: the program that runs keeps to them as well. */
  readonly bounds = structuredClone(DEFAULT_BOUNDS);
  readonly #settings: ProgramSettings;
  readonly #deps: RunDeps;
  readonly #closing = new AbortController();
  readonly #messages = new Listeners<[Exclude<ProgramMessage, ProgramAnswer>]>();
  readonly #states = new Map<string, JsonValue>();
  readonly #waiting = new Map<
    number,
    { readonly key: string; readonly settle: (answer: ProgramAnswer | Error) => void }
  >();
  readonly #running: Promise<void>;
  /** Resolves with the first start. */
  readonly #begun = Promise.withResolvers<void>();
  #nextId = 1;
  #now: LastingProgram | undefined;
  #startedAtMs: number | undefined;
  #spokeAtMs: number | undefined;
  /** When the first command without an answer was told since the last line. */
  #muteSinceMs: number | undefined;

  constructor(settings: ProgramSettings, deps: RunDeps) {
    this.#settings = settings;
    this.#deps = deps;
    this.#running = this.#run(this.#closing.signal);
  }

  share(close: () => Promise<void>): ProgramShare {
    const run = this;
    return {
      get outage() {
        return run.#now === undefined ? run.#deps.pace.outage : undefined;
      },
      get startedAtMs() {
        return run.#startedAtMs;
      },
      get spokeAtMs() {
        return run.#spokeAtMs;
      },
      onMessage: this.#messages.add,
      state: (key) => this.#states.get(key),
      set: (key, value, signal, onLate) => this.#set({ key, value, onLate }, signal),
      restart: (reason) => void this.#now?.end(`was ended: ${reason}`),
      close,
    };
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#now?.end('was ended with its last user');
    await this.#running;
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { clock, log, pace } = this.#deps;
    const { program } = this.#settings;
    while (!signal.aborted) {
      await clock.sleep(pace.notBeforeMs - clock.monotonicMs(), signal);
      const mark = await this.#deps.mark();
      if (signal.aborted) return;
      const startedAtMs = clock.monotonicMs();
      const { how, said } = await this.#live(mark);
      this.#now = undefined;
      this.#startedAtMs = undefined;
      this.#spokeAtMs = undefined;
      this.#muteSinceMs = undefined;
      this.#states.clear();
      const words = `${program} ${how}${said === '' ? '' : `: ${said}`}`;
      this.#refuseAll(words);
      if (signal.aborted) return;
      if (clock.monotonicMs() - startedAtMs >= RUNS_WELL_AFTER_MS) pace.backoff.reset();
      const waitMs = pace.backoff.nextMs();
      pace.notBeforeMs = clock.monotonicMs() + waitMs;
      pace.outage = `${words}; it is started again`;
      log.warn(
        { program, how, said, waitMs: Math.round(waitMs) },
        'a program that is a driver has ended; it is started again',
      );
    }
  }

  /** One life, from its start to its end. Never rejects. */
  async #live(mark: string): Promise<{ readonly how: string; readonly said: string }> {
    try {
      const life = this.#start(mark);
      const how = await life.ended;
      return { how, said: excerptOf(life.lastWords) };
    } catch (cause) {
      return { how: `cannot be started: ${systemCode(cause) ?? messageOf(cause)}`, said: '' };
    }
  }

  #start(mark: string): LastingProgram {
    const { program: file, arguments: args, environment } = this.#settings;
    const { clock, log } = this.#deps;
    const life = new LastingProgram({ file, args, environment, bounds: this.bounds, mark }, clock, {
      line: (line) => this.#take(line),
      tooLong: () =>
        log.warn(
          { program: file, maxLine: this.bounds.maxLineBytes },
          'a program prints a line that is longer than maxLine; it is left out',
        ),
      tooFast: () =>
        log.warn({ program: file }, 'a program prints faster than lineRate or byteRate; it is kept waiting'),
      words: (text) => {
        const said = excerptOf(text.replace(/\n\s*\n/g, '\n'));
        if (said !== '') log.info({ program: file, said }, 'a program that is a driver says');
      },
    });
    this.#now = life;
    this.#startedAtMs = clock.monotonicMs();
    this.#deps.pace.outage = undefined;
    this.#begun.resolve();
    return life;
  }

  #take(line: string): void {
    if (line.trim() === '') return;
    this.#spokeAtMs = this.#deps.clock.monotonicMs();
    this.#muteSinceMs = undefined;
    const message = programMessage(line);
    if (message.kind === 'answer') {
      const { id, value, error } = message;
      const asked = this.#waiting.get(id);
      this.#waiting.delete(id);
      if (asked !== undefined && value !== undefined && error === undefined) this.#states.set(asked.key, value);
      asked?.settle(message);
      return;
    }
    if (message.kind === 'report')
      for (const [key, value] of Object.entries(message.state ?? {}))
        if (value !== undefined && (this.#states.size < MAX_STATES || this.#states.has(key)))
          this.#states.set(key, value);
    this.#messages.tell(message);
  }

  async #set({ key, value, onLate }: Command, signal: AbortSignal): Promise<void> {
    const { program } = this.#settings;
    const away = (why: string, cause?: unknown): AgentError => retryable('hardware/program-away', why, cause);
    if (this.#now === undefined && this.#deps.pace.outage === undefined)
      await withinDeadline(this.#begun.promise, `the start of ${program}`, signal);
    const life = this.#now;
    if (life === undefined) throw away(this.#deps.pace.outage ?? `${program} is still starting`);
    const toldAtMs = this.#deps.clock.monotonicMs();
    const id = this.#nextId;
    this.#nextId += 1;
    const [oldest] = this.#waiting.keys();
    if (this.#waiting.size >= MAX_WAITING && oldest !== undefined) this.#waiting.delete(oldest);
    if (!life.write(`${stringifyJson({ id, set: { [key]: value } })}\n`)) {
      void life.end('was ended: it does not read its commands');
      throw away(`${program} does not read its commands`);
    }
    const answer = answerWithin<ProgramAnswer>(
      (resolve, reject) =>
        this.#waiting.set(id, {
          key,
          settle: (told) => (told instanceof Error ? reject(told) : resolve(told)),
        }),
      `an answer of ${program}`,
      signal,
    );
    const { error } = await answer.catch((cause: unknown) => {
      const settle = (told: ProgramAnswer | Error): void => {
        if (told instanceof Error) return;
        const { value: state, error } = told;
        if (error === undefined || state !== undefined) onLate?.(state ?? value);
        else onLate?.(undefined, `${program}: ${excerptOf(error)}`);
      };
      if (this.#waiting.has(id)) this.#waiting.set(id, { key, settle });
      if (cause instanceof AgentError && cause.code !== 'hardware/deadline') throw cause;
      this.#missAnswer(life, toldAtMs);
      throw retryable(
        'hardware/outcome-unknown',
        `${program} did not answer in time: it may still carry it out`,
        cause,
      );
    });
    if (error !== undefined) throw retryable('hardware/program-refuses', `${program}: ${excerptOf(error)}`);
  }

  #missAnswer(life: LastingProgram, toldAtMs: number): void {
    if (life !== this.#now || (this.#spokeAtMs ?? 0) > toldAtMs) return;
    const isFirst = this.#muteSinceMs === undefined;
    this.#muteSinceMs ??= toldAtMs;
    if (!isFirst && this.#deps.clock.monotonicMs() - this.#muteSinceMs >= MUTE_AFTER_MS)
      void life.end('was ended: it answers no command, and prints nothing');
  }

  #refuseAll(words: string): void {
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { settle } of waiting) settle(retryable('hardware/program-away', words));
  }
}

function excerptOf(text: string): string {
  const trimmed = text.trim();
  return trimmed.length > MAX_SAID_LENGTH ? `${trimmed.slice(0, MAX_SAID_LENGTH)}…` : trimmed;
}
