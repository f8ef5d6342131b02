/**
 * Modbus over a serial line, one question at a time. An RTU answer carries no number: unit, function and length are all that tie it to its
 * question, so an answer that comes after its question was given up fits the next question as well, and would be taken for its value.
 *
 *   asked ─► answered
 *     └────► given up: an answer is outstanding. Before it is asked anything of the same function again, it has to answer a loop-back
 *            (function 8, with a number of its own): units answer in order, so nothing older follows.
 *
 * For the same reason an answer tells that all before the oldest question it fits will have none. An answer is believed when all that are
 * outstanding and that it fits are one and the same question. An outstanding answer expires after OWED_FOR_MS, whatever was asked since: some
 * units never answer the loop-back.
 *
 * A request that switches off does not wait for any of this: it is asked at once, and again.
 */
import { type AgentError, hasCode, retryable } from '../errors/agent-error.ts';
import type { Clock } from '../host/clock.ts';
import { withinDeadline } from './deadline.ts';
import { answers, badAnswer, loopBackRequest, parseRtuFrame, rtuAnswerLength, rtuFrame } from './modbus-frames.ts';
import type { ModbusTransport } from './modbus-transports.ts';
import type { SerialPort } from './serial-port.ts';

/** 3.5 characters of silence part two frames; from 19200 baud on it is this long whatever the speed (V1.02, section 2.5.1.1). */
const MIN_SILENCE_MS = 1.75;
const SILENT_CHARACTERS = 3.5;
const BITS_PER_CHARACTER = 11;
/** A USB adapter hands bytes over every 16 ms: what stays half for longer is no frame any more. */
const HALF_FRAME_MS = 100;
/** More than the longest frame is noise. */
const MAX_FRAME_LENGTH = 256;
/** No unit and no radio in between has been seen to answer later. */
const OWED_FOR_MS = 10_000;

/** A question that a unit has not answered. */
interface Owed {
  readonly question: Uint8Array;
  readonly askedAtMs: number;
}

/** Outstanding answers of a line, by unit, in the order of the requests. A line that is opened again finds those of its units. */
export type UnitDebts = Map<number, readonly Owed[]>;

export interface RtuDeps {
  readonly port: SerialPort;
  readonly baudRate: number;
  readonly clock: Clock;
  readonly debts: UnitDebts;
}

interface Frame {
  readonly unitId: number;
  readonly pdu: Uint8Array;
}

/** Gets every frame with the questions it may be the answer to, or nothing for bytes that are no frame. */
type Listener = (frame: (Frame & { readonly fits: readonly Uint8Array[] }) | undefined) => void;

export class RtuTransport implements ModbusTransport {
  readonly #port: SerialPort;
  readonly #clock: Clock;
  readonly #silenceMs: number;
  readonly #stop: () => void;
  readonly #owed: UnitDebts;
  #rest: Uint8Array = new Uint8Array();
  #lastByteMs = Number.NEGATIVE_INFINITY;
  #onFrame: Listener | undefined;
  #nonce = 0;

  constructor({ port, baudRate, clock, debts }: RtuDeps) {
    this.#port = port;
    this.#clock = clock;
    this.#owed = debts;
    this.#silenceMs = Math.max(MIN_SILENCE_MS, (SILENT_CHARACTERS * BITS_PER_CHARACTER * 1000) / baudRate);
    this.#stop = port.onBytes((bytes) => this.#take(bytes));
  }

  async settle(unitId: number, pdu: Uint8Array, signal: AbortSignal): Promise<void> {
    // An answer of another function, or its refusal, is never taken for this one's.
    const owesAlike = (): boolean => this.#owedBy(unitId).some(({ question }) => question[0] === pdu[0]);
    if (!owesAlike()) return;
    this.#nonce = (this.#nonce + 1) & 0xffff;
    const request = loopBackRequest(this.#nonce);
    const inStep = this.#listen<void>((frame, resolve) => {
      if (frame?.unitId === unitId && !owesAlike()) resolve();
    });
    try {
      await this.#send(unitId, request, signal);
      await withinDeadline(inStep, `waiting for what Modbus unit ${unitId} on ${this.#port.path} still owes`, signal);
    } catch (cause) {
      if (!hasCode(cause, 'hardware/deadline')) throw cause;
      const what = `Modbus unit ${unitId} on ${this.#port.path} has not answered an earlier question yet`;
      throw retryable('hardware/modbus-no-answer', what, cause);
    } finally {
      this.#onFrame = undefined;
    }
  }

  async exchange(unitId: number, pdu: Uint8Array, signal: AbortSignal): Promise<Uint8Array> {
    let stray: AgentError | undefined;
    const answer = this.#listen<Uint8Array>((frame, resolve, reject) => {
      if (frame === undefined) return reject(badAnswer('bytes that are no frame'));
      // A unit with an outstanding answer gives a late one.
      if (frame.unitId !== unitId && frame.fits.length === 0)
        stray = badAnswer(`an answer with another unit number (${frame.unitId}) than ${unitId}`);
      if (frame.unitId !== unitId || !answers(frame.pdu, pdu)) return;
      if (frame.fits.every((question) => isSame(question, pdu))) resolve(frame.pdu);
    });
    try {
      await this.#send(unitId, pdu, signal);
      return await withinDeadline(answer, `waiting for Modbus unit ${unitId} on ${this.#port.path}`, signal);
    } catch (error) {
      throw stray ?? error;
    } finally {
      this.#onFrame = undefined;
    }
  }

  async close(): Promise<void> {
    this.#stop();
    await this.#port.close();
  }

  #listen<T>(judge: (frame: Parameters<Listener>[0], resolve: (value: T) => void, reject: (error: Error) => void) => void): Promise<T> {
    const heard = new Promise<T>((resolve, reject) => {
      this.#onFrame = (frame) => judge(frame, resolve, reject);
    });
    heard.catch(() => {});
    return heard;
  }

  /** Sends into silence; from then on an answer is outstanding. */
  async #send(unitId: number, pdu: Uint8Array, signal: AbortSignal): Promise<void> {
    for (let quietMs = this.#quietMs(); quietMs < this.#silenceMs && !signal.aborted; quietMs = this.#quietMs())
      await this.#clock.sleep(Math.max(1, this.#silenceMs - quietMs), signal);
    this.#rest = new Uint8Array();
    const before = this.#owedBy(unitId);
    this.#owed.set(unitId, [...before, { question: pdu, askedAtMs: this.#clock.monotonicMs() }]);
    try {
      await this.#port.write(rtuFrame(unitId, pdu), signal);
    } catch (error) {
      if (hasCode(error, 'hardware/serial-unplugged')) this.#owed.set(unitId, before); // nothing was sent
      throw error;
    }
  }

  #quietMs(): number {
    return this.#clock.monotonicMs() - this.#lastByteMs;
  }

  #owedBy(unitId: number): readonly Owed[] {
    const sinceMs = this.#clock.monotonicMs() - OWED_FOR_MS;
    return (this.#owed.get(unitId) ?? []).filter(({ askedAtMs }) => askedAtMs > sinceMs);
  }

  #take(bytes: Uint8Array): void {
    if (this.#quietMs() > HALF_FRAME_MS) this.#rest = new Uint8Array();
    this.#lastByteMs = this.#clock.monotonicMs();
    this.#rest = Buffer.concat([this.#rest, bytes]);
    for (let length = rtuAnswerLength(this.#rest); length !== undefined; length = rtuAnswerLength(this.#rest)) {
      if (this.#rest.length < length && this.#rest.length <= MAX_FRAME_LENGTH) return;
      const frame = frameOf(this.#rest.subarray(0, length));
      // Where a frame begins among noise cannot be told: all of it is dropped.
      this.#rest = frame === undefined ? new Uint8Array() : this.#rest.subarray(length);
      const heard = frame && { ...frame, fits: this.#fitting(frame) };
      this.#onFrame?.(heard);
    }
  }

  /** The questions that this can be the answer to; those before the oldest of them are outstanding no more, nor is that one. */
  #fitting({ unitId, pdu }: Frame): readonly Uint8Array[] {
    const owed = this.#owed.get(unitId) ?? [];
    const oldest = owed.findIndex(({ question }) => answers(pdu, question));
    // An answer that fits none is the answer to one of them all the same.
    this.#owed.set(unitId, owed.slice(Math.max(oldest, 0) + 1));
    return owed.map(({ question }) => question).filter((question) => answers(pdu, question));
  }
}

function frameOf(bytes: Uint8Array): Frame | undefined {
  const unitId = bytes[0] ?? 0;
  try {
    return { unitId, pdu: parseRtuFrame(bytes, unitId) };
  } catch {
    return undefined;
  }
}

function isSame(one: Uint8Array, other: Uint8Array): boolean {
  return Buffer.compare(one, other) === 0;
}
