/**
 * Modbus on the wire (MODBUS over Serial Line V1.02, MODBUS Messaging on TCP/IP V1.0b). Our own and not modbus-serial's, because that
 * loads the native serial driver even for TCP, and its requests cannot be called off.
 *
 *   RTU    unit, PDU, CRC-16 (low byte first)
 *   ASCII  colon, the same in hexadecimal digits with LRC in place of CRC, CR LF
 *   TCP    transaction (2), protocol 0 (2), length (2), unit, PDU
 */
import { badAnswer, EXCEPTION_FLAG, FUNCTION } from './modbus-pdu.ts';

const MBAP_LENGTH = 7;
/** The longest PDU of a serial line, and so of all (section 4.1). */
const MAX_PDU_LENGTH = 253;
/** Colon, two digits for each byte of unit, PDU and LRC, CR and LF. */
const MAX_ASCII_LENGTH = 2 * (MAX_PDU_LENGTH + 2) + 3;
const COLON = 0x3a;
const LINE_FEED = 0x0a;

/** A frame as far as it has come. */
export interface BegunFrame {
  /** Undefined while its digits are missing. */
  readonly unitId: number | undefined;
  /** The PDU's first bytes; all of it in a whole frame. */
  readonly pdu: Uint8Array;
  /** Bytes that a whole frame took; undefined while it is not whole. */
  readonly length: number | undefined;
}

/** How unit and PDU are put on a line without numbers of requests. */
export interface Framing {
  frame(unitId: number, pdu: Uint8Array): Uint8Array;
  /** The frame that begins with the first of these bytes; undefined when none does, or its check sum is wrong. */
  begun(bytes: Uint8Array): BegunFrame | undefined;
}

export const RTU: Framing = {
  frame: rtuFrame,
  begun: (bytes) => {
    const length = rtuAnswerLength(bytes);
    if (length === undefined || bytes.length < length)
      return { unitId: bytes[0], pdu: bytes.slice(1), length: undefined };
    const body = bytes.slice(0, length - 2);
    const sum = (bytes[length - 2] ?? 0) | ((bytes[length - 1] ?? 0) << 8);
    return crc16(body) === sum ? { unitId: body[0], pdu: body.slice(1), length } : undefined;
  },
};

export const ASCII: Framing = {
  frame: (unitId, pdu) => {
    const body = Buffer.from([unitId, ...pdu]);
    return Buffer.from(
      `:${Buffer.from([...body, lrc(body)])
        .toString('hex')
        .toUpperCase()}\r\n`,
    );
  },
  begun: (bytes) => {
    const feed = bytes.indexOf(LINE_FEED);
    const digits = Buffer.from(bytes.subarray(1, feed === -1 ? undefined : feed))
      .toString('latin1')
      .trimEnd();
    if (bytes[0] !== COLON || digits.length > MAX_ASCII_LENGTH || !/^[0-9A-Fa-f]*$/.test(digits)) return undefined;
    const body = Buffer.from(digits, 'hex');
    if (feed === -1) return { unitId: body[0], pdu: body.subarray(1), length: undefined };
    const isSound = body.length >= 3 && digits.length === 2 * body.length && lrc(body) === 0;
    return isSound ? { unitId: body[0], pdu: body.subarray(1, -1), length: feed + 1 } : undefined;
  },
};

/** CRC-16 of the serial line: polynomial 0xa001 reflected, start 0xffff (V1.02, appendix B). */
export function crc16(bytes: Uint8Array): number {
  let crc = 0xffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit += 1) crc = crc & 1 ? (crc >> 1) ^ 0xa001 : crc >> 1;
  }
  return crc;
}

/** Two's complement of the sum of all bytes (V1.02, section 6.2.1); 0 for bytes that end with it. */
function lrc(bytes: Uint8Array): number {
  return -bytes.reduce((sum, byte) => sum + byte, 0) & 0xff;
}

export function rtuFrame(unitId: number, pdu: Uint8Array): Uint8Array {
  const frame = Buffer.from([unitId, ...pdu, 0, 0]);
  frame.writeUInt16LE(crc16(frame.subarray(0, -2)), frame.length - 2);
  return frame;
}

/** Functions whose third byte counts the bytes that follow. */
const COUNTED: ReadonlySet<number> = new Set([
  FUNCTION.readCoils,
  FUNCTION.readDiscrete,
  FUNCTION.readHolding,
  FUNCTION.readInput,
  FUNCTION.reportServerId,
]);

/** The frame's length as far as its first bytes tell; undefined while they do not. */
function rtuAnswerLength(bytes: Uint8Array): number | undefined {
  const [, code, third] = bytes;
  if (code === undefined) return undefined;
  if (code & EXCEPTION_FLAG) return 5;
  if (COUNTED.has(code)) return third === undefined ? undefined : third + 5;
  if (code === FUNCTION.maskWriteRegister) return 10;
  return code === FUNCTION.readDeviceIdentification ? identificationLength(bytes) : 8;
}

/** Unit, function, MEI type, code, conformity, more, next and count come before the objects; each has its id and length before it. */
function identificationLength(bytes: Uint8Array): number | undefined {
  let at = 8;
  for (let left = bytes[7] ?? 1; left > 0 && at <= bytes.length; left -= 1) at += 2 + (bytes[at + 1] ?? bytes.length);
  return at <= bytes.length ? at + 2 : undefined;
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
