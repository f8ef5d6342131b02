/** The process as commands see it. main.ts makes the real one; tests make their own, and nothing else touches stdin, stdout or signals. */
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import type { Environment } from '../host/environment.ts';

export interface Output {
  write(text: string): void;
  /** Resolves when what was written has gone out, for whoever has more than memory to write. */
  drained(): Promise<void>;
  readonly isTerminal: boolean;
  /** Width in characters; of a terminal, or wide enough for anything. */
  readonly columns: number;
}

/** Keys of a terminal. */
export interface KeyInput extends Readable {
  /** Passes on each key as it is typed, Ctrl-C too, and shows none. */
  setRawMode(isRaw: boolean): unknown;
}

/** A terminal whose whole screen a command may take over. */
export interface Terminal {
  readonly columns: number;
  readonly rows: number;
  /** Absent where nobody can type. */
  readonly keys?: KeyInput | undefined;
  /** Calls back at every change of size until the returned function is called. */
  onResize(listener: () => void): () => void;
  /** Writes the text when the process ends, until the returned function is called. */
  writeAtExit(text: string): () => void;
}

export interface Edge {
  readonly stdout: Output;
  readonly stderr: Output;
  /** Returns the terminal that stdout is; undefined where it is none. */
  terminal(): Terminal | undefined;
  /** Whatever is piped in. */
  readonly stdin: AsyncIterable<Uint8Array>;
  readonly environment: Environment;
  /** Aborts at Ctrl-C and SIGTERM. */
  readonly signal: AbortSignal;
  /** True when somebody is there to answer questions. */
  readonly isInteractive: boolean;
  /** Asks on the terminal; the answer without its line end. `hidden` does not show what is typed. */
  ask(question: string, options?: { readonly hidden?: boolean }): Promise<string>;
  /** Calls back at every SIGHUP until the returned function is called. */
  onReload(listener: () => void): () => void;
  /** From now on whatever is printed about a crash passes through this. */
  redactWith(redact: (text: string) => string): void;
}

/** Until Ctrl-C or SIGTERM. */
export async function untilStopped(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort');
}
