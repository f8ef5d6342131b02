/** Says which step of long work is under way, and how long each took: on a terminal within one line, elsewhere in lines. */

export interface Told {
  write(text: string): void;
  readonly isTerminal: boolean;
}

export interface Steps {
  /** Ends the step before it, and begins this one. */
  begin(step: string): void;
  /** Shows how much of the step is done; on a terminal alone. */
  advance(done: number, total: number): void;
  /** Ends the last step, and says how long all took. */
  end(): void;
}

const CLEAR = '\r\u001b[K';

export function tellSteps(work: string, { write, isTerminal }: Told, nowMs = (): number => performance.now()): Steps {
  const startedMs = nowMs();
  let current: { readonly step: string; readonly startedMs: number } | undefined;
  let shownPercent = -1;
  const seconds = (sinceMs: number): string => `${Math.round((nowMs() - sinceMs) / 1_000)} s`;
  const finish = (): void => {
    if (current !== undefined)
      write(`${isTerminal ? CLEAR : ''}${work}: ${current.step}: ${seconds(current.startedMs)}\n`);
    current = undefined;
  };
  return {
    begin: (step) => {
      finish();
      current = { step, startedMs: nowMs() };
      shownPercent = -1;
      write(`${work}: ${step} …${isTerminal ? '' : '\n'}`);
    },
    advance: (done, total) => {
      const percent = Math.floor((done / total) * 100);
      if (!isTerminal || current === undefined || percent <= shownPercent) return;
      shownPercent = percent;
      write(`${CLEAR}${work}: ${current.step} … ${percent}%`);
    },
    end: () => {
      finish();
      write(`${work}: done in ${seconds(startedMs)}\n`);
    },
  };
}
