/**
 * The agent's log: JSON lines to stdout, which journald keeps. Every line passes one filter that replaces known secrets, so that
 * no caller, no library error and no crash can print a token.
 */
import { fstatSync, writeSync } from 'node:fs';
import { pino } from 'pino';

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
const SHORTEST_SECRET = 4;

export class AgentLog implements Log {
  readonly #pino: pino.Logger;
  readonly #secrets = new Set<string>();
  readonly #listeners = new Set<(line: string) => void>();

  constructor(options: { readonly level: LogLevel; readonly sink?: LogSink }) {
    const sink = options.sink ?? stdoutSink();
    this.#pino = pino(
      { level: options.level, base: null, timestamp: pino.stdTimeFunctions.isoTime, formatters: { level: (label) => ({ level: label }) } },
      {
        write: (line: string) => {
          const shown = this.redact(line);
          sink.write(shown);
          for (const listener of this.#listeners) listener(shown);
        },
      },
    );
  }

  /** Adds a secret that no line may show from now on; forms in which JSON or a URL would write it are covered too. */
  hide(secret: string): void {
    if (secret.length < SHORTEST_SECRET) return;
    for (const form of [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)]) this.#secrets.add(form);
  }

  /** The text with every known secret replaced. */
  redact(text: string): string {
    let redacted = text;
    for (const secret of this.#secrets) redacted = redacted.replaceAll(secret, '[secret]');
    return redacted;
  }

  /** Calls back with every line as it is written, secrets already replaced; the returned function ends it. */
  onLine(listener: (line: string) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  get level(): LogLevel {
    return this.#pino.level as LogLevel;
  }

  set level(level: LogLevel) {
    this.#pino.level = level;
  }

  debug(fields: object, message: string): void {
    this.#pino.debug(fields, message);
  }

  info(fields: object, message: string): void {
    this.#pino.info(fields, message);
  }

  warn(fields: object, message: string): void {
    this.#pino.warn(fields, message);
  }

  error(fields: object, message: string): void {
    this.#pino.error(fields, message);
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
