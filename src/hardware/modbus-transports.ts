/** A PDU there, a PDU back, one request at a time: what all transports have in common, and TCP, whose answers carry their request's number. */
import type { AgentError } from '../errors/agent-error.ts';
import { answerWithin } from './deadline.ts';
import { parseTcpFrame, type TcpAnswer, tcpFrame } from './modbus-frames.ts';
import type { ByteLine, LineListener } from './modbus-lines.ts';
import { badAnswer } from './modbus-pdu.ts';

export interface ModbusTransport {
  readonly line: ByteLine;
  /**
   * The work after which no answer is outstanding that could be taken for the one to this request, undefined when none is; what switches off
   * does not wait for it. It throws AgentError `hardware/modbus-no-answer` (retry).
   */
  settling(unitId: number, pdu: Uint8Array): ((signal: AbortSignal) => Promise<void>) | undefined;
  /** @throws AgentError `hardware/modbus-bad-answer`, `hardware/modbus-no-answer`, `hardware/deadline` (retry). */
  exchange(unitId: number, pdu: Uint8Array, signal: AbortSignal): Promise<Uint8Array>;
  close(): Promise<void>;
}

/** Makes the line of a transport, which listens to it. */
export type OpenLine = (listener: LineListener) => ByteLine;

export interface TcpTransportDeps {
  readonly openLine: OpenLine;
  /** Takes answers with another transaction or unit number. */
  readonly lenient: boolean;
}

export class TcpTransport implements ModbusTransport {
  readonly line: ByteLine;
  readonly #lenient: boolean;
  #rest: Uint8Array = new Uint8Array();
  #transaction = 0;
  #onAnswer: (answer: TcpAnswer) => void = () => {};
  #onLost: (error: AgentError) => void = () => {};

  constructor({ openLine, lenient }: TcpTransportDeps) {
    this.#lenient = lenient;
    this.line = openLine({ onBytes: (bytes) => this.#take(bytes), onLost: (error) => this.#lost(error) });
  }

  settling(): undefined {}

  async exchange(unitId: number, pdu: Uint8Array, signal: AbortSignal): Promise<Uint8Array> {
    this.#transaction = (this.#transaction + 1) & 0xffff;
    const transaction = this.#transaction;
    let stray: AgentError | undefined;
    const listen = (resolve: (pdu: Uint8Array) => void, reject: (error: AgentError) => void): void => {
      this.#onLost = reject;
      this.#onAnswer = (given) => {
        const isOther = given.transaction !== transaction;
        if (this.#lenient || (!isOther && given.unitId === unitId)) return resolve(given.pdu);
        stray = isOther
          ? strayAnswer('transaction number')
          : strayAnswer(`unit number (${given.unitId}) than ${unitId}`);
      };
    };
    const answer = answerWithin(listen, `waiting for Modbus unit ${unitId} at ${this.line.label}`, signal);
    answer.catch(() => {}); // writing may fail first
    try {
      await this.line.write(tcpFrame(transaction, unitId, pdu), signal);
      return await answer;
    } catch (error) {
      // A connection on which an answer is overdue is not trusted with the next request.
      this.#drop();
      throw stray ?? error;
    } finally {
      this.#onAnswer = () => {};
      this.#onLost = () => {};
    }
  }

  async close(): Promise<void> {
    await this.line.close();
  }

  #take(bytes: Uint8Array): void {
    this.#rest = Buffer.concat([this.#rest, bytes]);
    try {
      for (let answer = parseTcpFrame(this.#rest); answer !== undefined; answer = parseTcpFrame(this.#rest)) {
        this.#rest = this.#rest.subarray(answer.length);
        this.#onAnswer(answer);
      }
    } catch (error) {
      this.#onLost(error as AgentError);
      this.#drop();
    }
  }

  #lost(error: AgentError): void {
    this.#rest = new Uint8Array();
    this.#onLost(error);
  }

  #drop(): void {
    this.#rest = new Uint8Array();
    this.line.drop();
  }
}

/** An answer whose numbers are not those of its request. */
export function strayAnswer(what: string): AgentError {
  return badAnswer(`an answer with another ${what}; with lenient: true it is taken`);
}
