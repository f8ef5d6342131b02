/** A terminal that a command takes over: the alternate screen, keys one at a time, and the lines of before when it ends, however it ends. */
import { emitKeypressEvents } from 'node:readline';
import type { Output, Terminal } from './edge.ts';
import { cutText } from './wrapped-text.ts';

const ENTER = '\u001b[?1049h\u001b[?25l';
const LEAVE = '\u001b[?25h\u001b[?1049l';
const HOME = '\u001b[H';
const CLEAR_TO_LINE_END = '\u001b[K';
const CLEAR_BELOW = '\u001b[J';

/** A key as node's readline tells it. */
export interface Key {
  /** Absent of a character that has no name. */
  readonly name?: string | undefined;
  readonly ctrl?: boolean | undefined;
  /** Characters that the terminal sent. */
  readonly sequence?: string | undefined;
}

interface ScreenUser {
  readonly onKey: (key: Key) => void;
  readonly onResize: () => void;
}

export class Screen {
  readonly #terminal: Terminal;
  readonly #output: Output;

  private constructor(terminal: Terminal, output: Output) {
    this.#terminal = terminal;
    this.#output = output;
  }

  /** Takes the terminal over for as long as the work takes. */
  static async use(
    { terminal, output, user }: { readonly terminal: Terminal; readonly output: Output; readonly user: ScreenUser },
    work: (screen: Screen) => Promise<void>,
  ): Promise<void> {
    const { keys } = terminal;
    const onKeypress = (_text: string | undefined, key: Key): void => user.onKey(key);
    const stopResize = terminal.onResize(user.onResize);
    const stopAtExit = terminal.writeAtExit(LEAVE);
    output.write(ENTER);
    try {
      if (keys !== undefined) {
        emitKeypressEvents(keys);
        keys.on('keypress', onKeypress);
        keys.setRawMode(true);
        keys.resume();
      }
      await work(new Screen(terminal, output));
    } finally {
      keys?.off('keypress', onKeypress);
      keys?.setRawMode(false);
      keys?.pause();
      stopResize();
      output.write(LEAVE);
      stopAtExit();
    }
  }

  get columns(): number {
    return this.#terminal.columns;
  }

  get rows(): number {
    return this.#terminal.rows;
  }

  /** Shows these lines and nothing else; what is too wide is cut. */
  draw(lines: readonly string[]): void {
    const shown = lines.slice(0, this.rows).map((line) => cutText(line, this.columns) + CLEAR_TO_LINE_END);
    this.#output.write(`${HOME}${shown.join('\r\n')}${CLEAR_BELOW}`);
  }
}
