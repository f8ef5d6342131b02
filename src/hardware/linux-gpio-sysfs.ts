/**
 * GPIO over sysfs, through onoff. It knows no bias, no kernel debounce and no time stamps, and merges edges that come faster than the
 * event loop; a line that another process exported is taken over, because that is also what our own crash leaves behind.
 */
import { closeSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Edge, Gpio, Options } from 'onoff';
import { retryable, systemCode } from '../errors/agent-error.ts';
import type { Clock } from '../host/clock.ts';
import type { GpioInput, GpioOutput, InputRequest, Level, LineEdge, OutputRequest } from './gpio-port.ts';
import { hardwareFault } from './linux-faults.ts';
import { type FoundLine, inWords } from './linux-gpio-lines.ts';
import type { TurnQueues, TurnRank } from './turn-queue.ts';

export interface SysfsGpioDeps {
  readonly clock: Clock;
  /** Returns the consumer of a line, where the character device knows it. */
  readonly holderOf: (line: FoundLine) => Promise<string | undefined>;
  /** By the chip's name: the lines of an expander hang together. */
  readonly queues: TurnQueues;
  /** Loads onoff; tests give a twin. */
  readonly loadOnoff?: () => Promise<{ readonly Gpio: typeof Gpio }>;
}

/** @throws AgentError `hardware/gpio-busy`, `hardware/no-permission`, `hardware/gpio-failed` or `hardware/deadline` (retry). */
export async function openSysfsInput(
  line: FoundLine,
  request: InputRequest,
  deps: SysfsGpioDeps,
  signal: AbortSignal,
): Promise<GpioInput> {
  const options = { activeLow: request.activeLow ?? false, debounceTimeout: request.debounceMs ?? 0 };
  const opened = await exported(line, deps, ['in', request.edges ?? 'none', options], signal);
  const { gpio } = opened;
  return {
    read: opened.read,
    watch: (listener) => {
      const report = (error: Error | null | undefined, level: Level): void => {
        if (!error && !opened.isClosed())
          listener({ level, monotonicMs: deps.clock.monotonicMs(), missed: 0 } satisfies LineEdge);
      };
      gpio.watch(report);
      return () => {
        if (!opened.isClosed()) gpio.unwatch(report);
      };
    },
    // Beneath a read that hangs, the kernel would hold the whole event loop until it ends.
    close: () => opened.close(() => gpio.unexport()),
  };
}

/** @throws the same as openSysfsInput. */
export async function openSysfsOutput(
  line: FoundLine,
  request: OutputRequest,
  deps: SysfsGpioDeps,
  signal: AbortSignal,
): Promise<GpioOutput> {
  const activeLow = request.activeLow ?? false;
  // The kernel takes "high" and "low" as physical levels, whatever active_low says.
  const first = (request.initial === 1) !== activeLow ? 'high' : 'low';
  const options = { activeLow, reconfigureDirection: request.initial !== 'keep' };
  const { gpio, read, inTurn, close } = await exported(line, deps, [first, 'none', options], signal);
  return {
    write: (level, writeSignal) =>
      inTurn('setting', () => gpio.write(level), writeSignal, level === 0 ? 'off' : 'movement'),
    read,
    // unexport() would free the line, and many drivers then make it an input: a relay would drop when the agent restarts.
    // It has no other way to close the file alone; the type leaves the field out.
    close: () => close(() => closeSync((gpio as unknown as { readonly _valueFd: number })._valueFd)),
  };
}

/** Returns the number by which sysfs knows a line. */
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
  const text = async (file: string): Promise<string> =>
    (await readFile(join(classFolder, `gpio${number}`, file), 'utf8')).trim();
  try {
    const [direction, value, activeLow] = [await text('direction'), await text('value'), await text('active_low')];
    await writeFile(join(classFolder, 'unexport'), String(number));
    return { direction: direction === 'out' ? 'out' : 'in', level: value === activeLow ? 0 : 1 };
  } catch {
    return undefined;
  }
}

/** An exported line: whatever is done with it waits its turn, and it is closed once. */
async function exported(
  line: FoundLine,
  deps: SysfsGpioDeps,
  [direction, edge, options]: [direction: 'in' | 'high' | 'low', edge: Edge, options: Options],
  signal: AbortSignal,
) {
  const words = inWords(line);
  const queue = deps.queues.at(line.chip.name);
  const { Gpio: OnoffGpio } = await (deps.loadOnoff?.() ?? import('onoff'));
  const open = async (): Promise<Gpio> => {
    const gpio = new OnoffGpio(sysfsNumber(line), direction, edge, options);
    const wanted = direction === 'in' ? 'in' : 'out';
    // onoff swallows failures on lines that were exported before.
    if (gpio.direction() !== wanted) throw retryable('hardware/gpio-failed', `${words} cannot be made an ${wanted}put`);
    return gpio;
  };
  const gpio = await queue
    .run(open, { what: `opening ${words}`, rank: 'movement' }, signal)
    .catch(async (cause: unknown) => {
      if (systemCode(cause) !== 'EBUSY') throw hardwareFault('gpio', 'hardware/gpio-failed', `opening ${words}`, cause);
      const holder = await deps.holderOf(line);
      throw retryable(
        'hardware/gpio-busy',
        `${words} is held by ${holder ?? 'a kernel driver or another program'}`,
        cause,
      );
    });
  const inTurn = <T>(
    doing: string,
    work: () => Promise<T>,
    turnSignal: AbortSignal,
    rank: TurnRank = 'reading',
  ): Promise<T> => {
    const what = `${doing} ${words}`;
    const act = (): Promise<T> =>
      work().catch((cause: unknown) => {
        throw hardwareFault('gpio', 'hardware/gpio-failed', what, cause);
      });
    return queue.run(act, { what, rank }, turnSignal);
  };
  let isClosed = false;
  return {
    gpio,
    inTurn,
    read: (readSignal: AbortSignal): Promise<Level> => inTurn('reading', () => gpio.read(), readSignal),
    isClosed: () => isClosed,
    close: async (end: () => void): Promise<void> => {
      if (isClosed) return;
      isClosed = true;
      await queue.runAtLast(async () => end(), `closing ${words}`);
    },
  };
}
