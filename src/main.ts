/**
 * The process edge: arguments in, exit code out, signals in between. The only file that ends the process.
 *
 * SIGINT, SIGTERM: stop in good order; a second one ends at once with 130. SIGHUP: the configuration is read again.
 * Exit codes are in cli/exit-code.ts and in `turnstone --help`.
 */

import { once } from 'node:events';
import { flushCompileCache } from 'node:module';
import type { Edge, Output, Terminal } from './cli/edge.ts';
import { EXIT } from './cli/exit-code.ts';
import { runCommandLine } from './cli/frame/program.ts';
import { systemEnvironment } from './host/environment.ts';
import { agentVersion } from './host/version.ts';

/** Wide enough for anything; files and pipes have no width. */
const UNBOUNDED_COLUMNS = 1_000;
/** Size of a terminal that says 0, as a serial console may. */
const USUAL_SIZE = { columns: 80, rows: 24 };
/** By then everything a start needs has been compiled; a service that is killed later has its cache all the same. */
const FLUSH_COMPILE_CACHE_AFTER_MS = 15_000;

const stopping = new AbortController();
let redact = (text: string): string => text;

const edge: Edge = {
  stdout: outputOf(process.stdout),
  stderr: outputOf(process.stderr),
  terminal,
  stdin: process.stdin,
  environment: systemEnvironment(),
  signal: stopping.signal,
  // Looking at stdin opens it.
  get isInteractive() {
    return process.stdin.isTTY === true && process.stderr.isTTY === true;
  },
  ask,
  onReload: (listener) => {
    process.on('SIGHUP', listener);
    return () => process.off('SIGHUP', listener);
  },
  redactWith: (redactor) => {
    redact = redactor;
  },
};

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    if (stopping.signal.aborted) process.exit(EXIT.interrupted);
    stopping.abort();
  });
}
// Whoever started this process as its companion has ended, be it by SIGKILL (host/companion-process.ts); nobody else has a channel to it.
process.once('disconnect', () => stopping.abort());
// The reader of our output has closed it (`turnstone status | head -1`).
process.stdout.on('error', (error: NodeJS.ErrnoException) =>
  process.exit(error.code === 'EPIPE' ? EXIT.ok : EXIT.failure),
);
for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
  process.on(event, (error: unknown) => {
    edge.stderr.write(
      redact(`turnstone: fault of the program: ${error instanceof Error ? error.stack : String(error)}\n`),
    );
    process.exit(EXIT.internal);
  });
}
setTimeout(flushCompileCache, FLUSH_COMPILE_CACHE_AFTER_MS).unref();
// Nothing is left to wait for, and yet no command has come to its end.
process.exitCode = EXIT.internal;
// Not awaited here: what is loaded later takes parts of the file that this is in, and would wait for the end of the program.
void runToEnd();

async function runToEnd(): Promise<never> {
  const exitCode = await runCommandLine(process.argv.slice(2), { edge, version: agentVersion });
  await Promise.all([process.stdout, process.stderr].map(flushed));
  process.exit(exitCode);
}

/** Resolves when the other end has taken all: a pipe holds 64 kB, and what is beyond would end with the process. */
function flushed(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => stream.write('', () => resolve()));
}

function outputOf(stream: NodeJS.WriteStream): Output {
  return {
    write: (text) => void stream.write(text),
    drained: async () => {
      if (stream.writableNeedDrain) await once(stream, 'drain');
    },
    isTerminal: stream.isTTY === true,
    get columns() {
      return stream.isTTY === true ? stream.columns || USUAL_SIZE.columns : UNBOUNDED_COLUMNS;
    },
  };
}

function terminal(): Terminal | undefined {
  const { stdin, stdout } = process;
  // A dumb one takes no escape sequences.
  if (stdout.isTTY !== true || edge.environment.TERM === 'dumb') return undefined;
  return {
    get columns() {
      return stdout.columns || USUAL_SIZE.columns;
    },
    get rows() {
      return stdout.rows || USUAL_SIZE.rows;
    },
    keys: stdin.isTTY === true ? stdin : undefined,
    onResize: (listener) => {
      stdout.on('resize', listener);
      return () => stdout.off('resize', listener);
    },
    writeAtExit: (text) => {
      // A terminal takes it before the process is gone.
      const write = (): void => void stdout.write(text);
      process.once('exit', write);
      return () => process.off('exit', write);
    },
  };
}

/** Questions go to stderr, so that answers on stdout can be piped. */
async function ask(question: string, options: { readonly hidden?: boolean } = {}): Promise<string> {
  const [{ createInterface }, { Writable }] = [
    process.getBuiltinModule('node:readline'),
    process.getBuiltinModule('node:stream'),
  ];
  process.stderr.write(question);
  const mute = new Writable({ write: (_chunk, _encoding, done) => done() });
  const output = options.hidden === true ? mute : process.stderr;
  const terminal = createInterface({ input: process.stdin, output, terminal: process.stdin.isTTY === true });
  try {
    return await new Promise<string>((resolve) => {
      terminal.once('line', resolve);
      terminal.once('close', () => resolve(''));
      // A terminal that is gone gives no answer.
      terminal.once('error', () => resolve(''));
      terminal.once('SIGINT', () => process.exit(EXIT.interrupted));
      // Where the answer is piped in no terminal hears it.
      stopping.signal.addEventListener('abort', () => process.exit(EXIT.interrupted), { once: true });
    });
  } finally {
    terminal.close();
    if (options.hidden === true) process.stderr.write('\n');
  }
}
