/**
 * A meter that answers when it is asked: it is reset, so that it begins with its first telegram, selected by its number where it has no
 * primary address, and asked on as long as it says that more follows. A changed frame count bit asks for the next telegram, the same one for
 * the last again. What came before an answer that is missing or damaged is given.
 *
 * A meter that is asked to goes to another speed for its telegrams: it acknowledges at the old speed and answers at the new one. It is sent back
 * at the end; where that fails it goes back by itself, after two to ten minutes, and is met at either speed until then.
 */
import { AgentError } from '../../errors/agent-error.ts';
import { withinDeadline } from '../../hardware/deadline.ts';
import type { SerialBus } from '../../hardware/serial-buses.ts';
import { withinMs } from '../../host/bounded-wait.ts';
import type { Clock } from '../../host/clock.ts';
import type { Reading, Refusal, Sensor } from '../kind/sensor.ts';
import type { SensorDeps } from '../kind/sensor-deps.ts';
import { sensorFault } from '../kind/sensor-fault.ts';
import type { MbusConfig } from './definition.ts';
import {
  FRAME_COUNT_BIT,
  type Frame,
  FrameCutter,
  longFrame,
  REQ_UD2,
  SND_NKE,
  SND_UD,
  shortFrame,
  speedOrder,
} from './frames.ts';
import { answerOf, type MbusAnswer } from './records.ts';
import { identityOf, readingsOf } from './values.ts';

/** Stands for the meter that is selected. */
const SELECTED = 253;
/** Addresses at which a meter answers with its own. */
const FOR_ANY = [SELECTED, 254];
const SELECT = 0x52;
/** An acknowledgement begins at most 190 ms after its request at 2400 baud, and converters take their time. Some meters give none to a reset. */
const RESET_MS = 500;
const TRIES = 2;
const MAX_TELEGRAMS = 16;
/** Stands for the keys of telegrams that have not come yet. */
const THE_REST = 'telegrams';

export async function open(config: MbusConfig, { ports, clock }: SensorDeps, signal: AbortSignal): Promise<Sensor> {
  const { name } = config;
  const line = new MbusLine(config, await ports.serialBuses.open(config, signal), clock);
  let wasTold = false;
  /** Keys of the last read in which nothing was missing. */
  let whole: readonly string[] = [];
  let refused: readonly Refusal[] = [];
  return {
    name,
    read: async (inner) => {
      const { answers, fault } = await line.readInTurn(inner);
      const [first] = answers;
      const readings: readonly Reading[] = readingsOf(answers);
      if (readings.length === 0)
        throw fault ?? sensorFault('no-value', `the meter ${config.address} has no value that is known here`);
      const keys = readings.map(({ key }) => key);
      const gone = whole.filter((key) => !keys.includes(key));
      refused = fault === undefined ? [] : missing(gone, fault);
      if (fault === undefined) whole = keys;
      const identity = wasTold || first === undefined ? [] : identityOf(first);
      wasTold = true;
      return [...identity, ...readings];
    },
    refused: () => refused,
    close: () => line.close(),
  };
}

/** Refusals of these keys; of all the rest, where it is not known which ones the meter has. */
function missing(keys: readonly string[], fault: AgentError): readonly Refusal[] {
  return (keys.length === 0 ? [THE_REST] : keys).map((key) => ({ key, fault }));
}

/** Telegrams of one read, and why there are no more of them although the meter has more. */
interface Telegrams {
  readonly answers: readonly MbusAnswer[];
  readonly fault?: AgentError;
}

interface Wanted {
  readonly isWanted: (frame: Frame) => boolean;
  /** How many telegrams came before. */
  readonly given: number;
}

class MbusLine {
  readonly #config: MbusConfig;
  readonly #bus: SerialBus;
  readonly #stopListening: () => void;
  readonly #clock: Clock;
  readonly #cutter = new FrameCutter((frame) => this.#onFrame?.(frame));
  #onFrame: ((frame: Frame) => void) | undefined;
  /** The meter, or the converter, was silent at the higher speed. */
  #staysSlow = false;

  constructor(config: MbusConfig, bus: SerialBus, clock: Clock) {
    this.#config = config;
    this.#bus = bus;
    this.#clock = clock;
    this.#stopListening = bus.port.onBytes((bytes) => this.#cutter.cutBytes(bytes));
  }

  /** Reads all telegrams; the other meters of the bus wait, as a selection holds until the next. @throws AgentError (retry) when none comes. */
  async readInTurn(signal: AbortSignal): Promise<Telegrams> {
    const answers: MbusAnswer[] = [];
    try {
      await this.#bus.turns.run(
        () => this.#readAll(answers, signal),
        { what: `reading the meter ${this.#config.address}` },
        signal,
      );
      return { answers };
    } catch (fault) {
      if (answers.length === 0 || !(fault instanceof AgentError)) throw fault;
      const late = `the deadline was over after ${answers.length} telegrams of the meter ${this.#config.address}`;
      return {
        answers,
        fault: signal.aborted
          ? sensorFault('late', `${late}; a longer deadline and period give time for the rest`, fault)
          : fault,
      };
    }
  }

  close(): Promise<void> {
    this.#stopListening();
    return this.#bus.close();
  }

  async #readAll(answers: MbusAnswer[], signal: AbortSignal): Promise<void> {
    const { address } = this.#config;
    const place = typeof address === 'number' ? address : SELECTED;
    const isFast = (await this.#meet(place, signal)) || (await this.#speedUp(place, signal));
    try {
      await this.#readTelegrams(answers, place, signal);
      if (isFast) await this.#slowDown(place);
    } catch (fault) {
      if (!isFast) throw fault;
      await this.#slowDown(place);
      const isSilent = fault instanceof AgentError && fault.code === 'sensors/silent';
      if (!isSilent || answers.length > 0 || signal.aborted) throw fault;
      this.#staysSlow = true;
      await this.#meet(place, signal);
      await this.#readTelegrams(answers, place, signal).catch((cause: unknown) => {
        throw sensorFault('silent', this.#lost(), cause);
      });
    }
  }

  async #readTelegrams(answers: MbusAnswer[], place: number, signal: AbortSignal): Promise<void> {
    let control = REQ_UD2 | FRAME_COUNT_BIT;
    do {
      const wanted = { isWanted: (one: Frame) => isAnswerOf(one, place), given: answers.length };
      const frame = await this.#askTwice(shortFrame(control, place), wanted, signal);
      control ^= FRAME_COUNT_BIT;
      const answer = this.#read(frame ?? new Uint8Array());
      answers.push(answer);
      if (answer.damage !== undefined) throw this.#damaged(answer.damage);
    } while (answers.at(-1)?.hasMore === true && answers.length < MAX_TELEGRAMS);
  }

  /** Resets and selects the meter; tells if it was met at the higher speed, at which a broken reading has left it. */
  async #meet(place: number, signal: AbortSignal): Promise<boolean> {
    const { baudRate, readBaudRate } = this.#config;
    const fault = await this.#begin(place, signal);
    if (fault === undefined) return false;
    if (readBaudRate !== undefined && readBaudRate !== baudRate) {
      await this.#goTo(readBaudRate, signal);
      if ((await this.#begin(place, signal)) === undefined) return true;
      await this.#goTo(baudRate, signal);
    }
    if (place === SELECTED) throw fault;
    return false;
  }

  /** Returns why the meter has not acknowledged. Some give no acknowledgement to a reset, and are read all the same. */
  async #begin(place: number, signal: AbortSignal): Promise<AgentError | undefined> {
    const { address, responseTimeoutMs } = this.#config;
    const reset = await this.#ask(
      shortFrame(SND_NKE, place),
      isAcknowledged,
      Math.min(RESET_MS, responseTimeoutMs),
      signal,
    ).catch(silenceOf);
    if (typeof address === 'number') return reset instanceof AgentError ? reset : undefined;
    const selected = await this.#askTwice(selection(address), { isWanted: isAcknowledged, given: 0 }, signal).catch(
      silenceOf,
    );
    return selected instanceof AgentError ? selected : undefined;
  }

  /** Tells if the meter went to the higher speed; one that does not acknowledge the order stays, and is read as it is. */
  async #speedUp(place: number, signal: AbortSignal): Promise<boolean> {
    const { baudRate, readBaudRate } = this.#config;
    if (readBaudRate === undefined || readBaudRate === baudRate || this.#staysSlow) return false;
    const isOrdered = await this.#order(place, readBaudRate, signal);
    if (isOrdered) await this.#goTo(readBaudRate, signal);
    return isOrdered;
  }

  /** Sends the meter back, also when the deadline is over: others of the bus need the usual speed. */
  async #slowDown(place: number): Promise<void> {
    const { baudRate } = this.#config;
    const { signal } = new AbortController();
    await this.#order(place, baudRate, signal);
    await this.#goTo(baudRate, signal).catch(() => {});
  }

  async #order(place: number, baudRate: number, signal: AbortSignal): Promise<boolean> {
    const { responseTimeoutMs } = this.#config;
    const order = speedOrder(baudRate, place);
    if (order === undefined) return false;
    const answer = await this.#ask(order, isAcknowledged, responseTimeoutMs, signal).catch(silenceOf);
    return !(answer instanceof AgentError);
  }

  async #goTo(baudRate: number, signal: AbortSignal): Promise<void> {
    const { dataBits, parity, stopBits } = this.#config;
    await this.#bus.port.change?.({ baudRate, dataBits, parity, stopBits }, signal);
  }

  /** @throws AgentError (retry): `sensors/bad-reading`, `sensors/wrong-meter`. */
  #read(frame: Uint8Array): MbusAnswer {
    const { address } = this.#config;
    const answer = this.#answerOf(frame);
    if (typeof address === 'number' || isNumbered(answer, address)) return answer;
    throw sensorFault(
      'wrong-meter',
      `the meter ${answer.serialNumber} on ${this.#bus.port.path} answers in place of ${address}`,
    );
  }

  #answerOf(frame: Uint8Array): MbusAnswer {
    try {
      return answerOf(frame);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      throw this.#damaged(error.message);
    }
  }

  async #askTwice(request: Uint8Array, { isWanted, given }: Wanted, signal: AbortSignal): Promise<Frame> {
    const { responseTimeoutMs } = this.#config;
    for (let tries = 1; ; tries += 1) {
      try {
        return await this.#ask(request, isWanted, responseTimeoutMs, signal);
      } catch (cause) {
        if (tries < TRIES && !signal.aborted && this.#bus.port.plugged) continue;
        throw sensorFault('silent', this.#silence(given), cause);
      }
    }
  }

  async #ask(
    request: Uint8Array,
    isWanted: (frame: Frame) => boolean,
    ms: number,
    signal: AbortSignal,
  ): Promise<Frame> {
    const { promise, resolve } = Promise.withResolvers<Frame>();
    this.#cutter.reset();
    this.#onFrame = (frame) => {
      if (isWanted(frame)) resolve(frame);
    };
    const work = async (inner: AbortSignal): Promise<Frame> => {
      await this.#bus.port.write(request, inner);
      return await withinDeadline(promise, `waiting for the meter ${this.#config.address}`, inner);
    };
    try {
      return await withinMs(this.#clock, ms, work, signal);
    } finally {
      this.#onFrame = undefined;
    }
  }

  #damaged(damage: string): AgentError {
    return sensorFault('bad-reading', `the meter ${this.#config.address} on ${this.#bus.port.path} gave ${damage}`);
  }

  /** Words for a meter that went to the higher speed and is heard at none. */
  #lost(): string {
    const { address, baudRate, readBaudRate } = this.#config;
    return `the meter ${address} on ${this.#bus.port.path} went to ${readBaudRate} baud and answers neither there nor at ${baudRate}: it goes back by itself within ten minutes; leave out readBaudRate, which it or the converter cannot do`;
  }

  /** Reason why no answer came, in words. */
  #silence(given: number): string {
    const { path, plugged } = this.#bus.port;
    if (!plugged) return `${path} is unplugged`;
    if (given > 0)
      return `the meter ${this.#config.address} on ${path} gave ${given} telegrams, and not the next one that it announced`;
    return this.#cutter.noise > 0
      ? `bytes come on ${path}, and no good M-Bus frame (baud rate? two meters at one address?)`
      : `the meter ${this.#config.address} on ${path} does not answer`;
  }
}

function isAcknowledged(frame: Frame): boolean {
  return frame === undefined;
}

/** The fault of a meter that does not answer; anything else is a fault of the program. */
function silenceOf(fault: unknown): AgentError {
  if (fault instanceof AgentError) return fault;
  throw fault;
}

/** Selects the meter with this number, of any maker, version and medium. */
function selection(digits: string): Uint8Array {
  return longFrame(
    Uint8Array.of(SND_UD, SELECTED, SELECT, ...Buffer.from(digits, 'hex').reverse(), 0xff, 0xff, 0xff, 0xff),
  );
}

/** True when each digit of the meter's number is the wanted one. */
function isNumbered({ serialNumber }: MbusAnswer, digits: string): boolean {
  return [...digits].every((digit, at) => digit === 'F' || digit === serialNumber[at]);
}

/** A meter sets two bits of its control field as it likes: it wants to be asked more often, or cannot take more. */
function isAnswerOf(frame: Frame, place: number): boolean {
  const [control = 0, address] = frame ?? [];
  return frame !== undefined && (control & ~0x30) === 0x08 && (address === place || FOR_ANY.includes(place));
}
