/**
 * Modbus over a line, serial or through a gateway, one question at a time. An answer carries no number: unit, function and length are all that tie
 * it to its question, so an answer that comes after its question was given up fits the next question as well, and would be taken for its value.
 *
 *   asked ─► answered
 *     └────► given up: an answer is outstanding. Before it is asked anything of the same function again, it has to answer a loop-back
 *            (function 8, with a number of its own): units answer in order, so nothing older follows.
 *
 * For the same reason an answer tells that all before the oldest question it fits will have none. An answer is believed when all that are
 * outstanding and that it fits are one and the same question; registers also only when nothing was written since. An outstanding answer expires after OWED_FOR_MS, whatever was asked since: some
 * units never answer the loop-back.
 *
 * A request that switches off does not wait for any of this: it is asked at once, and again.
 */
import { type AgentError, hasCode } from '../errors/agent-error.ts';
import type { Clock } from '../host/clock.ts';
import { sentence } from '../names/sentences.ts';
import { toldError } from '../names/told-error.ts';
import { answerWithin } from './deadline.ts';
import { type HeardFrame, type Hearing, LineEar } from './modbus-ear.ts';
import type { Framing } from './modbus-frames.ts';
import type { ByteLine } from './modbus-lines.ts';
import { answers, badAnswer, isRead, loopBackRequest, mayAnswer } from './modbus-pdu.ts';
import { type ModbusTransport, type OpenLine, strayAnswer } from './modbus-transports.ts';

/** No unit and no radio in between has been seen to answer later. */
const OWED_FOR_MS = 10_000;

/** A question that a unit has not answered. */
interface Owed {
  readonly question: Uint8Array;
  readonly askedAtMs: number;
  /** The unit was written to since: what it then had in its registers is no longer what it has. */
  readonly isOutdated: boolean;
}

/** Knowledge of a line that outlives its openings. */
export interface LineMemory {
  /** Outstanding answers by unit, in the order of the requests. */
  readonly debts: Map<number, readonly Owed[]>;
  /** The line was found to send back what it is given. */
  echoes: boolean;
}

export interface LineTransportDeps {
  readonly openLine: OpenLine;
  readonly framing: Framing;
  readonly clock: Clock;
  readonly memory: LineMemory;
  /** Silence that parts two frames. */
  readonly silenceMs: number;
  /** Half a frame is dropped after this long without a byte. */
  readonly gapMs: number;
  /** The line is known to send back all that it is given; otherwise it is found out. */
  readonly echo: boolean;
  /** Takes answers with another unit number. */
  readonly lenient: boolean;
}

/** Gets every frame with the questions it may be the answer to, or nothing for bytes that are no frame. */
type Listener = (frame: (HeardFrame & { readonly fits: readonly Owed[] }) | undefined) => void;

/** Tells from a frame what becomes of a request. */
type Judge<T> = (
  frame: Parameters<Listener>[0],
  resolve: (value: T) => void,
  reject: (error: AgentError) => void,
) => void;

export class LineTransport implements ModbusTransport {
  readonly #deps: LineTransportDeps;
  readonly line: ByteLine;
  readonly #ear: LineEar;
  #lastByteMs = Number.NEGATIVE_INFINITY;
  #onFrame: Listener | undefined;
  #onLost: (error: AgentError) => void = () => {};
  #nonce = 0;

  constructor(deps: LineTransportDeps) {
    this.#deps = deps;
    const mayFit: Hearing['mayFit'] = (unitId, head) =>
      this.#owedBy(unitId).some(({ question }) => mayAnswer(head, question));
    const onFrame: Hearing['onFrame'] = (frame) => {
      const fits = frame === undefined ? [] : this.#fitting(frame);
      this.#onFrame?.(frame && { ...frame, fits });
    };
    this.#ear = new LineEar({ ...deps, mayFit, onFrame });
    this.line = deps.openLine({ onBytes: (bytes) => this.#take(bytes), onLost: (error) => this.#onLost(error) });
  }

  settling(unitId: number, pdu: Uint8Array): ((signal: AbortSignal) => Promise<void>) | undefined {
    // An answer of another function, or its refusal, is never taken for this one's.
    const owesAlike = (): boolean => this.#owedBy(unitId).some(({ question }) => question[0] === pdu[0]);
    return owesAlike() ? (signal) => this.#settle(unitId, owesAlike, signal) : undefined;
  }

  async exchange(unitId: number, pdu: Uint8Array, signal: AbortSignal): Promise<Uint8Array> {
    let stray: AgentError | undefined;
    const judge: Judge<Uint8Array> = (frame, resolve, reject) => {
      if (frame === undefined) return reject(badAnswer('bytes that are no frame'));
      // A unit with an outstanding answer gives a late one.
      if (frame.unitId !== unitId && frame.fits.length === 0)
        stray = strayAnswer(`unit number (${frame.unitId}) than ${unitId}`);
      if (frame.unitId !== unitId || !answers(frame.pdu, pdu)) return;
      const isCurrent = ({ question, isOutdated }: Owed): boolean =>
        isSame(question, pdu) && !(isOutdated && isRead(pdu));
      if (frame.fits.every(isCurrent)) resolve(frame.pdu);
    };
    const answer = this.#listen(judge, `waiting for Modbus unit ${unitId} on ${this.line.label}`, signal);
    try {
      await this.#send(unitId, pdu, signal);
      const answered = await answer;
      this.#ear.learnEcho();
      return answered;
    } catch (error) {
      this.line.drop();
      throw stray ?? error;
    } finally {
      this.#onFrame = undefined;
    }
  }

  async close(): Promise<void> {
    this.#ear.close();
    await this.line.close();
  }

  async #settle(unitId: number, owesAlike: () => boolean, signal: AbortSignal): Promise<void> {
    this.#nonce = (this.#nonce + 1) & 0xffff;
    const request = loopBackRequest(this.#nonce);
    const what = `waiting for what Modbus unit ${unitId} on ${this.line.label} still owes`;
    const judge: Judge<void> = (frame, resolve) => {
      if (frame?.unitId === unitId && !owesAlike()) resolve();
    };
    const inStep = this.#listen(judge, what, signal);
    try {
      await this.#send(unitId, request, signal);
      await inStep;
    } catch (cause) {
      if (!hasCode(cause, 'hardware/deadline')) throw cause;
      throw toldError('hardware/modbus-no-answer', sentence('unitOwesAnswer', { unitId, line: this.line.label }), {
        recovery: 'retry',
        cause,
      });
    } finally {
      this.#onFrame = undefined;
    }
  }

  #listen<T>(judge: Judge<T>, what: string, signal: AbortSignal): Promise<T> {
    const listen: Parameters<typeof answerWithin<T>>[0] = (resolve, reject) => {
      this.#onFrame = (frame) => judge(frame, resolve, reject);
      this.#onLost = reject;
    };
    const heard = answerWithin(listen, what, signal);
    heard.catch(() => {}); // sending may fail first
    return heard;
  }

  /** Sends into silence; from then on an answer is outstanding. */
  async #send(unitId: number, pdu: Uint8Array, signal: AbortSignal): Promise<void> {
    const { clock, framing, silenceMs } = this.#deps;
    const { debts } = this.#deps.memory;
    for (let quietMs = this.#quietMs(); quietMs < silenceMs && !signal.aborted; quietMs = this.#quietMs())
      await clock.sleep(Math.max(1, silenceMs - quietMs), signal);
    const frame = framing.frame(unitId, pdu);
    this.#ear.expect({ unitId, frame, fitsItself: answers(pdu, pdu) });
    const before = this.#owedBy(unitId);
    const earlier = isRead(pdu) ? before : before.map((owed) => ({ ...owed, isOutdated: true }));
    debts.set(unitId, [...earlier, { question: pdu, askedAtMs: clock.monotonicMs(), isOutdated: false }]);
    try {
      await this.line.write(frame, signal);
    } catch (error) {
      if (hasCode(error, 'hardware/serial-unplugged') || !this.line.isOpen) debts.set(unitId, before); // nothing was sent
      throw error;
    }
  }

  #quietMs(): number {
    return this.#deps.clock.monotonicMs() - this.#lastByteMs;
  }

  #owedBy(unitId: number): readonly Owed[] {
    const sinceMs = this.#deps.clock.monotonicMs() - OWED_FOR_MS;
    return (this.#deps.memory.debts.get(unitId) ?? []).filter(({ askedAtMs }) => askedAtMs > sinceMs);
  }

  #take(bytes: Uint8Array): void {
    this.#lastByteMs = this.#deps.clock.monotonicMs();
    this.#ear.take(bytes);
  }

  /** The questions that this can be the answer to; those before the oldest of them are outstanding no more, nor is that one. */
  #fitting({ unitId, pdu }: HeardFrame): readonly Owed[] {
    const { debts } = this.#deps.memory;
    const owed = debts.get(unitId) ?? [];
    const oldest = owed.findIndex(({ question }) => answers(pdu, question));
    // An answer that fits none is the answer to one of them all the same.
    debts.set(unitId, owed.slice(Math.max(oldest, 0) + 1));
    return owed.filter(({ question }) => answers(pdu, question));
  }
}

function isSame(one: Uint8Array, other: Uint8Array): boolean {
  return Buffer.compare(one, other) === 0;
}
