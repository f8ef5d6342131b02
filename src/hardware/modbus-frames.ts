/**
 * Modbus on the wire (MODBUS Application Protocol V1.1b3, MODBUS over Serial Line V1.02). Our own and not modbus-serial's, because that
 * loads the native serial driver even for TCP, and its requests cannot be called off.
 *
 *   RTU   unit, PDU, CRC-16 (low byte first)
 *   TCP   transaction (2), protocol 0 (2), length (2), unit, PDU
 */
import { AgentError, retryable } from '../errors/agent-error.ts';
import type { RegisterRange } from './modbus-port.ts';

/** Exceptions that a unit answers when it refuses (V1.1b3, section 7). */
const EXCEPTIONS: Readonly<Record<number, string>> = {
  1: 'illegal function',
  2: 'illegal data address',
  3: 'illegal data value',
  4: 'device failure',
  5: 'acknowledged, still working',
  6: 'device busy',
  8: 'memory parity error',
  10: 'gateway path unavailable',
  11: 'gateway target did not respond',
};
/** These three say that the same request can never succeed. */
const FINAL_EXCEPTIONS: ReadonlySet<number> = new Set([1, 2, 3]);
/** These two come from a gateway, in place of the unit. */
const GATEWAY_EXCEPTIONS: ReadonlySet<number> = new Set([10, 11]);
const EXCEPTION_FLAG = 0x80;
const MBAP_LENGTH = 7;
/** The longest PDU of a serial line, and so of all (section 4.1). */
const MAX_PDU_LENGTH = 253;

export const FUNCTION = {
  readCoils: 1,
  readDiscrete: 2,
  readHolding: 3,
  readInput: 4,
  writeCoil: 5,
  writeRegister: 6,
  diagnostics: 8,
  writeRegisters: 16,
} as const;

/** CRC-16 of the serial line: polynomial 0xa001 reflected, start 0xffff (V1.02, appendix B). */
export function crc16(bytes: Uint8Array): number {
  let crc = 0xffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit += 1) crc = crc & 1 ? (crc >> 1) ^ 0xa001 : crc >> 1;
  }
  return crc;
}

export function rtuFrame(unitId: number, pdu: Uint8Array): Uint8Array {
  const frame = Buffer.from([unitId, ...pdu, 0, 0]);
  frame.writeUInt16LE(crc16(frame.subarray(0, -2)), frame.length - 2);
  return frame;
}

/** The frame's length as far as its first bytes tell; undefined while they do not. */
export function rtuAnswerLength(bytes: Uint8Array): number | undefined {
  const [, code, third] = bytes;
  if (code === undefined) return undefined;
  if (code & EXCEPTION_FLAG) return 5;
  if (code >= FUNCTION.readCoils && code <= FUNCTION.readInput) return third === undefined ? undefined : third + 5;
  return 8;
}

/** The PDU of a whole frame. @throws AgentError `hardware/modbus-bad-answer` (retry) for a wrong check sum or another unit's answer. */
export function parseRtuFrame(frame: Uint8Array, unitId: number): Uint8Array {
  const body = frame.subarray(0, -2);
  const sum = (frame.at(-2) ?? 0) | ((frame.at(-1) ?? 0) << 8);
  if (frame.length < 5 || crc16(body) !== sum) throw badAnswer('a wrong check sum');
  if (body[0] !== unitId) throw badAnswer(`an answer of unit ${body[0]}`);
  return body.subarray(1);
}

export function tcpFrame(transaction: number, unitId: number, pdu: Uint8Array): Uint8Array {
  const frame = Buffer.alloc(MBAP_LENGTH + pdu.length);
  frame.writeUInt16BE(transaction, 0);
  frame.writeUInt16BE(pdu.length + 1, 4);
  frame[6] = unitId;
  frame.set(pdu, MBAP_LENGTH);
  return frame;
}

export interface TcpAnswer {
  readonly transaction: number;
  readonly unitId: number;
  readonly pdu: Uint8Array;
  /** How many bytes it took. */
  readonly length: number;
}

/** The first whole frame in these bytes; undefined while it is not whole. @throws AgentError `hardware/modbus-bad-answer` (retry). */
export function parseTcpFrame(bytes: Uint8Array): TcpAnswer | undefined {
  if (bytes.length < MBAP_LENGTH + 1) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const length = view.getUint16(4);
  if (view.getUint16(2) !== 0 || length < 2 || length > MAX_PDU_LENGTH + 1) throw badAnswer('no Modbus/TCP header');
  if (bytes.length < MBAP_LENGTH - 1 + length) return undefined;
  return {
    transaction: view.getUint16(0),
    unitId: bytes[6] ?? 0,
    pdu: bytes.slice(MBAP_LENGTH, MBAP_LENGTH - 1 + length),
    length: MBAP_LENGTH - 1 + length,
  };
}

export function readRequest(code: number, { address, count }: Pick<RegisterRange, 'address' | 'count'>): Uint8Array {
  return Uint8Array.of(code, address >> 8, address & 0xff, count >> 8, count & 0xff);
}

export function writeCoilRequest(address: number, on: boolean): Uint8Array {
  return Uint8Array.of(FUNCTION.writeCoil, address >> 8, address & 0xff, on ? 0xff : 0, 0);
}

/** One register with function 6, several with 16: some small units know only the former. */
export function writeRegistersRequest(address: number, words: readonly number[]): Uint8Array {
  const bytes = words.flatMap((word) => [(word >> 8) & 0xff, word & 0xff]);
  if (words.length === 1) return Uint8Array.of(FUNCTION.writeRegister, address >> 8, address & 0xff, ...bytes);
  return Uint8Array.of(FUNCTION.writeRegisters, address >> 8, address & 0xff, 0, words.length, bytes.length, ...bytes);
}

/** Asks a unit on a serial line to send this number back (function 8, sub-function 0: section 6.8). */
export function loopBackRequest(number: number): Uint8Array {
  return Uint8Array.of(FUNCTION.diagnostics, 0, 0, number >> 8, number & 0xff);
}

/** True when a PDU can be the answer to a request: its function, or its refusal, with the length or the echo that the request calls for. */
export function answers(pdu: Uint8Array, request: Uint8Array): boolean {
  const code = request[0] ?? 0;
  if (pdu[0] === (code | EXCEPTION_FLAG)) return true;
  if (pdu[0] !== code) return false;
  if (code > FUNCTION.readInput) return pdu.length === 5 && pdu.every((byte, at) => byte === request[at]);
  const count = ((request[3] ?? 0) << 8) | (request[4] ?? 0);
  return pdu[1] === (code <= FUNCTION.readDiscrete ? Math.ceil(count / 8) : 2 * count) && pdu.length === 2 + pdu[1];
}

/** Registers of an answer to a read. @throws AgentError `hardware/modbus-exception`, `hardware/modbus-no-answer`, `hardware/modbus-bad-answer`. */
export function parseRegisters(pdu: Uint8Array, code: number, count: number): readonly number[] {
  checkAnswer(pdu, code);
  if (pdu[1] !== 2 * count || pdu.length !== 2 + 2 * count) throw badAnswer(`${pdu.length - 2} bytes instead of ${2 * count}`);
  return Array.from({ length: count }, (_, at) => ((pdu[2 + 2 * at] ?? 0) << 8) | (pdu[3 + 2 * at] ?? 0));
}

/** Bits of an answer to a read. @throws the same as parseRegisters. */
export function parseBits(pdu: Uint8Array, code: number, count: number): readonly boolean[] {
  checkAnswer(pdu, code);
  const bytes = Math.ceil(count / 8);
  if (pdu[1] !== bytes || pdu.length !== 2 + bytes) throw badAnswer(`${pdu.length - 2} bytes instead of ${bytes}`);
  return Array.from({ length: count }, (_, at) => (((pdu[2 + (at >> 3)] ?? 0) >> (at & 7)) & 1) === 1);
}

/** An answer to a write repeats the head of its request. @throws the same as parseRegisters. */
export function checkWritten(pdu: Uint8Array, request: Uint8Array): void {
  checkAnswer(pdu, request[0] ?? 0);
  if (pdu.length !== 5 || pdu.some((byte, at) => byte !== request[at])) throw badAnswer('an echo that differs from the request');
}

function checkAnswer(pdu: Uint8Array, code: number): void {
  const [answered, reason = 0] = pdu;
  if (answered === (code | EXCEPTION_FLAG)) {
    const words = EXCEPTIONS[reason] ?? `exception ${reason}`;
    if (GATEWAY_EXCEPTIONS.has(reason)) throw retryable('hardware/modbus-no-answer', `the Modbus gateway has no answer: ${words}`);
    const recovery = FINAL_EXCEPTIONS.has(reason) ? 'drop' : 'retry';
    throw new AgentError('hardware/modbus-exception', `the Modbus unit refused: ${words}`, { recovery });
  }
  if (answered !== code) throw badAnswer(`an answer to function ${answered} instead of ${code}`);
}

export function badAnswer(what: string): AgentError {
  return retryable('hardware/modbus-bad-answer', `on the Modbus came ${what}`);
}
