/** The log of an agent that somebody started in a terminal: in words there, while pipes, files and the journal get JSON. */
import type { LogSink } from '../host/log.ts';
import type { Edge } from './edge.ts';
import { logLineOf, logLineText } from './log-lines.ts';
import type { Printer } from './printer.ts';

/** Returns the sink of a terminal; undefined where the log's own is right. */
export function terminalLog({ stdout }: Pick<Edge, 'stdout'>, print: Printer, asJson: boolean): LogSink | undefined {
  if (!stdout.isTerminal || asJson) return undefined;
  return { write: (line) => print.write(logLineText(logLineOf(line.trimEnd()), print.style)) };
}
