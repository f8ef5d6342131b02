/**
 * Messages of a meter by IEC 62056-21, found in bytes that come in any pieces, and what is sent to it:
 *
 *   / XXX Z identification CR LF                 who it is, and the speed that it offers
 *   STX data ! CR LF ETX BCC                     readout; without STX it ends with the exclamation mark
 *   SOH P0 STX (…) ETX BCC                       programming mode: it asks for a password, which it never gets
 *   STX code(value) ETX BCC                      one register
 */
const SOH = 0x01;
const STX = 0x02;
const ETX = 0x03;
/** End of a block that another follows. */
const EOT = 0x04;
export const ACK = 0x06;
export const NAK = 0x15;

/** Speeds by their character, in mode C. */
const SPEEDS_OF_C: Readonly<Record<string, number>> = { 0: 300, 1: 600, 2: 1200, 3: 2400, 4: 4800, 5: 9600, 6: 19200 };
/** Speeds to which a meter of mode B goes by itself. */
const SPEEDS_OF_B: Readonly<Record<string, number>> = { A: 600, B: 1200, C: 2400, D: 4800, E: 9600, F: 19200 };

export interface Identification {
  /** Three letters; a small third one answers within 20 ms. */
  readonly maker: string;
  readonly text: string;
  readonly mode: 'A' | 'B' | 'C';
  /** Speed that is offered, or gone to. */
  readonly baudRate: number;
}

export interface Block {
  readonly text: string;
  /** False when its check sum is wrong; true for a block that has none. */
  readonly isGood: boolean;
  readonly hasMore: boolean;
}

/** Something found, and how many bytes are done with it. */
export interface Found<T> {
  readonly value: T;
  readonly used: number;
  /** Bytes of its own at the end of those. */
  readonly length: number;
}

/** Heads give back the request before the answer: it begins with `/?`. */
export function identificationIn(bytes: Buffer): Found<Identification> | undefined {
  const found = /\/([A-Za-z]{3})([!-~])([^\r\n]{0,64}?) *\r?\n/.exec(bytes.toString('latin1'));
  if (found === null) return undefined;
  const [line, maker = '', speed = '', rest = ''] = found;
  const [ofB, ofC] = [SPEEDS_OF_B[speed], SPEEDS_OF_C[speed]];
  const mode = ofC === undefined ? (ofB === undefined ? 'A' : 'B') : 'C';
  return {
    value: { maker: maker.toUpperCase(), text: `${maker}${speed}${rest}`, mode, baudRate: ofC ?? ofB ?? 300 },
    used: found.index + line.length,
    length: line.length,
  };
}

/** A block with its check sum, or one that ends with an exclamation mark and has none. */
export function readoutIn(bytes: Buffer): Found<Block> | undefined {
  const start = bytes.indexOf(STX);
  const end = /!\r?\n/.exec(bytes.toString('latin1'));
  if (end !== null && (start === -1 || end.index < start))
    return {
      value: { text: bytes.toString('latin1', 0, end.index), isGood: true, hasMore: false },
      used: end.index + end[0].length,
      length: end.index + end[0].length,
    };
  return start === -1 ? undefined : blockIn(bytes, start);
}

/** A block with its check sum, or a refusal. */
export function answerIn(bytes: Buffer): Found<Block | typeof NAK> | undefined {
  const start = bytes.findIndex((byte) => byte === SOH || byte === STX || byte === NAK);
  if (start === -1) return undefined;
  return bytes[start] === NAK ? { value: NAK, used: start + 1, length: 1 } : blockIn(bytes, start);
}

function blockIn(bytes: Buffer, start: number): Found<Block> | undefined {
  const end = bytes.findIndex((byte, at) => at > start && (byte === ETX || byte === EOT));
  const sum = bytes[end + 1];
  if (end === -1 || sum === undefined) return undefined;
  const content = bytes.subarray(start + 1, end + 1);
  return {
    value: {
      text: content.toString('latin1', 0, content.length - 1),
      isGood: sumOf(content) === sum,
      hasMore: bytes[end] === EOT,
    },
    used: end + 2,
    length: end + 2 - start,
  };
}

export function request(address = ''): Uint8Array {
  return Buffer.from(`/?${address}!\r\n`);
}

/** @param baudRate the one that the meter shall go to, of mode C. */
export function acknowledgement(baudRate: number, purpose: 'readout' | 'registers'): Uint8Array {
  const speed = Object.keys(SPEEDS_OF_C).find((one) => SPEEDS_OF_C[one] === baudRate) ?? '0';
  return Buffer.from(`\x060${speed}${purpose === 'readout' ? '0' : '1'}\r\n`, 'latin1');
}

export function registerRequest(code: string): Uint8Array {
  return command(`R1\x02${code}()\x03`);
}

/** Ends the programming mode. */
export function farewell(): Uint8Array {
  return command('B0\x03');
}

function command(content: string): Uint8Array {
  const bytes = Buffer.from(content, 'latin1');
  return Uint8Array.of(SOH, ...bytes, sumOf(bytes));
}

/** Exclusive or of all bytes behind the first STX or SOH, with the end. */
function sumOf(content: Uint8Array): number {
  return content.reduce((sum, byte) => sum ^ byte, 0);
}
