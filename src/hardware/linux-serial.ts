/**
 * Serial ports through serialport. An unplugged port gives `close` with `disconnected` and no `error`; from then on it is reopened with
 * backoff until it is back, under the same name. Should the port vanish between two of its reads, serialport 13 sees neither: it reads
 * zero bytes for ever, as fast as it can. So the device file is looked at every second, and a port whose file is gone is closed.
 */

import { stat } from 'node:fs/promises';
import type { SerialPort as NodeSerialPort } from 'serialport';
import { type AgentError, messageOf, retryable, systemCode } from '../errors/agent-error.ts';
import { Backoff } from '../host/backoff.ts';
import type { Clock } from '../host/clock.ts';
import { nativeAddon } from '../host/native-addon.ts';
import { Listeners } from '../values/listeners.ts';
import { answerWithin, withinDeadline } from './deadline.ts';
import { permissionFault } from './linux-faults.ts';
import { isNetworkPort, NetworkSerialPort } from './network-serial.ts';
import { isRfc2217Port, Rfc2217Port } from './rfc2217-serial.ts';
import {
  type Rs485Settings,
  type SerialDescription,
  type SerialPort,
  type SerialPorts,
  type SerialSettings,
  type SerialSpeed,
  unplugged,
} from './serial-port.ts';
import { type TurnQueue, TurnQueues } from './turn-queue.ts';

export interface LinuxSerialDeps {
  readonly clock: Clock;
  /** Loads serialport; tests give a twin. */
  readonly loadNative?: () => Promise<{ readonly SerialPort: typeof NodeSerialPort }>;
}

/** Time between two looks for the device file, as a port may vanish unnoticed. */
const LOOK_EVERY_MS = 1_000;
/** How soon, and at least how often, a lost port is tried again, ms. */
const REOPEN = { firstMs: 250, maxMs: 10_000 };

export class LinuxSerial implements SerialPorts {
  readonly #deps: LinuxSerialDeps;
  readonly #open = new Set<SerialPort>();
  readonly #queues = new TurnQueues();

  constructor(deps: LinuxSerialDeps) {
    this.#deps = deps;
  }

  async open(settings: SerialSettings, signal: AbortSignal): Promise<SerialPort> {
    const port = await this.#opened(settings, signal);
    port.onClosed = () => this.#open.delete(port);
    this.#open.add(port);
    return port;
  }

  async #opened(settings: SerialSettings, signal: AbortSignal): Promise<SerialPort & { onClosed: () => void }> {
    const { clock } = this.#deps;
    if (isRfc2217Port(settings.port)) return await Rfc2217Port.open(settings, clock, signal);
    if (isNetworkPort(settings.port)) return await NetworkSerialPort.open(settings.port, clock, signal);
    return await LinuxSerialPort.open(settings, { ...this.#deps, drains: this.#queues.at(settings.port) }, signal);
  }

  async list(_signal: AbortSignal): Promise<readonly SerialDescription[]> {
    const { SerialPort: Native } = await (this.#deps.loadNative?.() ?? import('serialport'));
    const found = await Native.list().catch((cause: unknown) => {
      const why =
        systemCode(cause) === 'ENOENT'
          ? 'there is no udevadm; install udev, or look for them with ls /dev/tty*'
          : messageOf(cause);
      throw retryable('hardware/serial-failed', `the serial ports cannot be listed: ${why}`, cause);
    });
    return found.map(({ path, manufacturer: maker, pnpId }) => {
      const stablePath = pnpId === undefined ? undefined : `/dev/serial/by-id/${pnpId}`;
      return { path, stablePath, maker };
    });
  }

  async close(): Promise<void> {
    await Promise.all([...this.#open].map((port) => port.close()));
  }
}

interface PortDeps extends LinuxSerialDeps {
  /** Queue of the waits for the last byte: each takes a thread of the pool, for ever when the adapter hangs. */
  readonly drains: TurnQueue;
}

class LinuxSerialPort implements SerialPort {
  readonly path: string;
  onClosed: () => void = () => {};
  readonly #settings: SerialSettings;
  readonly #deps: PortDeps;
  readonly #backoff: Backoff;
  readonly #bytes = new Listeners<[Uint8Array]>();
  readonly #plugs = new Listeners<[boolean, string]>();
  readonly onBytes = this.#bytes.add;
  readonly onPlug = this.#plugs.add;
  readonly #closing = new AbortController();
  #native: NodeSerialPort | undefined;
  /** Settings in force. */
  #speed: Required<SerialSpeed>;
  #isReopening = false;

  static async open(settings: SerialSettings, deps: PortDeps, signal: AbortSignal): Promise<LinuxSerialPort> {
    const port = new LinuxSerialPort(settings, deps);
    const opening = port.#openNative();
    try {
      await withinDeadline(opening, `opening ${settings.port}`, signal);
      return port;
    } catch (error) {
      opening.catch(() => {}).then(() => port.close());
      throw error;
    }
  }

  private constructor(settings: SerialSettings, deps: PortDeps) {
    this.path = settings.port;
    this.#settings = settings;
    this.#speed = speedOf(settings);
    this.#deps = deps;
    this.#backoff = new Backoff(REOPEN, deps.clock);
  }

  get plugged(): boolean {
    return this.#native?.isOpen === true;
  }

  async write(bytes: Uint8Array, signal: AbortSignal): Promise<void> {
    const native = this.#native;
    if (native?.isOpen !== true) throw unplugged(this.path);
    const what = `writing to ${this.path}`;
    const ended = (resolve: () => void, reject: (error: unknown) => void) => (cause?: Error | null) =>
      cause ? reject(retryable('hardware/serial-failed', what, cause)) : resolve();
    await answerWithin<void>((...outcome) => void native.write(bytes, ended(...outcome)), what, signal);
    const drain = (): Promise<void> => new Promise((...outcome) => native.drain(ended(...outcome)));
    await this.#deps.drains.run(drain, { what }, signal);
  }

  async change(speed: SerialSpeed, signal: AbortSignal): Promise<void> {
    const native = this.#native;
    if (native?.isOpen !== true) throw unplugged(this.path);
    const [before, after] = [this.#speed, speedOf(speed)];
    const what = `changing the speed of ${this.path}`;
    const isSameForm = (['dataBits', 'parity', 'stopBits'] as const).every((one) => before[one] === after[one]);
    if (isSameForm && before.baudRate === after.baudRate) return;
    // The binding changes the speed alone of a port that is open.
    if (isSameForm)
      await answerWithin<void>(
        (resolve, reject) =>
          void native.update({ baudRate: after.baudRate }, (cause) =>
            cause ? reject(retryable('hardware/serial-failed', what, cause)) : resolve(),
          ),
        what,
        signal,
      );
    else await withinDeadline(this.#openAgain(native, after), what, signal);
    this.#speed = after;
  }

  async close(): Promise<void> {
    if (this.#closing.signal.aborted) return;
    this.#closing.abort();
    this.onClosed();
    const native = this.#native;
    if (native?.isOpen === true) await new Promise<void>((resolve) => native.close(() => resolve()));
  }

  async #openAgain(native: NodeSerialPort, speed: Required<SerialSpeed>): Promise<void> {
    this.#isReopening = true;
    try {
      await new Promise<void>((resolve) => native.close(() => resolve()));
      await this.#openNative(speed);
    } catch (error) {
      void this.#reopen(this.#closing.signal);
      throw error;
    } finally {
      this.#isReopening = false;
    }
  }

  async #openNative(speed = speedOf(this.#settings)): Promise<void> {
    const { SerialPort: Native } = await (this.#deps.loadNative?.() ?? import('serialport'));
    const { port: path, flowControl = 'none' } = this.#settings;
    const { baudRate, dataBits, stopBits, parity } = speed;
    const flow = {
      rtscts: flowControl === 'hardware',
      xon: flowControl === 'software',
      xoff: flowControl === 'software',
    };
    const native = new Native({ path, baudRate, dataBits, stopBits, parity, ...flow, autoOpen: false });
    await new Promise<void>((resolve, reject) =>
      native.open((error) => (error ? reject(openFault(path, error)) : resolve())),
    );
    if (this.#closing.signal.aborted) return native.close();
    const { rs485 } = this.#settings;
    if (rs485 !== undefined) {
      try {
        turnRound(path, native, rs485);
      } catch (error) {
        await new Promise<void>((resolve) => native.close(() => resolve()));
        throw error;
      }
    }
    // Bytes from before anyone listened are not current; a reading is stamped when it arrives.
    await new Promise<void>((resolve) => native.flush(() => resolve()));
    this.#native = native;
    this.#speed = speed;
    this.#backoff.reset();
    native.on('data', (bytes: Buffer) => this.#bytes.tell(bytes));
    // An error is always followed by close; without a listener it would end the process.
    native.on('error', () => {});
    native.on('close', (error: Error | null) => this.#lost(error));
    void this.#watchFile(native, await fileIdentity(path));
  }

  #lost(error: Error | null): void {
    if (this.#closing.signal.aborted || this.#isReopening) return;
    this.#plugs.tell(false, error === null ? 'closed' : messageOf(error));
    void this.#reopen(this.#closing.signal);
  }

  async #reopen(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#deps.clock.sleep(this.#backoff.nextMs(), signal);
      if (signal.aborted) return;
      const fault: unknown = await this.#openNative().catch((error: unknown) => error);
      if (fault === undefined) return this.#plugs.tell(true, 'back');
    }
  }

  async #watchFile(native: NodeSerialPort, opened: string): Promise<void> {
    while (native.isOpen) {
      await this.#deps.clock.sleep(LOOK_EVERY_MS, this.#closing.signal);
      if (this.#closing.signal.aborted) return;
      if (native.isOpen && (await fileIdentity(this.path)) !== opened) native.close();
    }
  }
}

interface SerialAddon {
  setRs485(fd: number, flags: number, delayBeforeMs: number, delayAfterMs: number): void;
}

/** @throws AgentError `hardware/serial-no-rs485` (retry) where the driver of the port cannot do it. */
function turnRound(path: string, native: NodeSerialPort, settings: Rs485Settings): void {
  const { rtsOnSend, rtsAfterSend, receiveWhileSending, delayBeforeMs, delayAfterMs } = settings;
  // The file descriptor belongs to the Linux binding; serialport's types have that of no system.
  const { fd } = native.port as unknown as { readonly fd: number };
  const flags = Number(rtsOnSend) + 2 * Number(rtsAfterSend) + 4 * Number(receiveWhileSending);
  try {
    nativeAddon<SerialAddon>().setRs485(fd, flags, delayBeforeMs, delayAfterMs);
  } catch (cause) {
    const why = `the driver of ${path} does not turn an RS-485 line round (${systemCode(cause) ?? messageOf(cause)})`;
    throw retryable(
      'hardware/serial-no-rs485',
      `${why}: take rs485 out for a converter that does it by itself, or use a UART that can`,
      cause,
    );
  }
}

function speedOf({ baudRate, dataBits = 8, stopBits = 1, parity = 'none' }: SerialSpeed): Required<SerialSpeed> {
  return { baudRate, dataBits, stopBits, parity };
}

/** Returns which device is behind the path now; links are followed. */
async function fileIdentity(path: string): Promise<string> {
  const found = await stat(path).catch(() => undefined);
  return found === undefined ? 'gone' : `${found.rdev}/${found.ino}`;
}

function openFault(path: string, cause: Error): AgentError {
  // The bindings put the errno name only into the text ("Error: No such file or directory, cannot open /dev/x").
  const text = messageOf(cause);
  if (/No such file/i.test(text))
    return retryable(
      'hardware/serial-no-port',
      `there is no serial port ${path}; 'turnstone scan serial' lists them`,
      cause,
    );
  if (/busy|lock/i.test(text)) return retryable('hardware/serial-busy', `${path} is used by another program`, cause);
  const denied = /Permission denied/i.test(text) ? Object.assign(new Error(text), { code: 'EACCES' }) : cause;
  const name = systemCode(cause);
  return (
    permissionFault('serial', `opening ${path}`, denied) ??
    retryable('hardware/serial-failed', `opening ${path}${name === undefined ? '' : ` (${name})`}: ${text}`, cause)
  );
}
