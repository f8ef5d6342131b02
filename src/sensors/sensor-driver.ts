/**
 * One sensor's driver: opened at the first read, never asked twice at once, and opened again when it keeps failing. A read that has not ended
 * when its driver was closed is left to itself, and so is an opening; only a few, as each may hold a thread of the pool for ever.
 */
import { messageOf } from '../errors/agent-error.ts';
import { answerWithin, deadlineError, withinDeadline } from '../hardware/deadline.ts';
import { endedWithin } from '../host/bounded-wait.ts';
import type { Clock } from '../host/clock.ts';
import type { Log } from '../host/log.ts';
import type { Reading, ReadingsListener, Refusal, Sensor } from './kind/sensor.ts';

export interface SensorDriverDeps {
  readonly name: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly open: (signal: AbortSignal) => Promise<Sensor>;
  /** Called with readings that a driver gives by itself. */
  readonly onReadings: ReadingsListener;
  /** Called when an opened driver knows before its next read that this will fail. */
  readonly onTrouble: () => void;
  /** From when on nothing is kept open. */
  readonly closing: AbortSignal;
}

export interface DriverRead {
  /** Ends the read itself. */
  readonly signal: AbortSignal;
  /** Until then it is waited for, whatever the driver does. */
  readonly letGo: AbortSignal;
  /** Until then the one before is waited for. */
  readonly turn: AbortSignal;
}

/** Drivers that may hang after theirs was opened again: with the read under way, three of the eight threads of the pool. */
const MAX_LEFT = 2;
/** How long a driver that is to be opened again may take to close, and to end what is under way: less than it takes to fail until it is again. */
const END_WITHIN_MS = 2_000;

interface Opening {
  sensor: Sensor | undefined;
  unsubscribe: () => void;
  /** A read that has not ended yet, also when its deadline passed long ago. */
  underWay: Promise<void> | undefined;
}

export class SensorDriver {
  readonly #deps: SensorDriverDeps;
  #now = nothingOpen();
  #left = 0;

  constructor(deps: SensorDriverDeps) {
    this.#deps = deps;
  }

  /** False while it is not open. */
  get speaksByItself(): boolean {
    return this.#now.sensor?.speaksByItself === true;
  }

  /** Values that the last read could not give; none while it is not open. */
  get refused(): readonly Refusal[] {
    return this.#now.sensor?.refused?.() ?? [];
  }

  /** @throws AgentError `hardware/deadline` (retry), or whatever the driver throws. */
  async read({ signal, letGo, turn }: DriverRead): Promise<readonly Reading[]> {
    // Several may wait for the same one.
    while (this.#now.underWay !== undefined)
      await withinDeadline(this.#now.underWay, 'the read before has not ended', turn);
    const opening = this.#now;
    const reading = (async () => (opening.sensor ?? (await this.#open(opening, signal))).read(signal))();
    const ended = (): void => {
      opening.underWay = undefined;
    };
    opening.underWay = reading.then(ended, ended);
    return await answerWithin(
      (resolve, reject) => void reading.then(resolve, reject),
      `sensor ${this.#deps.name}`,
      letGo,
    );
  }

  /** The next read opens it again, once what is under way has ended or is left. Never rejects. */
  async openAnew(): Promise<void> {
    const opening = this.#now;
    const { underWay } = opening;
    await endedWithin(this.#deps.clock, END_WITHIN_MS, Promise.all([this.close(), underWay]));
    const hangs = underWay !== undefined && opening.underWay === underWay;
    if (!hangs || this.#left >= MAX_LEFT) return;
    this.#now = nothingOpen();
    this.#left += 1;
    await underWay;
    this.#left -= 1;
  }

  /** Takes as long as the driver does. Never rejects. */
  async close(): Promise<void> {
    const { sensor, unsubscribe } = this.#now;
    this.#now.sensor = undefined;
    this.#now.unsubscribe = () => {};
    if (sensor !== undefined) await giveBack(sensor, unsubscribe, this.#deps.log);
  }

  async #open(opening: Opening, signal: AbortSignal): Promise<Sensor> {
    const { name, open, onReadings, onTrouble, closing, log } = this.#deps;
    const sensor = await open(signal);
    // An opening that was given up may end late, when the sampler has closed, or another took its place.
    if (closing.aborted || opening !== this.#now) {
      void giveBack(sensor, () => {}, log);
      throw deadlineError(`opening ${name}`, signal);
    }
    opening.sensor = sensor;
    const ends = [sensor.subscribe?.(onReadings), sensor.onTrouble?.(onTrouble)];
    opening.unsubscribe = () => {
      for (const end of ends) end?.();
    };
    return sensor;
  }
}

/** Ends an opened sensor: each part by itself, as a driver of a user's own may fail in any of them. Never rejects. */
async function giveBack(sensor: Sensor, unsubscribe: () => void, log: Log): Promise<void> {
  for (const end of [unsubscribe, () => sensor.close()]) {
    try {
      await end();
    } catch (error) {
      log.debug({ sensor: sensor.name, reason: messageOf(error) }, 'closing failed');
    }
  }
}

function nothingOpen(): Opening {
  return { sensor: undefined, unsubscribe: () => {}, underWay: undefined };
}
