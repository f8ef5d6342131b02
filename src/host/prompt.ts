/** Questions on the terminal, secrets without echo. Where no terminal is, the answer is the first line of standard input. */
import type { ReadStream } from 'node:tty';
import { AgentError } from '../errors.ts';

export interface PromptStreams {
  readonly input: NodeJS.ReadableStream & Partial<Pick<ReadStream, 'isTTY' | 'setRawMode'>>;
  readonly output: { write(text: string): unknown };
}

/** Longest answer that is taken from a pipe or a terminal. */
const LONGEST_ANSWER = 4_096;
const CTRL_C = '\x03';
const CTRL_D = '\x04';
const CTRL_U = '\x15';
const ESCAPE = '\x1b';

/** The process's own; the question goes to stderr, so that stdout stays what a program reads. */
export function terminal(): PromptStreams {
  return { input: process.stdin, output: process.stderr };
}

/**
 * Asks for something that nobody may see.
 * @throws AgentError `host/prompt-ended` (stop) on Ctrl-C, when the input ends without an answer, or when `signal` aborts.
 */
export async function promptSecret(question: string, streams: PromptStreams, signal: AbortSignal): Promise<string> {
  const { input, output } = streams;
  if (input.isTTY !== true || input.setRawMode === undefined) return firstLine(input, signal);
  output.write(question);
  input.setRawMode(true);
  try {
    return await readLine(input, applyKeys, signal);
  } finally {
    input.setRawMode(false);
    output.write('\n');
  }
}

/** Asks with echo; an empty answer is the default. @throws AgentError `host/prompt-ended` (stop) as `promptSecret`. */
export async function promptLine(question: string, fallback: string, streams: PromptStreams, signal: AbortSignal): Promise<string> {
  const { input, output } = streams;
  if (input.isTTY === true) output.write(fallback === '' ? question : `${question}[${fallback}] `);
  const answer = (await firstLine(input, signal)).trim();
  return answer === '' ? fallback : answer;
}

/** What the keys typed so far make of the line; `done` when Enter was among them. */
interface Line {
  readonly text: string;
  readonly done: boolean;
  readonly ended: boolean;
}

function firstLine(input: PromptStreams['input'], signal: AbortSignal): Promise<string> {
  return readLine(input, takePiece, signal);
}

function takePiece(text: string, piece: string): Line {
  const all = text + piece;
  const end = all.indexOf('\n');
  return { text: (end < 0 ? all : all.slice(0, end)).replace(/\r$/, ''), done: end >= 0, ended: false };
}

/** A terminal in raw mode gives keys: the line is edited here, and nothing is shown. */
function applyKeys(before: string, piece: string): Line {
  let text = before;
  if (piece.startsWith(ESCAPE)) return { text, done: false, ended: false };
  for (const key of piece) {
    if (key === '\r' || key === '\n') return { text, done: true, ended: false };
    if (key === CTRL_C || (key === CTRL_D && text === '')) return { text: '', done: true, ended: true };
    if (key === '\x7f' || key === '\b') text = [...text].slice(0, -1).join('');
    else if (key === CTRL_U) text = '';
    else if (key >= ' ') text += key;
  }
  return { text, done: false, ended: false };
}

function readLine(input: PromptStreams['input'], apply: (text: string, piece: string) => Line, signal: AbortSignal): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    const settle = (finish: () => void): void => {
      input.off('data', take);
      input.off('end', end);
      signal.removeEventListener('abort', abort);
      input.pause();
      finish();
    };
    const take = (piece: Buffer | string): void => {
      const line = apply(text, piece.toString());
      text = line.text.slice(0, LONGEST_ANSWER);
      if (line.ended) settle(() => reject(ended('it was interrupted')));
      else if (line.done) settle(() => resolve(text));
    };
    const end = (): void => settle(() => (text === '' ? reject(ended('there is no input')) : resolve(text)));
    const abort = (): void => settle(() => reject(ended('it took too long')));
    if (signal.aborted) return abort();
    input.on('data', take);
    input.once('end', end);
    signal.addEventListener('abort', abort, { once: true });
    input.resume();
  });
}

function ended(why: string): AgentError {
  return new AgentError('host/prompt-ended', `the question was not answered: ${why}`, { recovery: 'stop' });
}
