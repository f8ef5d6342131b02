/**
 * The agent's log: JSON lines to stdout, which journald keeps. Every line passes one filter that replaces known secrets, so that
 * no caller, no library error and no crash can print a token; and one that sums up what is told without end.
 */
import { fstatSync, writeSync } from 'node:fs';
import { pino } from 'pino';
import { Listeners } from '../values/listeners.ts';
import { secretForms, withoutSecrets } from '../values/secret-forms.ts';
import type { Clock } from './clock.ts';
import { SummedLog } from './summed-log.ts';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';
export const LOG_LEVELS: readonly LogLevel[] = ['debug', 'info', 'warn', 'error'];

export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** Where finished lines go. */
export interface LogSink {
  write(line: string): void;
}

/** A secret shorter than this would blot out ordinary words. */
const MIN_SECRET_LENGTH = 4;

export class AgentLog implements Log {
  readonly #pino: pino.Logger;
  readonly #summed: SummedLog;
  readonly #secrets = new Set<string>();
  #forms: readonly string[] = [];
  readonly #lines = new Listeners<[string]>();

  constructor(options: {
    readonly level: LogLevel;
    readonly clock: Pick<Clock, 'wallMs' | 'monotonicMs' | 'after'>;
    readonly sink?: LogSink;
  }) {
    const { clock, sink = stdoutSink() } = options;
    const timestamp = (): string => `,"time":"${new Date(clock.wallMs()).toISOString()}"`;
    this.#pino = pino(
      { level: options.level, base: null, timestamp, formatters: { level: (label) => ({ level: label }) } },
      {
        write: (line: string) => {
          const shown = this.redact(line);
          sink.write(shown);
          this.#lines.tell(shown);
        },
      },
    );
    this.#summed = new SummedLog({ clock, tell: (level, fields, message) => this.#pino[level](fields, message) });
  }

  /** Adds a secret that no line may show from now on, in none of the forms that secret-forms.ts knows. */
  hide(secret: string): void {
    if (secret.length < MIN_SECRET_LENGTH || this.#secrets.has(secret)) return;
    this.#secrets.add(secret);
    this.#forms = secretForms(this.#secrets);
  }

  /** The text with every known secret replaced. */
  redact(text: string): string {
    return withoutSecrets(text, this.#forms, '[secret]');
  }

  /** Calls back with every line as it is written, secrets already replaced; the returned function ends it. */
  readonly onLine = this.#lines.add;

  readonly debug = this.#at('debug');
  readonly info = this.#at('info');
  readonly warn = this.#at('warn');
  readonly error = this.#at('error');

  /** Tells the numbers of what was not told. Idempotent. */
  close(): void {
    this.#summed.close();
  }

  get level(): LogLevel {
    return this.#pino.level as LogLevel;
  }

  set level(level: LogLevel) {
    this.#pino.level = level;
  }

  #at(level: LogLevel): (fields: object, message: string) => void {
    return (fields, message) => {
      if (this.#pino.isLevelEnabled(level)) this.#summed.logMessage(level, fields, message);
    };
  }
}

/** A log that keeps nothing, for parts that are used by themselves. */
export const silentLog: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

/** Lines to stdout; a pipe that is full drops lines rather than stop the agent, and a reader that is gone is no error. */
function stdoutSink(): LogSink {
  const isFile = fstatSync(1).isFile();
  return {
    write: (line) => {
      if (isFile) writeSync(1, line);
      else if (process.stdout.writableLength < 1024 * 1024) process.stdout.write(line);
    },
  };
}
