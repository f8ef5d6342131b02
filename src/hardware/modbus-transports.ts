/** A PDU there, a PDU back, one request at a time: what a serial line and TCP have in common, and TCP, whose answers carry their request's number. */
import { createConnection, type Socket } from 'node:net';
import { type AgentError, retryable } from '../errors/agent-error.ts';
import { deadlineError, withinDeadline } from './deadline.ts';
import { badAnswer, parseTcpFrame, type TcpAnswer, tcpFrame } from './modbus-frames.ts';

export interface ModbusTransport {
  /**
   * Resolves when no answer is outstanding that could be taken for the one to this request; what switches off does not wait for it.
   * @throws AgentError `hardware/modbus-no-answer` (retry).
   */
  settle(unitId: number, pdu: Uint8Array, signal: AbortSignal): Promise<void>;
  /** @throws AgentError `hardware/modbus-bad-answer`, `hardware/modbus-no-answer`, `hardware/deadline` (retry). */
  exchange(unitId: number, pdu: Uint8Array, signal: AbortSignal): Promise<Uint8Array>;
  close(): Promise<void>;
}

export interface TcpPlace {
  readonly host: string;
  readonly port: number;
}

export class TcpTransport implements ModbusTransport {
  readonly #host: string;
  readonly #place: (signal: AbortSignal) => Promise<TcpPlace>;
  #socket: Socket | undefined;
  #transaction = 0;
  #onAnswer: (answer: TcpAnswer) => void = () => {};
  #onLost: (error: AgentError) => void = () => {};

  /** @param host for messages. */
  constructor(host: string, place: (signal: AbortSignal) => Promise<TcpPlace>) {
    this.#host = host;
    this.#place = place;
  }

  async settle(): Promise<void> {}

  async exchange(unitId: number, pdu: Uint8Array, signal: AbortSignal): Promise<Uint8Array> {
    const what = `waiting for Modbus unit ${unitId} at ${this.#host}`;
    const socket = this.#socket ?? (await withinDeadline(this.#connect(signal), what, signal));
    this.#transaction = (this.#transaction + 1) & 0xffff;
    const transaction = this.#transaction;
    let stray: AgentError | undefined;
    const answer = new Promise<Uint8Array>((resolve, reject) => {
      this.#onLost = reject;
      this.#onAnswer = (given) => {
        if (given.transaction !== transaction) stray = badAnswer('an answer with another transaction number');
        else if (given.unitId !== unitId) stray = badAnswer(`an answer with another unit number (${given.unitId}) than ${unitId}`);
        else resolve(given.pdu);
      };
    });
    answer.catch(() => {});
    socket.write(tcpFrame(transaction, unitId, pdu));
    try {
      return await withinDeadline(answer, what, signal);
    } catch (error) {
      // A connection on which an answer is overdue is not trusted with the next request.
      this.#drop(socket);
      throw stray ?? error;
    } finally {
      this.#onAnswer = () => {};
      this.#onLost = () => {};
    }
  }

  async close(): Promise<void> {
    this.#socket?.destroy();
  }

  /** Forgotten at once, so that the next request makes a new connection. */
  #drop(socket: Socket): void {
    if (this.#socket === socket) this.#socket = undefined;
    socket.destroy();
  }

  async #connect(signal: AbortSignal): Promise<Socket> {
    const { host, port } = await this.#place(signal);
    const socket = createConnection({ host, port, noDelay: true });
    // A connection that nobody waits for any more is not made: the next request makes its own.
    const giveUp = (): void => void socket.destroy(deadlineError(`connecting to ${this.#host}`, signal));
    if (signal.aborted) giveUp();
    signal.addEventListener('abort', giveUp, { once: true });
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve);
      socket.once('error', (cause) => reject(retryable('hardware/modbus-no-answer', `no connection to Modbus host ${this.#host}`, cause)));
    }).finally(() => signal.removeEventListener('abort', giveUp));
    let rest = new Uint8Array();
    socket.on('error', () => {}); // close follows
    socket.on('data', (bytes) => {
      rest = Buffer.concat([rest, bytes]);
      try {
        for (let answer = parseTcpFrame(rest); answer !== undefined; answer = parseTcpFrame(rest)) {
          rest = rest.subarray(answer.length);
          this.#onAnswer(answer);
        }
      } catch (error) {
        this.#onLost(error as AgentError);
        this.#drop(socket);
      }
    });
    socket.once('close', () => {
      if (this.#socket !== socket) return; // dropped before: its end is no news
      this.#socket = undefined;
      this.#onLost(retryable('hardware/modbus-no-answer', `Modbus host ${this.#host} hung up`));
    });
    this.#socket = socket;
    return socket;
  }
}
