/** Requests to Modbus units and their answers, however they are framed (MODBUS Application Protocol V1.1b3). */
import { AgentError, retryable } from '../errors/agent-error.ts';
import type { RegisterBit, RegisterRange, WriteFunction } from './modbus-port.ts';

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
/** These two say that the unit understood, and is not done with it or with something else. */
const BUSY = { working: 5, busy: 6 } as const;
/** These three say that the same request can never succeed. */
const FINAL_EXCEPTIONS: ReadonlySet<number> = new Set([1, 2, 3]);
/** These two come from a gateway, in place of the unit. */
const GATEWAY_EXCEPTIONS: ReadonlySet<number> = new Set([10, 11]);
export const EXCEPTION_FLAG = 0x80;
export const MODBUS_BUSY = 'hardware/modbus-busy';
export const MODBUS_WORKING = 'hardware/modbus-working';

export const FUNCTION = {
  readCoils: 1,
  readDiscrete: 2,
  readHolding: 3,
  readInput: 4,
  writeCoil: 5,
  writeRegister: 6,
  diagnostics: 8,
  writeCoils: 15,
  writeRegisters: 16,
  reportServerId: 17,
  maskWriteRegister: 22,
  readDeviceIdentification: 43,
} as const;

/** Functions whose answers tell their own length; the request has one byte, or three that the answer repeats. */
const WRITES: ReadonlySet<number> = new Set([
  FUNCTION.writeCoil,
  FUNCTION.writeRegister,
  FUNCTION.writeCoils,
  FUNCTION.writeRegisters,
  FUNCTION.maskWriteRegister,
]);
const IDENTIFICATIONS: ReadonlySet<number> = new Set([FUNCTION.reportServerId, FUNCTION.readDeviceIdentification]);

export function readRequest(code: number, { address, count }: Pick<RegisterRange, 'address' | 'count'>): Uint8Array {
  return Uint8Array.of(code, address >> 8, address & 0xff, count >> 8, count & 0xff);
}

/** With function 5, or 15 where a unit wants it. */
export function writeCoilRequest(address: number, on: boolean, code?: WriteFunction): Uint8Array {
  const place = [address >> 8, address & 0xff];
  if (code === FUNCTION.writeCoils) return Uint8Array.of(code, ...place, 0, 1, 1, on ? 1 : 0);
  return Uint8Array.of(FUNCTION.writeCoil, ...place, on ? 0xff : 0, 0);
}

/** One register with function 6, several with 16: some small units know only the former, others only the latter. */
export function writeRegistersRequest(address: number, words: readonly number[], code?: WriteFunction): Uint8Array {
  const bytes = words.flatMap((word) => [(word >> 8) & 0xff, word & 0xff]);
  if (words.length === 1 && code !== FUNCTION.writeRegisters)
    return Uint8Array.of(FUNCTION.writeRegister, address >> 8, address & 0xff, ...bytes);
  return Uint8Array.of(FUNCTION.writeRegisters, address >> 8, address & 0xff, 0, words.length, bytes.length, ...bytes);
}

/** Writes one bit of a register and leaves the others: AND and OR masks (section 6.16). */
export function maskWriteRequest({ address, bit, on }: RegisterBit): Uint8Array {
  const [and, or] = [0xffff & ~(1 << bit), on ? 1 << bit : 0];
  return Uint8Array.of(
    FUNCTION.maskWriteRegister,
    address >> 8,
    address & 0xff,
    and >> 8,
    and & 0xff,
    or >> 8,
    or & 0xff,
  );
}

/** Asks for maker, product and revision (function 43, type 14: section 6.21). */
export const IDENTIFICATION_REQUEST = Uint8Array.of(FUNCTION.readDeviceIdentification, 14, 1, 0);

/** Texts by their object: 0 maker, 1 product, 2 revision. */
export function parseIdentification(pdu: Uint8Array): ReadonlyMap<number, string> {
  checkAnswer(pdu, FUNCTION.readDeviceIdentification);
  const texts = new Map<number, string>();
  let at = 7;
  for (let left = pdu[6] ?? 0; left > 0 && at + 2 <= pdu.length; left -= 1) {
    const [object = 0, length = 0] = pdu.subarray(at, at + 2);
    texts.set(object, Buffer.from(pdu.subarray(at + 2, at + 2 + length)).toString('latin1'));
    at += 2 + length;
  }
  return texts;
}

/** Asks for what the maker put in its server id (function 17: section 6.13). */
export const SERVER_ID_REQUEST = Uint8Array.of(FUNCTION.reportServerId);

/** Printable characters of a server id, whose form is each maker's own; undefined when there are too few to be words. */
export function parseServerId(pdu: Uint8Array): string | undefined {
  checkAnswer(pdu, FUNCTION.reportServerId);
  return /[\x20-\x7e]{3,}/.exec(Buffer.from(pdu.subarray(2)).toString('latin1'))?.[0].trim();
}

/** Asks a unit on a serial line to send this number back (function 8, sub-function 0: section 6.8). */
export function loopBackRequest(number: number): Uint8Array {
  return Uint8Array.of(FUNCTION.diagnostics, 0, 0, number >> 8, number & 0xff);
}

/** True when a PDU can be the answer to a request: its function, or its refusal, with the length or the echo that the request calls for. */
export function answers(pdu: Uint8Array, request: Uint8Array): boolean {
  if (!mayAnswer(pdu, request)) return false;
  const [code = 0, count = 0] = pdu;
  if (code & EXCEPTION_FLAG) return pdu.length === 2;
  if (isRead(request)) return pdu.length === 2 + count;
  return IDENTIFICATIONS.has(code) || pdu.length === echoOf(request).length;
}

/** True when the first bytes of a PDU are those of an answer to a request. */
export function mayAnswer(head: Uint8Array, request: Uint8Array): boolean {
  const [code] = head;
  if (code === ((request[0] ?? 0) | EXCEPTION_FLAG)) return true;
  return echoOf(request).every((byte, at) => at >= head.length || head[at] === byte);
}

/** The bytes with which an answer begins, as far as its request tells. */
function echoOf(request: Uint8Array): Uint8Array {
  const code = request[0] ?? 0;
  if (IDENTIFICATIONS.has(code)) return request.subarray(0, 3);
  if (!isRead(request)) return code === FUNCTION.maskWriteRegister ? request : request.subarray(0, 5);
  const count = ((request[3] ?? 0) << 8) | (request[4] ?? 0);
  return Uint8Array.of(code, code <= FUNCTION.readDiscrete ? Math.ceil(count / 8) : 2 * count);
}

/** True for a request of registers or bits. */
export function isRead([code = 0]: Uint8Array): boolean {
  return code >= FUNCTION.readCoils && code <= FUNCTION.readInput;
}

/** True for a request that changes registers or bits. */
export function isWrite([code = 0]: Uint8Array): boolean {
  return WRITES.has(code);
}

/** Registers of an answer to a read. @throws AgentError `hardware/modbus-exception`, `hardware/modbus-no-answer`, `hardware/modbus-bad-answer`. */
export function parseRegisters(pdu: Uint8Array, code: number, count: number): readonly number[] {
  checkAnswer(pdu, code);
  if (pdu[1] !== 2 * count || pdu.length !== 2 + 2 * count)
    throw badAnswer(`${pdu.length - 2} bytes instead of ${2 * count}`);
  const words: number[] = [];
  for (let at = 2; at < pdu.length; at += 2) words.push(((pdu[at] ?? 0) << 8) | (pdu[at + 1] ?? 0));
  return words;
}

/** Bits of an answer to a read. @throws the same as parseRegisters. */
export function parseBits(pdu: Uint8Array, code: number, count: number): readonly boolean[] {
  checkAnswer(pdu, code);
  const bytes = Math.ceil(count / 8);
  if (pdu[1] !== bytes || pdu.length !== 2 + bytes) throw badAnswer(`${pdu.length - 2} bytes instead of ${bytes}`);
  return Array.from({ length: count }, (_, at) => (((pdu[2 + (at >> 3)] ?? 0) >> (at & 7)) & 1) === 1);
}

/** Checks the answer to a write, which repeats the head of its request. @throws the same as parseRegisters. */
export function checkWritten(pdu: Uint8Array, request: Uint8Array): void {
  checkAnswer(pdu, request[0] ?? 0);
  if (!answers(pdu, request)) throw badAnswer('an echo that differs from the request');
}

function checkAnswer(pdu: Uint8Array, code: number): void {
  const [answered, reason = 0] = pdu;
  if (answered === (code | EXCEPTION_FLAG)) {
    const words = EXCEPTIONS[reason] ?? `exception ${reason}`;
    if (GATEWAY_EXCEPTIONS.has(reason))
      throw retryable('hardware/modbus-no-answer', `the Modbus gateway has no answer: ${words}`);
    if (reason === BUSY.working || reason === BUSY.busy)
      throw retryable(reason === BUSY.busy ? MODBUS_BUSY : MODBUS_WORKING, `the Modbus unit refused: ${words}`);
    const recovery = FINAL_EXCEPTIONS.has(reason) ? 'drop' : 'retry';
    throw new AgentError('hardware/modbus-exception', `the Modbus unit refused: ${words}`, { recovery });
  }
  if (answered !== code) throw badAnswer(`an answer to function ${answered} instead of ${code}`);
}

export function badAnswer(what: string): AgentError {
  return retryable('hardware/modbus-bad-answer', `on the Modbus came ${what}`);
}
