/**
 * GPIO over sysfs, through onoff. It knows no bias, no kernel debounce and no time stamps, and merges edges that come faster than the
 * event loop; a line that another process exported is taken over, because that is also what our own crash leaves behind.
 */
import { closeSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Gpio } from 'onoff';
import { retryable, systemCode } from '../errors.ts';
import type { Clock } from '../host/clock.ts';
import type { GpioInput, GpioOutput, InputRequest, Level, LineEdge, OutputRequest } from './gpio-port.ts';
import { hardwareFault } from './linux-faults.ts';
import { type FoundLine, inWords } from './linux-gpio-lines.ts';
import type { TurnQueues } from './turn-queue.ts';

export interface SysfsGpioDeps {
  readonly clock: Clock;
  /** Who holds a line, when something better than debugfs knows. */
  readonly holderOf: (line: FoundLine) => Promise<string | undefined>;
  /** By the chip's name: the lines of an expander hang together. */
  readonly queues: TurnQueues;
  /** Loads onoff; tests give a twin. */
  readonly loadOnoff?: () => Promise<{ readonly Gpio: typeof Gpio }>;
}

const DEBUG_FILE = '/sys/kernel/debug/gpio';

/** @throws AgentError `hardware/gpio-busy`, `hardware/no-permission`, `hardware/gpio-failed` or `hardware/deadline` (retry). */
export async function openSysfsInput(line: FoundLine, request: InputRequest, deps: SysfsGpioDeps, signal: AbortSignal): Promise<GpioInput> {
  const { Gpio: OnoffGpio } = await (deps.loadOnoff ?? loadOnoff)();
  const options = { activeLow: request.activeLow ?? false, debounceTimeout: request.debounceMs ?? 0 };
  const open = (number: number): Gpio => new OnoffGpio(number, 'in', request.edges ?? 'none', options);
  const gpio = await exported(line, deps, { direction: 'in', open }, signal);
  const words = inWords(line);
  let closed = false;
  const queue = deps.queues.at(line.chip.name);
  return {
    read: (readSignal) =>
      queue.run(() => gpio.read().catch((cause: unknown) => failed(`reading ${words}`, cause)), { what: `reading ${words}` }, readSignal),
    watch: (listener) => {
      const report = (error: Error | null | undefined, level: Level): void => {
        if (!error && !closed) listener({ level, monotonicMs: deps.clock.monotonicMs(), missed: 0 } satisfies LineEdge);
      };
      gpio.watch(report);
      return () => {
        if (!closed) gpio.unwatch(report);
      };
    },
    close: async () => {
      if (closed) return;
      closed = true;
      // Beneath a read that hangs, the kernel would hold the whole event loop until it ends.
      await queue.runAtLast(async () => gpio.unexport(), `closing ${words}`);
    },
  };
}

/** @throws the same as openSysfsInput. */
export async function openSysfsOutput(
  line: FoundLine,
  request: OutputRequest,
  deps: SysfsGpioDeps,
  signal: AbortSignal,
): Promise<GpioOutput> {
  const { Gpio: OnoffGpio } = await (deps.loadOnoff ?? loadOnoff)();
  const activeLow = request.activeLow ?? false;
  // The kernel takes "high" and "low" as physical levels, whatever active_low says.
  const active = request.initial === 1;
  const first = active !== activeLow ? 'high' : 'low';
  const options = { activeLow, reconfigureDirection: request.initial !== 'keep' };
  const open = (number: number): Gpio => new OnoffGpio(number, first, 'none', options);
  const gpio = await exported(line, deps, { direction: 'out', open }, signal);
  const words = inWords(line);
  let closed = false;
  const queue = deps.queues.at(line.chip.name);
  return {
    write: (level, writeSignal) =>
      queue.run(
        () => gpio.write(level).catch((cause: unknown) => failed(`setting ${words}`, cause)),
        { what: `setting ${words}`, rank: level === 0 ? 'off' : 'movement' },
        writeSignal,
      ),
    read: (readSignal) =>
      queue.run(() => gpio.read().catch((cause: unknown) => failed(`reading ${words}`, cause)), { what: `reading ${words}` }, readSignal),
    close: async () => {
      if (closed) return;
      closed = true;
      // unexport() would free the line, and many drivers then make it an input: a relay would drop when the agent restarts.
      // It has no other way to close the file alone; the type leaves the field out.
      await queue.runAtLast(async () => closeSync((gpio as unknown as { readonly _valueFd: number })._valueFd), `closing ${words}`);
    },
  };
}

/** What sysfs knows a line as. */
export function sysfsNumber({ chip, offset }: FoundLine): number {
  return (chip.base ?? 0) + offset;
}

/** A line that somebody exported and that no longer has a user. */
export interface Leftover {
  readonly direction: 'in' | 'out';
  /** Physical. */
  readonly level: Level;
}

/** Unexports a line; undefined when it is not exported or cannot be. sysfs does not know who exported it: an agent that crashed, or a script. */
export async function unexportLeftover(classFolder: string, number: number): Promise<Leftover | undefined> {
  const text = async (file: string): Promise<string> => (await readFile(join(classFolder, `gpio${number}`, file), 'utf8')).trim();
  try {
    const [direction, value, activeLow] = [await text('direction'), await text('value'), await text('active_low')];
    await writeFile(join(classFolder, 'unexport'), String(number));
    return { direction: direction === 'out' ? 'out' : 'in', level: value === activeLow ? 0 : 1 };
  } catch {
    return undefined;
  }
}

interface Export {
  readonly direction: 'in' | 'out';
  readonly open: (number: number) => Gpio;
}

async function exported(line: FoundLine, deps: SysfsGpioDeps, { direction, open }: Export, signal: AbortSignal): Promise<Gpio> {
  const words = inWords(line);
  const work = async (): Promise<Gpio> => {
    const gpio = open(sysfsNumber(line));
    // onoff swallows failures on lines that were exported before.
    if (gpio.direction() !== direction) throw retryable('hardware/gpio-failed', `${words} cannot be made an ${direction}put`);
    return gpio;
  };
  try {
    return await deps.queues.at(line.chip.name).run(work, { what: `opening ${words}`, rank: 'movement' }, signal);
  } catch (cause) {
    if (systemCode(cause) !== 'EBUSY') throw hardwareFault('gpio', 'hardware/gpio-failed', `opening ${words}`, cause);
    const holder = (await deps.holderOf(line)) ?? (await debugHolder(sysfsNumber(line)));
    throw retryable('hardware/gpio-busy', `${words} is held by ${holder ?? 'a kernel driver or another program'}`, cause);
  }
}

/** The holder as debugfs shows it (root only): ` gpio-529 (GPIO17  |led0  ) out lo`. */
async function debugHolder(number: number): Promise<string | undefined> {
  const text = await readFile(DEBUG_FILE, 'utf8').catch(() => '');
  return new RegExp(`^\\s*gpio-${number} +\\([^|]*\\|([^)]*?) *\\)`, 'm').exec(text)?.[1];
}

function failed(what: string, cause: unknown): never {
  throw hardwareFault('gpio', 'hardware/gpio-failed', what, cause);
}

async function loadOnoff(): Promise<{ readonly Gpio: typeof Gpio }> {
  return await import('onoff');
}
