/** A process edge for tests: what is printed is kept, answers to questions are given beforehand. */
import type { Edge, Output, Terminal } from '../../src/cli/edge.ts';

export interface FakeEdge extends Edge {
  /** Returns the output so far. */
  readonly out: () => string;
  readonly err: () => string;
  /** Questions that were asked, in order. */
  readonly asked: readonly string[];
  readonly stop: () => void;
}

export interface FakeEdgeOptions {
  readonly isTerminal?: boolean;
  readonly columns?: number;
  readonly environment?: Readonly<Record<string, string>>;
  /** Answers to questions, in order; with any the edge is interactive. */
  readonly answers?: readonly string[];
  /** The terminal's screen and keys; without it one of 40 rows on which nobody types, where `isTerminal` says so. */
  readonly terminal?: Terminal;
  /** Piped in, piece by piece. */
  readonly input?: readonly string[];
}

export function fakeEdge(options: FakeEdgeOptions = {}): FakeEdge {
  const { isTerminal = false, columns = 120, environment = {} } = options;
  const answers = [...(options.answers ?? [])];
  const stopping = new AbortController();
  const written = { out: '', err: '' };
  const asked: string[] = [];
  const output = (name: 'out' | 'err'): Output => ({
    write: (text) => {
      written[name] += text;
    },
    drained: async () => {},
    isTerminal,
    columns,
  });
  return {
    stdout: output('out'),
    stderr: output('err'),
    terminal: () => options.terminal ?? (isTerminal ? silentTerminal(columns) : undefined),
    stdin: piped(options.input ?? []),
    environment,
    signal: stopping.signal,
    isInteractive: options.answers !== undefined,
    ask: async (question) => {
      asked.push(question);
      return answers.shift() ?? '';
    },
    onReload: () => () => {},
    redactWith: () => {},
    out: () => written.out,
    err: () => written.err,
    asked,
    stop: () => stopping.abort(),
  };
}

function silentTerminal(columns: number): Terminal {
  return { columns, rows: 40, onResize: () => () => {}, writeAtExit: () => () => {} };
}

async function* piped(pieces: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const piece of pieces) yield Buffer.from(piece);
}
