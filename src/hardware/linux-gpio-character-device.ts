/**
 * GPIO over the character device, uAPI v2, through our own addon. The kernel debounces, stamps every edge with monotonic time, numbers
 * them (so that a lost one is known), and shows our consumer label in gpioinfo. A line is given back when its file is closed.
 */
import { closeSync, constants, openSync, readdirSync, readSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { AgentError, systemCode } from '../errors.ts';
import { nativeAddon } from '../host/native-addon.ts';
import type {
  GpioInput,
  GpioOutput,
  InputRequest,
  LineBias,
  LineDescription,
  LineDrive,
  LineEdge,
  LineEdges,
  OutputRequest,
} from './gpio-port.ts';
import { hardwareFault } from './linux-faults.ts';
import type { FoundLine, GpioChip } from './linux-gpio-lines.ts';

/** GPIO_V2_LINE_FLAG_* of include/uapi/linux/gpio.h. */
const FLAG = {
  used: 1,
  activeLow: 2,
  input: 4,
  output: 8,
  rising: 16,
  falling: 32,
  openDrain: 64,
  openSource: 128,
  pullUp: 256,
  pullDown: 512,
  biasDisabled: 1024,
} as const;
const BIAS_FLAGS: Readonly<Record<LineBias, number>> = {
  'as-is': 0,
  disabled: FLAG.biasDisabled,
  'pull-up': FLAG.pullUp,
  'pull-down': FLAG.pullDown,
};
const DRIVE_FLAGS: Readonly<Record<LineDrive, number>> = { 'push-pull': 0, 'open-drain': FLAG.openDrain, 'open-source': FLAG.openSource };
const EDGE_FLAGS: Readonly<Record<LineEdges, number>> = {
  none: 0,
  rising: FLAG.rising,
  falling: FLAG.falling,
  both: FLAG.rising | FLAG.falling,
};

/** struct gpio_v2_line_event: u64 time stamp in ns, u32 id (1 rising, 2 falling), offset, seqno, line_seqno, 24 bytes of padding. */
const EVENT_SIZE = 48;
const RISING = 1;
/** Edges the kernel keeps while the event loop is busy: 5 s of 200 a second. */
const EVENT_BUFFER = 1024;
const CONSUMER = 'turnstone';

interface LineConfig {
  readonly flags: number;
  readonly debounceUs: number;
  readonly level: number;
}

interface GpioAddon {
  gpioChipInfo(chipFd: number): { readonly name: string; readonly label: string; readonly lines: number };
  gpioLineInfo(chipFd: number, offset: number): { readonly name: string; readonly consumer: string; readonly flags: number };
  gpioRequestLine(
    chipFd: number,
    request: LineConfig & { readonly offset: number; readonly consumer: string; readonly eventBuffer: number },
  ): number;
  gpioConfigureLine(lineFd: number, config: LineConfig): void;
  gpioReadLine(lineFd: number): 0 | 1;
  gpioWriteLine(lineFd: number, level: number): void;
}

interface Epoll {
  add(fd: number, events: number): Epoll;
  remove(fd: number): Epoll;
  close(): void;
}
type EpollClass = (new (callback: (error: Error | null, fd: number, events: number) => void) => Epoll) & { readonly EPOLLIN: number };

/** The chips under /dev that this user may open. */
export function readCharacterDeviceChips(deviceFolder: string): readonly GpioChip[] {
  return chipNames(deviceFolder).flatMap((name) => {
    try {
      return withChip(deviceFolder, name, (fd) => {
        const { label, lines } = addon().gpioChipInfo(fd);
        const lineNames = Array.from({ length: lines }, (_, offset) => addon().gpioLineInfo(fd, offset).name);
        return [{ name, aliases: [], label, lines, lineNames }];
      });
    } catch {
      return []; // Without permission for one chip the others are still of use; opening a line on it names the reason.
    }
  });
}

/** Every line of a chip, with who holds it. */
export function describeLines(deviceFolder: string, chip: GpioChip): readonly LineDescription[] {
  return withChip(deviceFolder, chip.name, (fd) =>
    Array.from({ length: chip.lines }, (_, offset) => {
      const { name, consumer, flags } = addon().gpioLineInfo(fd, offset);
      const holder = flags & FLAG.used ? consumer || 'the kernel' : undefined;
      return {
        chip: chip.name,
        label: chip.label,
        offset,
        ...(name && { name }),
        ...(holder && { holder }),
        direction: flags & FLAG.output ? 'out' : 'in',
      };
    }),
  );
}

/** Who holds a line, or undefined when nobody does or the chip cannot be asked. */
export function holderOf(deviceFolder: string, line: FoundLine): string | undefined {
  try {
    return withChip(deviceFolder, line.chip.name, (fd) => {
      const { consumer, flags } = addon().gpioLineInfo(fd, line.offset);
      return flags & FLAG.used ? consumer || 'a kernel driver' : undefined;
    });
  } catch {
    return undefined;
  }
}

/** @throws AgentError `hardware/gpio-busy`, `hardware/no-permission` or `hardware/gpio-failed` (retry). */
export function openCharacterDeviceInput(deviceFolder: string, line: FoundLine, request: InputRequest): GpioInput {
  const flags =
    FLAG.input | (request.activeLow ? FLAG.activeLow : 0) | BIAS_FLAGS[request.bias ?? 'as-is'] | EDGE_FLAGS[request.edges ?? 'none'];
  const fd = requestLine(deviceFolder, line, { flags, debounceUs: Math.round((request.debounceMs ?? 0) * 1000), level: 0 });
  const watchers = new Set<(edge: LineEdge) => void>();
  const buffer = Buffer.alloc(EVENT_SIZE * 64);
  let lastSequence = 0;
  let closed = false;
  const epoll = new (loadEpoll())((error) => {
    if (error !== null || closed) return;
    const length = readSync(fd, buffer);
    for (let at = 0; at + EVENT_SIZE <= length; at += EVENT_SIZE) {
      const sequence = buffer.readUInt32LE(at + 20);
      const missed = lastSequence === 0 ? sequence - 1 : (sequence - lastSequence - 1) >>> 0;
      lastSequence = sequence;
      const edge: LineEdge = {
        level: buffer.readUInt32LE(at + 8) === RISING ? 1 : 0,
        monotonicMs: Number(buffer.readBigUInt64LE(at)) / 1e6,
        missed,
      };
      for (const watcher of watchers) watcher(edge);
    }
  });
  if (request.edges !== undefined && request.edges !== 'none') epoll.add(fd, loadEpoll().EPOLLIN);
  return {
    read: async () => guarded(`reading ${inWords(line)}`, () => addon().gpioReadLine(fd)),
    watch: (listener) => {
      watchers.add(listener);
      return () => watchers.delete(listener);
    },
    close: async () => {
      if (closed) return;
      closed = true;
      epoll.close();
      closeSync(fd);
    },
  };
}

/** @throws the same as openCharacterDeviceInput. */
export function openCharacterDeviceOutput(deviceFolder: string, line: FoundLine, request: OutputRequest): GpioOutput {
  const polarity = request.activeLow ? FLAG.activeLow : 0;
  const asOutput = { flags: FLAG.output | polarity | DRIVE_FLAGS[request.drive ?? 'push-pull'], debounceUs: 0 };
  let fd: number;
  if (request.initial !== 'keep') fd = requestLine(deviceFolder, line, { ...asOutput, level: request.initial });
  else {
    // Held as it is first, so that a line that is an output already can be read before it is configured.
    const wasOutput = withChip(deviceFolder, line.chip.name, (chip) => (addon().gpioLineInfo(chip, line.offset).flags & FLAG.output) !== 0);
    fd = requestLine(deviceFolder, line, { flags: polarity, debounceUs: 0, level: 0 });
    guarded(`configuring ${inWords(line)}`, () =>
      addon().gpioConfigureLine(fd, { ...asOutput, level: wasOutput ? addon().gpioReadLine(fd) : 0 }),
    );
  }
  let closed = false;
  return {
    write: async (level) => guarded(`setting ${inWords(line)}`, () => addon().gpioWriteLine(fd, level)),
    read: async () => guarded(`reading ${inWords(line)}`, () => addon().gpioReadLine(fd)),
    close: async () => {
      if (closed) return;
      closed = true;
      closeSync(fd);
    },
  };
}

function requestLine(deviceFolder: string, line: FoundLine, config: LineConfig): number {
  const words = inWords(line);
  try {
    return withChip(deviceFolder, line.chip.name, (fd) =>
      addon().gpioRequestLine(fd, { ...config, offset: line.offset, consumer: CONSUMER, eventBuffer: EVENT_BUFFER }),
    );
  } catch (cause) {
    if (systemCode(cause) !== 'EBUSY') throw hardwareFault('gpio', 'hardware/gpio-failed', `opening ${words}`, cause);
    throw new AgentError('hardware/gpio-busy', `${words} is held by ${holderOf(deviceFolder, line) ?? 'another program'}`, {
      recovery: 'retry',
      cause,
    });
  }
}

function chipNames(deviceFolder: string): readonly string[] {
  try {
    return readdirSync(deviceFolder)
      .filter((name) => /^gpiochip\d+$/.test(name))
      .sort((a, b) => Number(a.slice(8)) - Number(b.slice(8)));
  } catch {
    return [];
  }
}

function withChip<T>(deviceFolder: string, name: string, use: (fd: number) => T): T {
  const fd = openSync(join(deviceFolder, name), constants.O_RDWR);
  try {
    return use(fd);
  } finally {
    closeSync(fd);
  }
}

function guarded<T>(what: string, work: () => T): T {
  try {
    return work();
  } catch (cause) {
    throw hardwareFault('gpio', 'hardware/gpio-failed', what, cause);
  }
}

function inWords(line: FoundLine): string {
  const name = line.chip.lineNames[line.offset];
  return `GPIO line ${line.offset} of ${line.chip.label}${name ? ` (${name})` : ''}`;
}

const addon = (): GpioAddon => nativeAddon<GpioAddon>();

/** onoff's own epoll, so that there is one copy of the native module. */
function loadEpoll(): EpollClass {
  const fromHere = createRequire(import.meta.url);
  return (createRequire(fromHere.resolve('onoff'))('epoll') as { readonly Epoll: EpollClass }).Epoll;
}
