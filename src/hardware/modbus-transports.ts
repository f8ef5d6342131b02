/** A PDU there, a PDU back: over a serial line, and over TCP. One request at a time; what comes late or unasked is thrown away. */
import { createConnection, type Socket } from 'node:net';
import { AgentError } from '../errors.ts';
import type { Clock } from '../host/clock.ts';
import { withinDeadline } from './deadline.ts';
import { badAnswer, parseRtuFrame, parseTcpFrame, rtuAnswerLength, rtuFrame, type TcpAnswer, tcpFrame } from './modbus-frames.ts';
import type { SerialPort } from './serial-port.ts';

export interface ModbusTransport {
  /** @throws AgentError `hardware/modbus-bad-answer`, `hardware/modbus-no-answer`, `hardware/deadline` (retry). */
  exchange(unitId: number, pdu: Uint8Array, signal: AbortSignal): Promise<Uint8Array>;
  close(): Promise<void>;
}

/** 3.5 characters of silence part two frames; from 19200 baud on it is this long whatever the speed (V1.02, section 2.5.1.1). */
const LEAST_SILENCE_MS = 1.75;
const SILENT_CHARACTERS = 3.5;
const BITS_PER_CHARACTER = 11;
/** More than the longest frame is noise. */
const LONGEST_FRAME = 256;

export class RtuTransport implements ModbusTransport {
  readonly #port: SerialPort;
  readonly #clock: Clock;
  readonly #silenceMs: number;
  readonly #stop: () => void;
  #onBytes: (bytes: Uint8Array) => void = () => {};
  #lastByteMs = Number.NEGATIVE_INFINITY;

  constructor(port: SerialPort, baudRate: number, clock: Clock) {
    this.#port = port;
    this.#clock = clock;
    this.#silenceMs = Math.max(LEAST_SILENCE_MS, (SILENT_CHARACTERS * BITS_PER_CHARACTER * 1000) / baudRate);
    this.#stop = port.onBytes((bytes) => {
      this.#lastByteMs = clock.monotonicMs();
      this.#onBytes(bytes);
    });
  }

  async exchange(unitId: number, pdu: Uint8Array, signal: AbortSignal): Promise<Uint8Array> {
    const quietForMs = this.#clock.monotonicMs() - this.#lastByteMs;
    if (quietForMs < this.#silenceMs) await this.#clock.sleep(this.#silenceMs - quietForMs, signal);
    let received = new Uint8Array();
    const answer = new Promise<Uint8Array>((resolve, reject) => {
      this.#onBytes = (bytes) => {
        received = Buffer.concat([received, bytes]);
        const length = rtuAnswerLength(received);
        if (length !== undefined && received.length >= length) resolve(received.subarray(0, length));
        else if (received.length > LONGEST_FRAME) reject(badAnswer('more than a frame'));
      };
    });
    answer.catch(() => {});
    try {
      await this.#port.write(rtuFrame(unitId, pdu), signal);
      return parseRtuFrame(await withinDeadline(answer, `waiting for Modbus unit ${unitId} on ${this.#port.path}`, signal), unitId);
    } finally {
      this.#onBytes = () => {};
    }
  }

  async close(): Promise<void> {
    this.#stop();
    await this.#port.close();
  }
}

export class TcpTransport implements ModbusTransport {
  readonly #host: string;
  readonly #place: (signal: AbortSignal) => Promise<{ readonly host: string; readonly port: number }>;
  #socket: Socket | undefined;
  #transaction = 0;
  #onAnswer: (answer: TcpAnswer) => void = () => {};
  #onLost: (error: AgentError) => void = () => {};

  /** @param host for messages. */
  constructor(host: string, place: (signal: AbortSignal) => Promise<{ readonly host: string; readonly port: number }>) {
    this.#host = host;
    this.#place = place;
  }

  async exchange(unitId: number, pdu: Uint8Array, signal: AbortSignal): Promise<Uint8Array> {
    const what = `waiting for Modbus unit ${unitId} at ${this.#host}`;
    const socket = this.#socket ?? (await withinDeadline(this.#connect(signal), what, signal));
    this.#transaction = (this.#transaction + 1) & 0xffff;
    const transaction = this.#transaction;
    const answer = new Promise<Uint8Array>((resolve, reject) => {
      this.#onLost = reject;
      this.#onAnswer = (given) => {
        if (given.transaction === transaction && given.unitId === unitId) resolve(given.pdu);
      };
    });
    answer.catch(() => {});
    socket.write(tcpFrame(transaction, unitId, pdu));
    try {
      return await withinDeadline(answer, what, signal);
    } catch (error) {
      // A connection on which an answer is overdue is not trusted with the next request.
      this.#drop(socket);
      throw error;
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
    const socket = createConnection({ ...(await this.#place(signal)), noDelay: true });
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve);
      socket.once('error', (cause) =>
        reject(new AgentError('hardware/modbus-no-answer', `no connection to Modbus host ${this.#host}`, { recovery: 'retry', cause })),
      );
    });
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
      this.#onLost(new AgentError('hardware/modbus-no-answer', `Modbus host ${this.#host} hung up`, { recovery: 'retry' }));
    });
    this.#socket = socket;
    return socket;
  }
}
