/**
 * A sensor that prints lines on a serial port. Without `request` it speaks by itself and every line is a reading; with it, each read sends
 * the request and takes the first good line that follows. Lines that are garbage are counted and passed over.
 */
import type { SensorConfigOf } from '../config/agent-config.ts';
import { messageOf } from '../errors.ts';
import { withinDeadline } from '../hardware/deadline.ts';
import type { SerialPort } from '../hardware/serial-port.ts';
import { lineParser } from './line-format.ts';
import { LineSplitter } from './line-splitter.ts';
import type { Reading, Sensor } from './sensor.ts';
import type { SensorDeps } from './sensor-deps.ts';
import { sensorFault } from './sensor-fault.ts';

export async function openSerialLine(
  config: SensorConfigOf<'serial-line'>,
  { ports, clock, log }: SensorDeps,
  signal: AbortSignal,
): Promise<Sensor> {
  const port = await ports.serial.open(config, signal);
  const lines = new SerialLines(config, port);
  lines.onGarbage((count, problem) => log.debug({ sensor: config.name, count, problem }, 'a line that could not be read'));
  const { request } = config;
  return request === undefined ? new Listener(config, lines, clock.monotonicMs) : new Asker(config.name, lines, request);
}

/** The port's bytes as readings. */
class SerialLines {
  readonly port: SerialPort;
  readonly #listeners = new Set<(readings: readonly Reading[]) => void>();
  readonly #splitter: LineSplitter;
  #onGarbage: (count: number, problem: string) => void = () => {};
  /** Since the last good line. */
  garbage = 0;

  constructor(config: SensorConfigOf<'serial-line'>, port: SerialPort) {
    this.port = port;
    const parse = lineParser(config);
    this.#splitter = new LineSplitter({
      delimiter: config.delimiter,
      longest: config.maxLineBytes,
      onLine: (line) => this.#take(parse, line),
      onTooLong: () => this.#count('longer than maxLine'),
    });
    port.onBytes((bytes) => this.#splitter.take(bytes));
    port.onPlug(() => this.#splitter.reset());
  }

  onReadings(listener: (readings: readonly Reading[]) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  onGarbage(listener: (count: number, problem: string) => void): void {
    this.#onGarbage = listener;
  }

  /** Why nothing came, in words. */
  silence(): string {
    if (!this.port.plugged) return `${this.port.path} is unplugged`;
    return this.garbage > 0
      ? `${this.garbage} lines came on ${this.port.path}, and none could be read (baud rate? format?)`
      : `nothing comes on ${this.port.path}`;
  }

  #take(parse: (line: string) => readonly Reading[], line: string): void {
    if (line.trim() === '') return;
    let readings: readonly Reading[];
    try {
      readings = parse(line);
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

  constructor({ name, periodMs, deadlineMs }: SensorConfigOf<'serial-line'>, lines: SerialLines, monotonicMs: () => number) {
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

  subscribe(listener: (readings: readonly Reading[]) => void): () => void {
    return this.#lines.onReadings(listener);
  }

  close(): Promise<void> {
    return this.#lines.port.close();
  }
}

class Asker implements Sensor {
  readonly name: string;
  readonly #lines: SerialLines;
  readonly #request: Uint8Array;

  constructor(name: string, lines: SerialLines, request: string) {
    this.name = name;
    this.#lines = lines;
    this.#request = Buffer.from(request, 'utf8');
  }

  async read(signal: AbortSignal): Promise<readonly Reading[]> {
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

  close(): Promise<void> {
    return this.#lines.port.close();
  }
}
