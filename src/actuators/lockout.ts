/**
 * Someone works on the machine: nothing may be set in motion from afar. Held by a file (a technician's `touch`) or a key switch on a GPIO line.
 * A lockout that cannot be read counts as locked.
 */
import type { RpcConfig } from '../config/schema/agent-config.ts';
import { messageOf } from '../errors/agent-error.ts';
import { withinDeadline } from '../hardware/deadline.ts';
import type { GpioInput, GpioPort, Level, LineReference } from '../hardware/gpio-port.ts';
import { withinMs } from '../host/bounded-wait.ts';
import type { Clock } from '../host/clock.ts';
import { type Files, mayBeThereNow } from '../host/files.ts';
import type { Log } from '../host/log.ts';

export interface LockoutDeps {
  readonly settings: RpcConfig['lockout'];
  readonly gpio: GpioPort;
  readonly clock: Clock;
  readonly files: Pick<Files, 'isThereNow'>;
  readonly log: Log;
}

/** Edges tell at once; this finds what an edge missed, and a line that has come back. */
const LOOK_EVERY_MS = 500;
const READ_DEADLINE_MS = 400;

export class Lockout {
  readonly #deps: LockoutDeps;
  #input: GpioInput | undefined;
  /** One at a time, however long the line takes. */
  #opening: Promise<GpioInput> | undefined;
  /** State of the key switch; undefined until it was read, and while it cannot be. */
  #switchOn: boolean | undefined;
  #fault: string | undefined;

  private constructor(deps: LockoutDeps) {
    this.#deps = deps;
  }

  /** Looks at the switch once; `run` keeps looking. */
  static async open(deps: LockoutDeps, signal: AbortSignal): Promise<Lockout> {
    const lockout = new Lockout(deps);
    await lockout.#look(signal);
    return lockout;
  }

  /** Asked before each movement: looks at the file itself, and at the switch as it was just now. */
  get locked(): boolean {
    const { files, settings } = this.#deps;
    const { file, line } = settings;
    // Synchronous: the thread pool may be full of writes to a disk that hangs, and a name that is looked up so often is in the kernel's memory.
    return (line !== undefined && this.#switchOn !== false) || (file !== undefined && mayBeThereNow(files, file));
  }

  /** Keeps looking at the switch until the signal aborts, then gives its line back; never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    while (this.#deps.settings.line !== undefined && !signal.aborted) {
      await this.#look(signal);
      await this.#deps.clock.sleep(LOOK_EVERY_MS, signal);
    }
    await this.#letGo();
  }

  async #look(signal: AbortSignal): Promise<void> {
    const { clock, log, settings } = this.#deps;
    const { line } = settings;
    if (line === undefined) return;
    const look = async (within: AbortSignal): Promise<Level> => {
      const input = this.#input ?? (await withinDeadline(this.#opened(line, within), 'the key switch', within));
      return await withinDeadline(input.read(within), 'the key switch', within);
    };
    try {
      this.#switchOn = (await withinMs(clock, READ_DEADLINE_MS, look, signal)) === 1;
      this.#fault = undefined;
    } catch (error) {
      if (signal.aborted) return;
      this.#switchOn = undefined;
      // A line whose chip was pulled out and is back answers only when it is opened anew.
      void this.#letGo();
      if (this.#fault === undefined)
        log.error({ error: messageOf(error) }, 'the key switch cannot be read: everything is locked out');
      this.#fault = messageOf(error);
    }
  }

  #opened(line: LineReference, signal: AbortSignal): Promise<GpioInput> {
    this.#opening ??= this.#open(line, signal).finally(() => {
      this.#opening = undefined;
    });
    return this.#opening;
  }

  async #open(line: LineReference, signal: AbortSignal): Promise<GpioInput> {
    const { gpio, settings } = this.#deps;
    const input = await gpio.openInput({ line, activeLow: settings.activeLow, edges: 'both' }, signal);
    this.#input = input;
    input.watch(({ level }) => {
      if (this.#input === input) this.#switchOn = level === 1;
    });
    return input;
  }

  async #letGo(): Promise<void> {
    const input = this.#input;
    this.#input = undefined;
    await input?.close().catch(() => {});
  }
}
