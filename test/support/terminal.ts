/** A terminal as a person has it: keys go in, and what stands on the screen comes out. Needs tmux. */
import { execFile, execFileSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);
const LOOK_EVERY_MS = 100;
const WITHIN_MS = 60_000;
const ROWS = '50';
const COLUMNS = '160';
const SCROLLED_LINES = '2000';

/** Why journeys cannot run here; undefined when they can. */
export function missingTerminal(): string | undefined {
  try {
    execFileSync('tmux', ['-V'], { stdio: 'ignore' });
    return undefined;
  } catch {
    return 'no tmux: scripts/ensure-test-tools.sh installs it, as root';
  }
}

export interface TerminalOptions {
  /** Where the shell begins. */
  readonly cwd: string;
  /** Beside a few that every shell has. */
  readonly environment?: Readonly<Record<string, string>>;
}

export class Terminal {
  /** Home folder of the person, which was empty. */
  readonly home: string;
  readonly #socket: string;

  private constructor(home: string) {
    this.home = home;
    this.#socket = join(home, '.terminal');
  }

  /** Opens a terminal with an empty home and a plain shell. */
  static async open({ cwd, environment = {} }: TerminalOptions): Promise<Terminal> {
    const terminal = new Terminal(await mkdtemp(join(tmpdir(), 'turnstone-journey-')));
    const given = Object.entries({ HOME: terminal.home, PS1: '> ', TERM: 'screen', ...environment }).map(
      ([name, value]) => `${name}=${value}`,
    );
    const kept = ['PATH', 'TMPDIR', 'LANG'].flatMap((name) =>
      process.env[name] === undefined ? [] : [`${name}=${process.env[name]}`],
    );
    const shell = ['env', '-i', ...kept, ...given, 'bash', '--norc', '--noprofile'];
    await terminal.#tmux('-f', '/dev/null', 'new-session', '-d', '-x', COLUMNS, '-y', ROWS, '-c', cwd, ...shell);
    await terminal.see(/^> /m);
    return terminal;
  }

  /** Types a line, with return at its end. */
  async type(line: string): Promise<void> {
    if (line !== '') await this.#tmux('send-keys', '-l', '--', line);
    await this.#tmux('send-keys', 'Enter');
  }

  /** Presses a key by its name: `C-c`, `Tab`. */
  async press(key: string): Promise<void> {
    await this.#tmux('send-keys', key);
  }

  /** Waits until this stands on the screen. @throws Error with the screen when it does not in time. */
  async see(what: RegExp, withinMs = WITHIN_MS): Promise<RegExpExecArray> {
    const endMs = performance.now() + withinMs;
    for (;;) {
      const screen = await this.screen();
      const found = what.exec(screen);
      if (found !== null) return found;
      if (performance.now() > endMs)
        throw new Error(`${what} did not come within ${withinMs} ms; the screen shows:\n${screen.trimEnd()}`);
      await delay(LOOK_EVERY_MS);
    }
  }

  /** Types a line and waits for the prompt behind what it printed; resolves to that. */
  async run(line: string, withinMs = WITHIN_MS): Promise<string> {
    await this.clear();
    await this.type(line);
    const [, printed = ''] = await this.see(/^> .*\n([\s\S]*?)^> $/m, withinMs);
    return printed;
  }

  async clear(): Promise<void> {
    // The screen goes up into the history once the shell has seen the key, which may be after the history was emptied.
    for (let screen = ''; !/^> *\n*$/.test(screen); screen = await this.screen()) {
      await this.#tmux('send-keys', 'C-l');
      await delay(LOOK_EVERY_MS);
      await this.#tmux('clear-history');
    }
  }

  /** All lines, also those that have gone up; wrapped ones are joined. */
  async screen(): Promise<string> {
    const { stdout } = await this.#tmux('capture-pane', '-p', '-J', '-S', `-${SCROLLED_LINES}`);
    // A prompt at the end keeps its blank.
    return stdout.replace(/[^\S\n]+$/gm, '').replace(/^>$/gm, '> ');
  }

  async close(): Promise<void> {
    await this.#tmux('kill-server').catch(() => {});
    // Programs that end with their terminal may still write.
    await rm(this.home, { recursive: true, force: true, maxRetries: 10 });
  }

  #tmux(...words: readonly string[]): Promise<{ readonly stdout: string }> {
    return run('tmux', ['-S', this.#socket, ...words]);
  }
}
