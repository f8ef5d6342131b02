/**
 * A sensor that prints lines on a serial port. Without `request` it speaks by itself and every line is a reading; with it, each read sends
 * the request and takes the first good line that follows. Lines that are garbage are counted and passed over, and so is a line whose beginning
 * was not heard, as the port was opened or plugged in while it came: `23.5` without its first byte is a number too. A line after a silence was heard
 * from its beginning.
 */

import { endOfData, isWhole, summedFrame } from '../../config/fields/check-sum.ts';
import { formatDuration } from '../../config/fields/quantity.ts';
import { bytesOf, bytesOfHex } from '../../config/fields/request-text.ts';
import { type AgentError, messageOf } from '../../errors/agent-error.ts';
import { withinDeadline } from '../../hardware/deadline.ts';
import type { SerialBus } from '../../hardware/serial-buses.ts';
import type { SerialPort } from '../../hardware/serial-port.ts';
import { withinMs } from '../../host/bounded-wait.ts';
import type { Clock } from '../../host/clock.ts';
import type { Log } from '../../host/log.ts';
import { Listeners } from '../../values/listeners.ts';
import { type LineParser, openLineParser } from '../families/lines/line-format.ts';
import { LineSplitter } from '../families/lines/line-splitter.ts';
import { LineTrouble, namesIn } from '../families/lines/line-trouble.ts';
import { parseOutput } from '../families/lines/output.ts';
import { type Outcome, sorted } from '../kind/outcome.ts';
import type { Reading, Refusal, Sensor } from '../kind/sensor.ts';
import type { SensorDeps } from '../kind/sensor-deps.ts';
import { sensorFault } from '../kind/sensor-fault.ts';
import { readAnswers } from './answers.ts';
import { type ChannelReader, openChannelReader } from './channel-values.ts';
import type { SerialLineConfig } from './definition.ts';
import { fittingPreset } from './fitting-preset.ts';
import { FrameCutter } from './frame-cutter.ts';
import { frameValues } from './frame-fields.ts';
import { SilenceCutter } from './silence-cutter.ts';
import { TelegramOpener } from './telegram-opener.ts';

/**
 * No sender stops for so long within a line: what comes after such a silence begins one, and a sensor that speaks once an hour loses nothing.
 * Waited for in two parts, so that a process that was held up hears what came meanwhile before it takes it for silence.
 */
const SILENCE_MS = 1_000;
/** Time in which the rest of an answer to an earlier request comes, at 300 baud too. */
const QUIET_MS = 100;
/** Time for the turns of the commands after a read, in addition to their pauses. */
const REST_MS = 5_000;
const LINE_END = /[\r\n]+$/;

export async function open(
  config: SerialLineConfig,
  { ports, clock, files, log }: SensorDeps,
  signal: AbortSignal,
): Promise<Sensor> {
  const { name } = config;
  const request = bytesOf(config.request, config.requestHex);
  const onGarbage = (count: number, problem: string): void =>
    log.debug({ sensor: name, count, problem }, 'a line that could not be read');
  const parse = await openLineParser(config);
  const channels = await openChannelReader(config.channels);
  const bus = await ports.serialBuses.open(config, signal);
  const { preset } = config;
  const fitting = async (text: string): Promise<string | undefined> =>
    preset === undefined ? undefined : await fittingPreset(text, preset, files).catch(() => undefined);
  const lines = new SerialLines(config, bus, { clock, parse, channels, fitting, onGarbage });
  return {
    name,
    close: () => lines.close(),
    ...(request === undefined ? listening(config, lines, clock) : asking(config, lines, { request, clock, log })),
    refused: () => lines.refused,
  };
}

interface SerialLinesDeps {
  readonly clock: Clock;
  readonly parse: LineParser;
  /** Values of other meters in a frame of text. */
  readonly channels: ChannelReader;
  /** Options that read a text, as far as a preset has them. Never rejects. */
  readonly fitting: (text: string) => Promise<string | undefined>;
  /** Told of each line that could not be read. @param count since the last good one. */
  readonly onGarbage: (count: number, problem: string) => void;
}

/** The port's bytes as readings. */
class SerialLines {
  readonly bus: SerialBus;
  readonly port: SerialPort;
  readonly #readings = new Listeners<[readonly Reading[]]>();
  readonly onReadings = this.#readings.add;
  readonly #lines = new Listeners<[]>();
  /** Calls back after each line, also one that could not be read. */
  readonly onLine = this.#lines.add;
  readonly #config: SerialLineConfig;
  readonly #splitter: LineSplitter | FrameCutter | SilenceCutter | TelegramOpener;
  #listening = new AbortController();
  readonly #deps: SerialLinesDeps;
  readonly #trouble: LineTrouble;
  /** The last telegram was encrypted with another key. */
  #hasWrongKey = false;
  /** True once options were looked for that read texts without a key that is asked for. */
  #isFitted = false;
  #askedAtMs = 0;
  #stopLate = (): void => {};
  /** Time from a request to its answer, which came when nobody waited for it any more. */
  #lateMs: number | undefined;
  /** Keys for which the last good line had no value. */
  refused: readonly Refusal[] = [];

  readonly #stopListening: (() => void)[];

  constructor(config: SerialLineConfig, bus: SerialBus, deps: SerialLinesDeps) {
    const { port } = bus;
    this.bus = bus;
    this.port = port;
    this.#config = config;
    this.#deps = deps;
    this.#trouble = new LineTrouble(deps.clock, { isDeciphered: config.encryptionKey !== undefined });
    const { frame, maxLineBytes: maxBytes, deadlineMs } = config;
    const onFrame = (bytes: Buffer): boolean => this.#readFrame(bytes);
    const onTooLong = (): void => this.#count('too-long', 'longer than maxLine');
    this.#splitter =
      frame === undefined
        ? new LineSplitter({ ...config, maxBytes, onLine: (line) => this.#readLine(line), onTooLong })
        : frame.gapMs === undefined
          ? this.#openerFor(new FrameCutter({ frame, maxBytes, onFrame, onTooLong }), onTooLong)
          : new SilenceCutter({
              ...frame,
              gapMs: frame.gapMs,
              clock: deps.clock,
              maxBytes,
              deadlineMs,
              onFrame,
              onTooLong,
            });
    const isAsked = config.request !== undefined || config.requestHex !== undefined;
    const take = (bytes: Uint8Array): void => {
      this.#trouble.hear(bytes);
      this.#splitter.splitBytes(bytes);
    };
    const replug = (): void => {
      this.#splitter.reset();
      void this.#hearSilence();
    };
    this.#stopListening = [bus.onBytes(take, { always: !isAsked }), port.onPlug(replug), () => this.#stopLate()];
    void this.#hearSilence();
  }

  /** True when nothing was heard since the port was opened or plugged in. */
  get isSilent(): boolean {
    return this.#splitter.isSilent;
  }

  /** Prepares for the answer to a request. Answers to other users of the port are dropped, as they do not begin this one. */
  expectLine(): void {
    if (this.bus.isShared) this.#splitter.reset();
    this.#splitter.expectLine();
    this.#askedAtMs = this.#deps.clock.monotonicMs();
    this.#stopLate();
  }

  /** Why nothing came. */
  silence(cause?: unknown): AgentError {
    const { outage, path, plugged } = this.port;
    if (outage !== undefined || !plugged) return sensorFault('silent', `${path} ${outage ?? 'is unplugged'}`, cause);
    const { frame, periodMs, deadlineMs, responseTimeoutMs } = this.#config;
    if (this.bus.isShared && cause !== undefined) this.#hearLate();
    if (this.bus.isShared && this.#lateMs !== undefined) {
      const within = formatDuration(Math.ceil(this.#lateMs / 1_000) * 1_000);
      const words = `answers come on ${path} within ${within} of the request: make responseTimeout (${formatDuration(responseTimeoutMs)}) longer`;
      return sensorFault('silent', words, cause);
    }
    const speaksMs = periodMs + deadlineMs;
    const words = this.#trouble.words(path, frame === undefined ? 'lines' : 'frames', speaksMs);
    return sensorFault(this.#hasWrongKey && this.#trouble.speaks(speaksMs) ? 'wrong-key' : 'silent', words, cause);
  }

  close(): Promise<void> {
    this.#listening.abort();
    for (const stop of this.#stopListening) stop();
    this.#splitter.reset();
    return this.bus.close();
  }

  /** Listens for the answer that is missing, until another request. */
  #hearLate(): void {
    this.#stopLate();
    this.#stopLate = this.port.onBytes(() => {
      if (this.bus.spokeLast) this.#lateMs ??= this.#deps.clock.monotonicMs() - this.#askedAtMs;
    });
  }

  #openerFor(cutter: FrameCutter, onTooLong: () => void): FrameCutter | TelegramOpener {
    const { encryptionKey, authenticationKey, frame, check, maxLineBytes: maxBytes } = this.#config;
    if (encryptionKey === undefined) return cutter;
    return new TelegramOpener({
      key: bytesOfHex(encryptionKey.reveal()),
      authenticationKey: authenticationKey && bytesOfHex(authenticationKey.reveal()),
      start: bytesOfHex(frame?.start ?? ''),
      isChecked: check !== undefined,
      maxBytes,
      cutter,
      onTooLong,
      onCiphered: (fault) => {
        this.#hasWrongKey = true;
        this.#count('ciphered', fault.message);
      },
      onPlain: () => this.#count('unreadable', 'it is not encrypted (leave encryptionKey out)'),
    });
  }

  async #hearSilence(): Promise<void> {
    this.#listening.abort();
    this.#listening = new AbortController();
    const { signal } = this.#listening;
    await this.#deps.clock.sleep(SILENCE_MS / 2, signal);
    await this.#deps.clock.sleep(SILENCE_MS / 2, signal);
    if (!signal.aborted && this.port.plugged && this.isSilent) this.#splitter.expectLine();
  }

  #readLine(line: string): void {
    if (line.trim() === '') return;
    const { encoding, check } = this.#config;
    if (check !== undefined && !isWhole(Buffer.from(line.replace(LINE_END, ''), encoding), check))
      this.#count('check-sum', 'its check sum is wrong');
    else this.#take(() => this.#deps.parse(line), line);
    this.#lines.tell();
  }

  /** Returns false for a damaged frame. */
  #readFrame(bytes: Buffer): boolean {
    const { check, fields } = this.#config;
    this.#hasWrongKey = false;
    const frame = summedFrame(bytes, check);
    if (check !== undefined && !isWhole(frame, check)) {
      this.#count('check-sum', 'its check sum is wrong');
      return false;
    }
    this.#take(
      () =>
        fields === undefined ? this.#ofText(frame) : frameValues(frame.subarray(0, endOfData(frame, check)), fields),
      fields === undefined ? frame.toString(this.#config.encoding) : '',
    );
    this.#lines.tell();
    return true;
  }

  #ofText(frame: Buffer): readonly Outcome[] {
    const { format, encoding } = this.#config;
    const text = frame.toString(encoding);
    const channels = this.#deps.channels(text);
    try {
      return [...parseOutput(text, format, this.#deps.parse), ...channels];
    } catch (fault) {
      if (channels.length === 0) throw fault;
      return channels;
    }
  }

  /** @param text of the line or frame, where it is one. */
  #take(parse: () => readonly Outcome[], text: string): void {
    let readings: readonly Reading[];
    try {
      const given = sorted(parse());
      readings = given.readings;
      this.refused = given.refused;
    } catch (error) {
      const names = namesIn(text);
      // Values of other names are no fault of the line.
      const isOther = names !== '' && this.#config.format === 'regex';
      if (isOther) this.#countOther(names, text);
      else this.#count('unreadable', messageOf(error));
      return;
    }
    this.#trouble.forget();
    this.#lateMs = undefined;
    this.#readings.tell(readings);
  }

  #countOther(names: string, text: string): void {
    this.#count('no-key', names);
    if (this.#isFitted) return;
    this.#isFitted = true;
    void this.#deps.fitting(text).then((words) => this.#trouble.adviseOthers(words));
  }

  #count(cause: Parameters<LineTrouble['count']>[0], problem: string): void {
    this.#deps.onGarbage(this.#trouble.count(cause, problem), problem);
  }
}

/** A sensor that says nothing for its period, and its deadline on top, is reported. */
function listening({ periodMs, deadlineMs }: SerialLineConfig, lines: SerialLines, clock: Clock) {
  let last: readonly Reading[] = [];
  let lastAtMs = clock.monotonicMs();
  lines.onReadings((readings) => {
    last = readings;
    lastAtMs = clock.monotonicMs();
  });
  const read = async (): Promise<readonly Reading[]> => {
    if (clock.monotonicMs() - lastAtMs > periodMs + deadlineMs || !lines.port.plugged) throw lines.silence();
    return last;
  };
  return { speaksByItself: true, read, subscribe: lines.onReadings };
}

function asking(
  config: SerialLineConfig,
  lines: SerialLines,
  { request, clock, log }: { readonly request: Uint8Array; readonly clock: Clock; readonly log: Log },
) {
  const { bus, port } = lines;
  const { name, before, after, responseTimeoutMs } = config;
  const quietMs = Math.min(QUIET_MS, config.deadlineMs / 4);
  const answerTo = async (signal: AbortSignal): Promise<readonly Reading[]> => {
    if (!bus.isShared && lines.isSilent) await clock.sleep(quietMs, signal);
    lines.expectLine();
    const answer = readAnswers(config, lines, clock);
    try {
      await port.write(request, signal);
      return await withinDeadline(answer.readings, 'waiting for a line', signal);
    } catch (cause) {
      throw lines.silence(cause);
    } finally {
      answer.stop();
    }
  };
  // A mute device on a port of several keeps the others waiting no longer than its own answer may take.
  const ask = (signal: AbortSignal): Promise<readonly Reading[]> =>
    bus.run(
      () => (bus.isShared ? withinMs(clock, responseTimeoutMs, answerTo, signal) : answerTo(signal)),
      { what: `reading ${name} on ${port.path}`, hears: true },
      signal,
    );
  const send = async (steps: SerialLineConfig['before'], signal: AbortSignal): Promise<void> => {
    for (const step of steps) {
      const bytes = bytesOf(step.send, step.sendHex) ?? Buffer.alloc(0);
      // Devices acknowledge such commands: on a port of several that is over before somebody else is told something.
      const tell = async (): Promise<void> => {
        await port.write(bytes, signal);
        if (bus.isShared) await bus.settle(signal);
      };
      const turn = { what: `a command to ${name} on ${port.path}`, rank: 'movement', hears: true } as const;
      await bus.run(tell, turn, signal);
      await clock.sleep(step.pauseMs, signal);
      if (signal.aborted) throw sensorFault('late', `the deadline was over in a pause before ${name} was asked`);
    }
  };
  let isAwake = false;
  /** Sends what puts the device to rest, also when the time of the read is over; what could not be sent is sent again at closing. */
  const rest = async (): Promise<void> => {
    if (!isAwake) return;
    const restMs = REST_MS + after.reduce((total, { pauseMs }) => total + pauseMs, 0);
    try {
      await withinMs(clock, restMs, (signal) => send(after, signal));
      isAwake = false;
    } catch (error) {
      log.warn({ sensor: name, error: messageOf(error) }, 'the commands behind a read could not be sent');
    }
  };
  const closing = new AbortController();
  let reading: Promise<unknown> = Promise.resolve();
  const wakeAndAsk = async (signal: AbortSignal): Promise<readonly Reading[]> => {
    isAwake = true;
    try {
      await send(before, signal);
      return await ask(signal);
    } finally {
      await rest();
    }
  };
  const read = async (signal: AbortSignal): Promise<readonly Reading[]> => {
    if (before.length === 0 && after.length === 0) return await ask(signal);
    // A read whose time is over may still put the device to rest.
    await reading;
    const work = wakeAndAsk(AbortSignal.any([signal, closing.signal]));
    reading = work.catch(() => {});
    return await work;
  };
  const close = async (): Promise<void> => {
    closing.abort();
    await reading;
    await rest();
    await lines.close();
  };
  return { read, close };
}
