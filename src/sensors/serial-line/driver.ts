/**
 * A sensor that prints lines on a serial port. Without `request` it speaks by itself and every line is a reading; with it, each read sends
 * the request and takes the first good line that follows. Lines that are garbage are counted and passed over, and so is a line whose beginning
 * was not heard, as the port was opened or plugged in while it came: `23.5` without its first byte is a number too. After a silence it was.
 */
import { messageOf } from '../../errors.ts';
import { withinDeadline } from '../../hardware/deadline.ts';
import type { SerialPort } from '../../hardware/serial-port.ts';
import type { Clock } from '../../host/clock.ts';
import { lineParser } from '../families/lines/line-format.ts';
import { LineSplitter } from '../families/lines/line-splitter.ts';
import { sorted } from '../outcome.ts';
import type { Reading, Refusal, Sensor } from '../sensor.ts';
import type { SensorDeps } from '../sensor-deps.ts';
import { sensorFault } from '../sensor-fault.ts';
import type { SerialLineConfig } from './definition.ts';

/**
 * No sender stops for so long within a line: what comes after such a silence begins one, and a sensor that speaks once an hour loses nothing.
 * Waited for in two parts, so that a process that was held up hears what came meanwhile before it takes it for silence.
 */
const SILENCE_MS = 1_000;
/** By then the rest of an answer to whoever asked before us has come, at 300 baud too. */
const QUIET_MS = 100;

export async function open(config: SerialLineConfig, { ports, clock, log }: SensorDeps, signal: AbortSignal): Promise<Sensor> {
  const port = await ports.serial.open(config, signal);
  const lines = new SerialLines(config, port, clock);
  lines.onGarbage((count, problem) => log.debug({ sensor: config.name, count, problem }, 'a line that could not be read'));
  const { request } = config;
  return request === undefined ? new Listener(config, lines, () => clock.monotonicMs()) : new Asker(config, lines, { request, clock });
}

/** The port's bytes as readings. */
class SerialLines {
  readonly port: SerialPort;
  readonly #listeners = new Set<(readings: readonly Reading[]) => void>();
  readonly #splitter: LineSplitter;
  readonly #clock: Clock;
  #listening = new AbortController();
  #onGarbage: (count: number, problem: string) => void = () => {};
  /** Since the last good line. */
  garbage = 0;
  /** What the last good line had no value for. */
  refused: readonly Refusal[] = [];

  constructor(config: SerialLineConfig, port: SerialPort, clock: Clock) {
    this.port = port;
    this.#clock = clock;
    const parse = lineParser(config);
    this.#splitter = new LineSplitter({
      delimiter: config.delimiter,
      longest: config.maxLineBytes,
      onLine: (line) => this.#take(parse, line),
      onTooLong: () => this.#count('longer than maxLine'),
    });
    port.onBytes((bytes) => this.#splitter.take(bytes));
    port.onPlug(() => {
      this.#splitter.reset();
      void this.#hearSilence();
    });
    void this.#hearSilence();
  }

  onReadings(listener: (readings: readonly Reading[]) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  onGarbage(listener: (count: number, problem: string) => void): void {
    this.#onGarbage = listener;
  }

  /** Whether nothing was heard since the port was opened or plugged in. */
  get isSilent(): boolean {
    return this.#splitter.isSilent;
  }

  /** The sender speaks only when asked, and is asked now. */
  expectLine(): void {
    this.#splitter.expectLine();
  }

  /** Why nothing came, in words. */
  silence(): string {
    if (!this.port.plugged) return `${this.port.path} is unplugged`;
    return this.garbage > 0
      ? `${this.garbage} lines came on ${this.port.path}, and none could be read (baud rate? format?)`
      : `nothing comes on ${this.port.path}`;
  }

  close(): Promise<void> {
    this.#listening.abort();
    return this.port.close();
  }

  async #hearSilence(): Promise<void> {
    this.#listening.abort();
    this.#listening = new AbortController();
    const { signal } = this.#listening;
    await this.#clock.sleep(SILENCE_MS / 2, signal);
    await this.#clock.sleep(SILENCE_MS / 2, signal);
    if (!signal.aborted && this.port.plugged) this.#splitter.expectLine();
  }

  #take(parse: ReturnType<typeof lineParser>, line: string): void {
    if (line.trim() === '') return;
    let readings: readonly Reading[];
    try {
      const given = sorted(parse(line));
      readings = given.readings;
      this.refused = given.refused;
    } catch (error) {
      this.#count(messageOf(error));
      return;
    }
    this.garbage = 0;
    for (const listener of this.#listeners) listener(readings);
  }

  #count(problem: string): void {
    this.garbage += 1;
    this.#onGarbage(this.garbage, problem);
  }
}

class Listener implements Sensor {
  readonly name: string;
  readonly speaksByItself = true;
  readonly #lines: SerialLines;
  readonly #monotonicMs: () => number;
  /** A sensor that says nothing for this long is reported: its period, and its deadline on top. */
  readonly #patienceMs: number;
  #last: readonly Reading[] = [];
  #lastAtMs: number;

  constructor({ name, periodMs, deadlineMs }: SerialLineConfig, lines: SerialLines, monotonicMs: () => number) {
    this.name = name;
    this.#lines = lines;
    this.#monotonicMs = monotonicMs;
    this.#patienceMs = periodMs + deadlineMs;
    this.#lastAtMs = monotonicMs();
    lines.onReadings((readings) => {
      this.#last = readings;
      this.#lastAtMs = monotonicMs();
    });
  }

  async read(): Promise<readonly Reading[]> {
    const silentMs = this.#monotonicMs() - this.#lastAtMs;
    if (silentMs > this.#patienceMs || !this.#lines.port.plugged) throw sensorFault('silent', this.#lines.silence());
    return this.#last;
  }

  refused(): readonly Refusal[] {
    return this.#lines.refused;
  }

  subscribe(listener: (readings: readonly Reading[]) => void): () => void {
    return this.#lines.onReadings(listener);
  }

  close(): Promise<void> {
    return this.#lines.close();
  }
}

class Asker implements Sensor {
  readonly name: string;
  readonly #lines: SerialLines;
  readonly #request: Uint8Array;
  readonly #clock: Clock;
  readonly #quietMs: number;

  constructor(
    { name, deadlineMs }: SerialLineConfig,
    lines: SerialLines,
    { request, clock }: { readonly request: string; readonly clock: Clock },
  ) {
    this.name = name;
    this.#lines = lines;
    this.#request = Buffer.from(request, 'utf8');
    this.#clock = clock;
    this.#quietMs = Math.min(QUIET_MS, deadlineMs / 4);
  }

  async read(signal: AbortSignal): Promise<readonly Reading[]> {
    if (this.#lines.isSilent) await this.#clock.sleep(this.#quietMs, signal);
    this.#lines.expectLine();
    let stop = (): void => {};
    const answer = new Promise<readonly Reading[]>((resolve) => {
      stop = this.#lines.onReadings(resolve);
    });
    try {
      await this.#lines.port.write(this.#request, signal);
      return await withinDeadline(answer, 'waiting for a line', signal);
    } catch (cause) {
      throw sensorFault('silent', this.#lines.silence(), cause);
    } finally {
      stop();
    }
  }

  refused(): readonly Refusal[] {
    return this.#lines.refused;
  }

  close(): Promise<void> {
    return this.#lines.close();
  }
}
