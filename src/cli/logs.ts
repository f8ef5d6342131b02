/** Shows what the agent has logged, in words: the service's journal, a file, or what is piped in. */
import { createReadStream } from 'node:fs';
import { hasCode, systemCode } from '../errors/agent-error.ts';
import { untilAborted } from '../host/bounded-wait.ts';
import { systemClock } from '../host/clock.ts';
import { followProgram } from '../host/followed-program.ts';
import { LineReader } from '../values/line-reader.ts';
import type { LogsCall } from './commands/logs.ts';
import { CommandError, EXIT, usageError } from './exit-code.ts';
import { isWanted, type LogLine, logLineOf, logLineText, MAX_LINE_BYTES } from './log-lines.ts';

const UNIT = 'turnstone.service';
/** A filter may leave little of many: no more are looked at. */
const MAX_LOOKED_AT = 1_000_000;
const OUTPUT = ['--output', 'json', '--output-fields', 'MESSAGE,PRIORITY', '--all', '--no-pager', '--quiet'];

export async function showLogs(call: LogsCall): Promise<void> {
  const { args, flags, edge } = call;
  const shown = new ShownLines(call);
  if (args.file === '') return showJournal(call, shown);
  if (args.file !== '-' && flags.follow === true)
    throw usageError('-f goes on with the service or with what is piped in', {
      nextStep: `tail -f ${args.file} | turnstone logs -f -`,
    });
  const stream = args.file === '-' ? edge.stdin : createReadStream(args.file);
  const take = shown.reader(flags.follow === true);
  try {
    for await (const bytes of untilStopping(stream, edge.signal)) await take(Buffer.from(bytes));
  } catch (cause) {
    if (cause instanceof CommandError) throw cause;
    throw usageError(`cannot read ${args.file}: ${systemCode(cause) ?? 'unknown fault'}`, { cause });
  }
  // The last line may have no end.
  await take(Buffer.from('\n'));
  await shown.writeLast();
}

/** Pieces until the signal aborts, also while none come. */
async function* untilStopping(pieces: AsyncIterable<Uint8Array>, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const iterator = pieces[Symbol.asyncIterator]();
  const end = { done: true, value: undefined } as const;
  while (!signal.aborted) {
    const next = await untilAborted(iterator.next(), signal).catch((error: unknown) => {
      if (!signal.aborted) throw error;
      return end;
    });
    if (next.done === true) return;
    yield next.value;
  }
}

/** First what is there, then what comes after the last of it. */
async function showJournal({ flags, edge }: LogsCall, shown: ShownLines): Promise<void> {
  const path = edge.environment.PATH;
  const since = shown.sinceMs === undefined ? [] : ['--since', `@${Math.floor(shown.sinceMs / 1_000)}`];
  // Without a filter the journal itself finds the last lines.
  const count = flags.level === 'debug' && flags.since === undefined ? flags.lines : MAX_LOOKED_AT;
  const all = ['--unit', UNIT, ...OUTPUT, ...since, '--lines', String(count)];
  const looked = await followProgram('journalctl', all, shown.reader(false), edge.signal, path).catch(withoutJournal);
  if (edge.signal.aborted) return;
  if (looked.exitCode !== 0 && looked.stderr.trim() !== '')
    throw new CommandError(`the journal cannot be read: ${looked.stderr.trim().split('\n')[0]}`, {
      nextStep: 'try sudo turnstone logs',
    });
  await shown.writeLast();
  if (shown.seen === 0) tellNothing(edge.stderr.write, flags);
  if (flags.follow !== true) return;
  const after = shown.cursor === undefined ? ['--lines', '0'] : ['--after-cursor', shown.cursor];
  await followProgram(
    'journalctl',
    ['--unit', UNIT, ...OUTPUT, '--follow', ...after],
    shown.reader(true),
    edge.signal,
    path,
  );
}

/** Nothing of it looks like nothing that this user may see. */
function tellNothing(write: (text: string) => void, { follow, since }: LogsCall['flags']): void {
  const isRoot = process.geteuid?.() === 0;
  const message = isRoot
    ? `${UNIT} has logged nothing${since === undefined ? '' : ' since then'}`
    : `the journal shows this user nothing of ${UNIT}`;
  const nextStep = 'try sudo turnstone logs, or become a member of the group systemd-journal';
  if (!isRoot && follow !== true) throw new CommandError(message, { exitCode: EXIT.noPermission, nextStep });
  write(`turnstone: ${message}${isRoot ? '' : `; ${nextStep}`}\n`);
}

function withoutJournal(cause: unknown): never {
  if (!hasCode(cause, 'host/program-not-started')) throw cause;
  throw new CommandError('there is no journal on this machine (journalctl cannot be started)', {
    cause,
    nextStep: 'name the file that the agent logs to: turnstone logs FILE, or pipe its output: turnstone logs -',
  });
}

class ShownLines {
  /** Lines of whatever level. */
  seen = 0;
  /** Place in the journal of the last one. */
  cursor: string | undefined;
  readonly sinceMs: number | undefined;
  readonly #call: LogsCall;
  #last: LogLine[] = [];

  constructor(call: LogsCall) {
    this.#call = call;
    const { since } = call.flags;
    this.sinceMs = since === undefined ? undefined : systemClock.wallMs() - since;
  }

  /** Takes pieces; `isLive` writes each line as it comes, else the last ones are kept. */
  reader(isLive: boolean): (bytes: Buffer) => Promise<void> {
    // A record of the journal has its own names around the agent's line.
    const reader = new LineReader(4 * MAX_LINE_BYTES);
    return async (bytes) => {
      const lines = reader.readLines(bytes);
      if (lines === undefined)
        throw new CommandError(`a line of more than ${4 * MAX_LINE_BYTES} bytes: this is no log`);
      for (const text of lines) this.#take(text, isLive);
      if (isLive) await this.#call.edge.stdout.drained();
    };
  }

  async writeLast(): Promise<void> {
    for (const line of this.#last.slice(-this.#call.flags.lines)) {
      this.#write(line);
      await this.#call.edge.stdout.drained();
    }
    this.#last = [];
  }

  #take(text: string, isLive: boolean): void {
    if (text.trim() === '') return;
    const { level, lines } = this.#call.flags;
    const line = logLineOf(text);
    this.seen += 1;
    this.cursor = line.cursor ?? this.cursor;
    if (!isWanted(line, level, this.sinceMs)) return;
    if (isLive) {
      this.#write(line);
      return;
    }
    this.#last.push(line);
    if (this.#last.length > 2 * lines) this.#last = this.#last.slice(-lines);
  }

  #write(line: LogLine): void {
    const { print, flags } = this.#call;
    print.write(flags.json === true ? `${line.written}\n` : logLineText(line, print.style));
  }
}
