/**
 * GPIO over the character device, uAPI v2, through our own addon. The kernel debounces, stamps every edge with monotonic time, numbers
 * them (so that a lost one is known), and shows our consumer label in gpioinfo. A line is given back when its file is closed.
 */
import { closeSync, readSync } from 'node:fs';
import { createRequire } from 'node:module';
import { retryable, systemCode } from '../errors/agent-error.ts';
import { once } from '../host/shared-work.ts';
import { Listeners } from '../values/listeners.ts';
import type {
  GpioInput,
  GpioOutput,
  InputRequest,
  LineBias,
  LineDrive,
  LineEdge,
  LineEdges,
  OutputRequest,
} from './gpio-port.ts';
import { hardwareFault } from './linux-faults.ts';
import { gpioAddon as addon, FLAG, holderOf, type LineConfig, withChip } from './linux-gpio-chips.ts';
import { type FoundLine, inWords } from './linux-gpio-lines.ts';

const BIAS_FLAGS: Readonly<Record<LineBias, number>> = {
  'as-is': 0,
  disabled: FLAG.biasDisabled,
  'pull-up': FLAG.pullUp,
  'pull-down': FLAG.pullDown,
};
const DRIVE_FLAGS: Readonly<Record<LineDrive, number>> = {
  'push-pull': 0,
  'open-drain': FLAG.openDrain,
  'open-source': FLAG.openSource,
};
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

interface Epoll {
  add(fd: number, events: number): Epoll;
  remove(fd: number): Epoll;
  close(): void;
}
type EpollClass = (new (
  callback: (error: Error | null, fd: number, events: number) => void,
) => Epoll) & { readonly EPOLLIN: number };

/** @throws AgentError `hardware/gpio-busy`, `hardware/no-permission` or `hardware/gpio-failed` (retry). */
export function openCharacterDeviceInput(deviceFolder: string, line: FoundLine, request: InputRequest): GpioInput {
  const flags =
    FLAG.input |
    (request.activeLow ? FLAG.activeLow : 0) |
    BIAS_FLAGS[request.bias ?? 'as-is'] |
    EDGE_FLAGS[request.edges ?? 'none'];
  const fd = requestLine(deviceFolder, line, {
    flags,
    debounceUs: Math.round((request.debounceMs ?? 0) * 1000),
    level: 0,
  });
  const edges = new Listeners<[LineEdge]>();
  const buffer = Buffer.alloc(EVENT_SIZE * 64);
  let lastSequence = 0;
  let closed = false;
  const epoll = new (loadEpoll())((error) => {
    if (closed) return;
    let length = 0;
    try {
      if (error === null) length = readSync(fd, buffer);
    } catch {
      // The chip is gone: reading says so.
    }
    // A line whose chip was unplugged is readable for ever, and gives nothing; whoever reads its level is told.
    if (length === 0) return void epoll.remove(fd);
    for (let at = 0; at + EVENT_SIZE <= length; at += EVENT_SIZE) {
      const sequence = buffer.readUInt32LE(at + 20);
      const missed = lastSequence === 0 ? sequence - 1 : (sequence - lastSequence - 1) >>> 0;
      lastSequence = sequence;
      const monotonicMs = Number(buffer.readBigUInt64LE(at)) / 1e6;
      edges.tell({ level: buffer.readUInt32LE(at + 8) === RISING ? 1 : 0, monotonicMs, missed });
    }
  });
  if (request.edges !== undefined && request.edges !== 'none') epoll.add(fd, loadEpoll().EPOLLIN);
  return {
    read: async () => guarded(`reading ${inWords(line)}`, () => addon().gpioReadLine(fd)),
    watch: edges.add,
    close: once(async () => {
      closed = true;
      epoll.close();
      closeSync(fd);
    }),
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
    const wasOutput = withChip(
      deviceFolder,
      line.chip.name,
      (chip) => (addon().gpioLineInfo(chip, line.offset).flags & FLAG.output) !== 0,
    );
    fd = requestLine(deviceFolder, line, { flags: polarity, debounceUs: 0, level: 0 });
    guarded(`configuring ${inWords(line)}`, () =>
      addon().gpioConfigureLine(fd, { ...asOutput, level: wasOutput ? addon().gpioReadLine(fd) : 0 }),
    );
  }
  return {
    write: async (level) => guarded(`setting ${inWords(line)}`, () => addon().gpioWriteLine(fd, level)),
    read: async () => guarded(`reading ${inWords(line)}`, () => addon().gpioReadLine(fd)),
    close: once(async () => closeSync(fd)),
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
    throw retryable(
      'hardware/gpio-busy',
      `${words} is held by ${holderOf(deviceFolder, line) ?? 'another program'}`,
      cause,
    );
  }
}

function guarded<T>(what: string, work: () => T): T {
  try {
    return work();
  } catch (cause) {
    throw hardwareFault('gpio', 'hardware/gpio-failed', what, cause);
  }
}

/** onoff's own epoll, so that there is one copy of the native module. */
function loadEpoll(): EpollClass {
  const fromHere = createRequire(import.meta.url);
  return (createRequire(fromHere.resolve('onoff'))('epoll') as { readonly Epoll: EpollClass }).Epoll;
}
