/** A terminal for tests: keys are typed into it, its size changes when told, and it knows whether it is in raw mode. */
import { PassThrough } from 'node:stream';
import type { KeyInput, Terminal } from '../../src/cli/edge.ts';

class Keys extends PassThrough implements KeyInput {
  readonly rawModes: boolean[] = [];

  setRawMode(isRaw: boolean): void {
    this.rawModes.push(isRaw);
  }
}

export interface FakeTerminal extends Terminal {
  /** Types these characters, as a terminal sends them. */
  readonly type: (text: string) => void;
  readonly resize: (size: { readonly columns: number; readonly rows: number }) => void;
  /** Modes that were set, in their order. */
  readonly rawModes: readonly boolean[];
  /** Number of those who listen: to keys, to the size, to the end of the process. */
  readonly listeners: () => readonly number[];
}

export function fakeTerminal(at: { readonly columns: number; readonly rows: number }): FakeTerminal {
  const keys = new Keys();
  const [resized, exits] = [new Set<() => void>(), new Set<string>()];
  let size = at;
  return {
    get columns() {
      return size.columns;
    },
    get rows() {
      return size.rows;
    },
    keys,
    onResize: (listener) => {
      resized.add(listener);
      return () => resized.delete(listener);
    },
    writeAtExit: (text) => {
      exits.add(text);
      return () => exits.delete(text);
    },
    type: (text) => void keys.write(text),
    resize: (changed) => {
      size = changed;
      for (const listener of resized) listener();
    },
    rawModes: keys.rawModes,
    listeners: () => [keys.listenerCount('keypress'), resized.size, exits.size],
  };
}
