/**
 * Serial ports behind a device server that takes their settings from here (`rfc2217://host:4001`): speed, parity and length are set when the
 * connection is made and whenever it comes back, and may change while it is open.
 */
import { messageOf, retryable } from '../errors/agent-error.ts';
import { withinMs } from '../host/bounded-wait.ts';
import type { Clock } from '../host/clock.ts';
import { Listeners } from '../values/listeners.ts';
import { withinDeadline } from './deadline.ts';
import { NetworkSerialPort } from './network-serial.ts';
import { type SerialPort, type SerialSettings, type SerialSpeed, unplugged } from './serial-port.ts';
import { escaped, greeting, order, settingsOf, TelnetLine } from './telnet-line.ts';

/** Timeout of an answer: a server that sends none does not know the option. */
const ANSWER_MS = 5_000;

/** True when the settings of a port are set over the network. */
export function isRfc2217Port(port: string): boolean {
  return port.startsWith('rfc2217://');
}

export class Rfc2217Port implements SerialPort {
  readonly path: string;
  onClosed: () => void = () => {};
  readonly #raw: NetworkSerialPort;
  readonly #settings: SerialSettings;
  readonly #clock: Clock;
  readonly #bytes = new Listeners<[Uint8Array]>();
  readonly #plugs = new Listeners<[boolean, string]>();
  readonly onBytes = this.#bytes.add;
  readonly onPlug = this.#plugs.add;
  /** Settings that the server has confirmed, by the number of their order. */
  readonly #confirmed = new Map<number, number>();
  readonly #closing = new AbortController();
  #line: TelnetLine;
  #isKnown: boolean | undefined;
  #isReady = false;
  #told = Promise.withResolvers<void>();

  /** @throws AgentError as NetworkSerialPort.open; `hardware/serial-failed` (retry) for a server without the option. */
  static async open(settings: SerialSettings, clock: Clock, signal: AbortSignal): Promise<Rfc2217Port> {
    const raw = await NetworkSerialPort.open(settings.port, clock, signal);
    const port = new Rfc2217Port(raw, settings, clock);
    try {
      await port.#greet(signal);
      return port;
    } catch (error) {
      await port.close();
      throw error;
    }
  }

  private constructor(raw: NetworkSerialPort, settings: SerialSettings, clock: Clock) {
    this.path = settings.port;
    this.#raw = raw;
    this.#settings = settings;
    this.#clock = clock;
    this.#line = this.#newLine();
    raw.onBytes((bytes) => {
      const plain = this.#line.take(bytes);
      if (plain.length > 0) this.#bytes.tell(plain);
    });
    raw.onPlug((plugged, reason) => void this.#plug(plugged, reason));
  }

  get plugged(): boolean {
    return this.#raw.plugged && this.#isReady;
  }

  get outage(): string | undefined {
    return this.#raw.outage;
  }

  async write(bytes: Uint8Array, signal: AbortSignal): Promise<void> {
    if (!this.plugged) throw unplugged(this.path, this.#raw.outage);
    await this.#raw.write(escaped(bytes), signal);
  }

  /** @throws AgentError `hardware/serial-failed` (retry) for settings that the server does not take. */
  async change(speed: SerialSpeed, signal: AbortSignal): Promise<void> {
    const wanted = settingsOf(speed);
    const missing = (): readonly [number, number][] =>
      [...wanted].filter(([setting, value]) => this.#confirmed.get(setting) !== value);
    const orders = missing();
    for (const [setting, value] of orders) {
      this.#confirmed.delete(setting);
      await this.#raw.write(order(setting, value), signal);
    }
    await this.#until(() => orders.every(([setting]) => this.#confirmed.has(setting)), signal);
    const verb = orders.every(([setting]) => this.#confirmed.has(setting)) ? 'take' : 'confirm';
    if (missing().length > 0)
      throw retryable(
        'hardware/serial-failed',
        `the device server at ${this.path} does not ${verb} ${speed.baudRate} baud with ${speed.dataBits ?? 8} bits and parity ${speed.parity ?? 'none'}`,
      );
  }

  async close(): Promise<void> {
    if (this.#closing.signal.aborted) return;
    this.#closing.abort();
    this.onClosed();
    await this.#raw.close();
  }

  async #greet(signal: AbortSignal): Promise<void> {
    await this.#raw.write(greeting(), signal);
    await this.#until(() => this.#isKnown !== undefined, signal);
    if (this.#isKnown !== true)
      throw retryable(
        'hardware/serial-failed',
        `the device server at ${this.path} does not take settings (RFC 2217): switch that on, or write tcp:// and set the line in the server`,
      );
    await this.change(this.#settings, signal);
    this.#isReady = true;
  }

  async #plug(plugged: boolean, reason: string): Promise<void> {
    const { signal } = this.#closing;
    const wasReady = this.#isReady;
    this.#isReady = false;
    if (!plugged) return wasReady ? this.#plugs.tell(false, reason) : undefined;
    this.#confirmed.clear();
    this.#isKnown = undefined;
    this.#line = this.#newLine();
    // A connection without its settings is of no use. The server may take them on the next one.
    await this.#greet(signal).then(
      () => this.#plugs.tell(true, reason),
      (error: unknown) => this.#raw.drop(messageOf(error)),
    );
  }

  #newLine(): TelnetLine {
    return new TelnetLine({
      onOption: (isKnown) => {
        this.#isKnown = isKnown;
        this.#tell();
      },
      onSetting: (setting, value) => {
        this.#confirmed.set(setting, value);
        this.#tell();
      },
      onAnswer: (bytes) => void this.#raw.write(bytes, this.#closing.signal).catch(() => {}),
    });
  }

  #tell(): void {
    this.#told.resolve();
    this.#told = Promise.withResolvers();
  }

  /** Resolves when the condition holds, or when the server takes too long. */
  async #until(condition: () => boolean, signal: AbortSignal): Promise<void> {
    const wait = async (inner: AbortSignal): Promise<void> => {
      while (!condition()) await withinDeadline(this.#told.promise, `waiting for ${this.path}`, inner);
    };
    await withinMs(this.#clock, ANSWER_MS, wait, signal).catch((error: unknown) => {
      if (signal.aborted) throw error;
    });
  }
}
