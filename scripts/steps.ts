/** Says which step of long work is under way, how long it still takes, and how long each took: on a terminal within one line, elsewhere in lines. */
import { TimeLeft } from '../src/cli/progress.ts';

export interface Told {
  write(text: string): void;
  readonly isTerminal: boolean;
}

export interface Steps {
  /** Ends the step before it, and begins this one. */
  begin(step: string): void;
  /** Shows how much of the step is done; where no terminal is, in a line each ten seconds at most. */
  advance(done: number, total: number): void;
  /** Ends the last step, and says how long all took. */
  end(): void;
}

const CLEAR = '\r\u001b[K';
/** A redraw that is sooner than that is left out, ms. */
const DRAW_EVERY_MS = 200;
/** Spacing of lines where no terminal is, ms. */
const LINE_EVERY_MS = 10_000;

export function tellSteps(work: string, { write, isTerminal }: Told, nowMs = (): number => performance.now()): Steps {
  const startedMs = nowMs();
  let current: { readonly step: string; readonly startedMs: number; readonly left: TimeLeft } | undefined;
  let shown = '';
  let toldMs = startedMs;
  const seconds = (sinceMs: number): string => `${Math.round((nowMs() - sinceMs) / 1_000)} s`;
  const finish = (): void => {
    if (current !== undefined)
      write(`${isTerminal ? CLEAR : ''}${work}: ${current.step}: ${seconds(current.startedMs)}\n`);
    current = undefined;
  };
  return {
    begin: (step) => {
      finish();
      current = { step, startedMs: nowMs(), left: new TimeLeft({ monotonicMs: nowMs }) };
      shown = '';
      toldMs = nowMs();
      write(`${work}: ${step} …${isTerminal ? '' : '\n'}`);
    },
    advance: (done, total) => {
      if (current === undefined) return;
      current.left.see(done);
      const percent = Math.min(100, Math.floor((done / total) * 100));
      const text = [`${percent} %`, ...current.left.words(total)].join(', ');
      const everyMs = isTerminal ? DRAW_EVERY_MS : LINE_EVERY_MS;
      if (text === shown || nowMs() - toldMs < everyMs) return;
      shown = text;
      toldMs = nowMs();
      write(`${isTerminal ? CLEAR : ''}${work}: ${current.step} … ${text}${isTerminal ? '' : '\n'}`);
    },
    end: () => {
      finish();
      write(`${work}: done in ${seconds(startedMs)}\n`);
    },
  };
}
