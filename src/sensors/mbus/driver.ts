/**
 * A meter that answers when it is asked: it is reset, so that it begins with its first telegram, selected by its number where it has no
 * primary address, and asked on as long as it says that more follows. A changed frame count bit asks for the next telegram, the same one for
 * the last again.
 */
import { withinDeadline } from '../../hardware/deadline.ts';
import type { SerialBus } from '../../hardware/serial-buses.ts';
import { withinMs } from '../../host/bounded-wait.ts';
import type { Clock } from '../../host/clock.ts';
import type { Reading, Sensor } from '../kind/sensor.ts';
import type { SensorDeps } from '../kind/sensor-deps.ts';
import { sensorFault } from '../kind/sensor-fault.ts';
import type { MbusConfig } from './definition.ts';
import { FRAME_COUNT_BIT, type Frame, FrameCutter, longFrame, REQ_UD2, SND_NKE, SND_UD, shortFrame } from './frames.ts';
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

export async function open(config: MbusConfig, { ports, clock }: SensorDeps, signal: AbortSignal): Promise<Sensor> {
  const { name } = config;
  const line = new MbusLine(config, await ports.serialBuses.open(config, signal), clock);
  let wasTold = false;
  return {
    name,
    read: async (inner) => {
      const answers = await line.readInTurn(inner);
      const [first] = answers;
      const readings: readonly Reading[] = readingsOf(answers);
      if (readings.length === 0) throw sensorFault('no-value', `the meter ${config.address} has no value that is known here`);
      const identity = wasTold || first === undefined ? [] : identityOf(first);
      wasTold = true;
      return [...identity, ...readings];
    },
    close: () => line.close(),
  };
}

class MbusLine {
  readonly #config: MbusConfig;
  readonly #bus: SerialBus;
  readonly #stopListening: () => void;
  readonly #clock: Clock;
  readonly #cutter = new FrameCutter((frame) => this.#onFrame?.(frame));
  #onFrame: ((frame: Frame) => void) | undefined;

  constructor(config: MbusConfig, bus: SerialBus, clock: Clock) {
    this.#config = config;
    this.#bus = bus;
    this.#clock = clock;
    this.#stopListening = bus.port.onBytes((bytes) => this.#cutter.cutBytes(bytes));
  }

  /** Reads all telegrams; the other meters of the bus wait, as a selection holds until the next. */
  readInTurn(signal: AbortSignal): Promise<readonly MbusAnswer[]> {
    return this.#bus.turns.run(() => this.#readAll(signal), { what: `reading the meter ${this.#config.address}` }, signal);
  }

  close(): Promise<void> {
    this.#stopListening();
    return this.#bus.close();
  }

  async #readAll(signal: AbortSignal): Promise<readonly MbusAnswer[]> {
    const { address, responseTimeoutMs } = this.#config;
    const place = typeof address === 'number' ? address : SELECTED;
    const isAcknowledged = (frame: Frame): boolean => frame === undefined;
    await this.#ask(shortFrame(SND_NKE, place), isAcknowledged, Math.min(RESET_MS, responseTimeoutMs), signal).catch(() => {});
    if (typeof address !== 'number') await this.#askTwice(selection(address), isAcknowledged, signal);
    const answers: MbusAnswer[] = [];
    let control = REQ_UD2 | FRAME_COUNT_BIT;
    do {
      const frame = await this.#askTwice(shortFrame(control, place), (one) => isAnswerOf(one, place), signal);
      control ^= FRAME_COUNT_BIT;
      answers.push(this.#read(frame ?? new Uint8Array()));
    } while (answers.at(-1)?.hasMore === true && answers.length < MAX_TELEGRAMS);
    return answers;
  }

  #read(frame: Uint8Array): MbusAnswer {
    try {
      return answerOf(frame);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      throw sensorFault('bad-reading', `the meter ${this.#config.address} on ${this.#bus.port.path} gave ${error.message}`, error);
    }
  }

  async #askTwice(request: Uint8Array, isWanted: (frame: Frame) => boolean, signal: AbortSignal): Promise<Frame> {
    const { responseTimeoutMs } = this.#config;
    for (let tries = 1; ; tries += 1) {
      try {
        return await this.#ask(request, isWanted, responseTimeoutMs, signal);
      } catch (cause) {
        if (tries < TRIES && !signal.aborted && this.#bus.port.plugged) continue;
        throw sensorFault('silent', this.#silence(), cause);
      }
    }
  }

  async #ask(request: Uint8Array, isWanted: (frame: Frame) => boolean, ms: number, signal: AbortSignal): Promise<Frame> {
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

  /** Reason why no answer came, in words. */
  #silence(): string {
    const { path, plugged } = this.#bus.port;
    if (!plugged) return `${path} is unplugged`;
    return this.#cutter.noise > 0
      ? `bytes come on ${path}, and no good M-Bus frame (baud rate? two meters at one address?)`
      : `the meter ${this.#config.address} on ${path} does not answer`;
  }
}

/** Selects the meter with this number, of any maker, version and medium. */
function selection(digits: string): Uint8Array {
  return longFrame(Uint8Array.of(SND_UD, SELECTED, SELECT, ...Buffer.from(digits, 'hex').reverse(), 0xff, 0xff, 0xff, 0xff));
}

/** A meter sets two bits of its control field as it likes: it wants to be asked more often, or cannot take more. */
function isAnswerOf(frame: Frame, place: number): boolean {
  const [control = 0, address] = frame ?? [];
  return frame !== undefined && (control & ~0x30) === 0x08 && (address === place || FOR_ANY.includes(place));
}
