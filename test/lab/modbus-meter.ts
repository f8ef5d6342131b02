/**
 * A Modbus RTU meter at the far end of a serial cable: unit 1, input registers (function 4) only. MODBUS over Serial Line V1.02,
 * section 2.5.1 for the frame and 6.2.2 for the CRC.
 */
import type { Socket } from 'node:net';

const UNIT = 1;
const READ_INPUT_REGISTERS = 4;
const ILLEGAL_FUNCTION = 1;
const ILLEGAL_ADDRESS = 2;
const REQUEST_BYTES = 8;

export class ModbusMeter {
  readonly registers: Map<number, number>;
  /** Requests whose CRC was right. */
  requests = 0;
  #pending = Buffer.alloc(0);

  constructor(line: Socket, registers: ReadonlyMap<number, number>) {
    this.registers = new Map(registers);
    line.on('data', (bytes) => {
      this.#pending = Buffer.concat([this.#pending, bytes]);
      for (; this.#pending.length >= REQUEST_BYTES; this.#pending = this.#pending.subarray(REQUEST_BYTES)) {
        const answer = this.#answer(this.#pending.subarray(0, REQUEST_BYTES));
        if (answer !== undefined) line.write(answer);
      }
    });
  }

  #answer(request: Buffer): Buffer | undefined {
    // Requests for others, and garbled ones, are met with silence.
    if (request[0] !== UNIT || crc(request.subarray(0, -2)) !== request.readUInt16LE(REQUEST_BYTES - 2))
      return undefined;
    this.requests += 1;
    const code = request[1] ?? 0;
    if (code !== READ_INPUT_REGISTERS) return framed([UNIT, code | 0x80, ILLEGAL_FUNCTION]);
    const [first, count] = [request.readUInt16BE(2), request.readUInt16BE(4)];
    const values = Array.from({ length: count }, (_, at) => this.registers.get(first + at));
    if (values.includes(undefined)) return framed([UNIT, code | 0x80, ILLEGAL_ADDRESS]);
    return framed([UNIT, code, count * 2, ...values.flatMap((value = 0) => [value >> 8, value & 0xff])]);
  }
}

function framed(bytes: readonly number[]): Buffer {
  const sum = crc(Buffer.from(bytes));
  return Buffer.from([...bytes, sum & 0xff, sum >> 8]);
}

function crc(bytes: Uint8Array): number {
  let sum = 0xffff;
  for (const byte of bytes) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit += 1) sum = sum & 1 ? (sum >> 1) ^ 0xa001 : sum >> 1;
  }
  return sum;
}
