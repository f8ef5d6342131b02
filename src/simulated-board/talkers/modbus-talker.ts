/** Modbus units: tables of registers that follow signals until somebody writes them, behind a serial line (RTU) or a TCP port. */

import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import type { ModbusUnitsConfig } from '../board-config.ts';
import type { BoardContext } from '../simulated-part.ts';
import type { Talker, TalkerContext } from './talker.ts';

type Unit = ModbusUnitsConfig[string];
type Table = keyof Unit;

const READ_TABLES: Readonly<Record<number, Table>> = { 1: 'coil', 2: 'discrete', 3: 'holding', 4: 'input' };
const ILLEGAL_FUNCTION = 1;
const ILLEGAL_ADDRESS = 2;
const ILLEGAL_VALUE = 3;

export class ModbusUnits {
  readonly #units: ModbusUnitsConfig;
  readonly #context: BoardContext;
  readonly #source: string;
  /** Values that were written, by target. */
  readonly #written = new Map<string, number>();

  /** @param source the port's path or address, in the record and as the target of faults. */
  constructor(units: ModbusUnitsConfig, source: string, context: BoardContext) {
    this.#units = units;
    this.#source = source;
    this.#context = context;
    for (const [unit, tables] of Object.entries(units)) {
      for (const table of Object.keys(tables) as Table[]) {
        for (const [address, signal] of Object.entries(tables[table]))
          context.signals.add(this.#target(unit, table, Number(address)), signal);
      }
    }
  }

  /** The answer's PDU; undefined for a unit that is not there, which is silent. */
  answer(unitId: number, pdu: Uint8Array): Uint8Array | undefined {
    const unit = this.#units[unitId];
    const fault = this.#context.faults.of(`${this.#source}:${unitId}`, this.#source);
    if (unit === undefined || fault === 'hang' || fault === 'nak') return undefined;
    const [code = 0] = pdu;
    const word = (at: number): number => ((pdu[at] ?? 0) << 8) | (pdu[at + 1] ?? 0);
    const readTable = READ_TABLES[code];
    if (readTable !== undefined) return this.#read(unitId, unit, readTable, code, word(1), word(3));
    if (code === 5) return this.#write(unitId, unit, 'coil', word(1), [word(3) === 0xff00 ? 1 : 0], pdu);
    if (code === 6) return this.#write(unitId, unit, 'holding', word(1), [word(3)], pdu);
    if (code !== 16) return Uint8Array.of(code | 0x80, ILLEGAL_FUNCTION);
    const words = Array.from({ length: word(3) }, (_, at) => word(6 + 2 * at));
    return pdu.length === 6 + 2 * words.length
      ? this.#write(unitId, unit, 'holding', word(1), words, pdu.subarray(0, 5))
      : Uint8Array.of(code | 0x80, ILLEGAL_VALUE);
  }

  #read(unitId: number, unit: Unit, table: Table, code: number, address: number, count: number): Uint8Array {
    const isBit = table === 'coil' || table === 'discrete';
    if (count < 1 || count > (isBit ? 2_000 : 125)) return Uint8Array.of(code | 0x80, ILLEGAL_VALUE);
    const targets = Array.from({ length: count }, (_, at) => address + at);
    // Like many meters: the ends of a request must exist, gaps between read as 0.
    if (unit[table][address] === undefined || unit[table][address + count - 1] === undefined)
      return Uint8Array.of(code | 0x80, ILLEGAL_ADDRESS);
    const values = targets.map((at) => (unit[table][at] === undefined ? 0 : this.#value(unitId, table, at)));
    if (!isBit) return Uint8Array.of(code, 2 * count, ...values.flatMap((value) => [(value >> 8) & 0xff, value & 0xff]));
    const bytes = new Uint8Array(Math.ceil(count / 8));
    for (const [at, value] of values.entries()) if (value !== 0) bytes[at >> 3] = (bytes[at >> 3] ?? 0) | (1 << (at & 7));
    return Uint8Array.of(code, bytes.length, ...bytes);
  }

  #write(unitId: number, unit: Unit, table: Table, address: number, values: readonly number[], answer: Uint8Array): Uint8Array {
    if (values.some((_, at) => unit[table][address + at] === undefined)) return Uint8Array.of((answer[0] ?? 0) | 0x80, ILLEGAL_ADDRESS);
    for (const [at, value] of values.entries()) {
      const target = this.#target(unitId, table, address + at);
      const same = this.#rawValue(target) === value;
      this.#written.set(target, value);
      this.#context.record.add(same ? 'written' : 'moved', target, `${table}:${address + at}`, value);
    }
    return answer;
  }

  #value(unitId: number, table: Table, address: number): number {
    const target = this.#target(unitId, table, address);
    const value = this.#rawValue(target);
    this.#context.record.add('shown', target, `${table}:${address}`, value);
    return value;
  }

  #rawValue(target: string): number {
    return this.#written.get(target) ?? Math.round(this.#context.signals.value(target)) & 0xffff;
  }

  #target(unit: number | string, table: Table, address: number): string {
    return `${this.#source}:${unit}/${table}/${address}`;
  }
}

/** How long the line must be silent before half a frame is dropped. */
const SILENCE_MS = 30;

export function modbusTalker(units: ModbusUnitsConfig, context: TalkerContext): Talker {
  const bus = new ModbusUnits(units, context.source, context);
  let received = Buffer.alloc(0);
  let lastMs = 0;
  return {
    receive: (bytes) => {
      const nowMs = context.clock.monotonicMs();
      received = Buffer.concat([nowMs - lastMs > SILENCE_MS ? Buffer.alloc(0) : received, bytes]);
      lastMs = nowMs;
      const length = requestLength(received);
      if (length === undefined || received.length < length) return;
      const frame = received.subarray(0, length);
      received = Buffer.alloc(0);
      if (checkSum(frame.subarray(0, -2)) !== frame.readUInt16LE(length - 2)) return; // a unit is silent then
      const answer = bus.answer(frame[0] ?? 0, frame.subarray(1, -2));
      if (answer === undefined) return;
      const reply = Buffer.from([frame[0] ?? 0, ...answer, 0, 0]);
      reply.writeUInt16LE(checkSum(reply.subarray(0, -2)), reply.length - 2);
      context.send(reply);
    },
    close: () => {},
  };
}

/** A TCP port with units behind it; `port` 0 takes any. */
export class ModbusTcpServer {
  readonly #server: Server;

  constructor(units: ModbusUnitsConfig, source: string, context: BoardContext) {
    const bus = new ModbusUnits(units, source, context);
    this.#server = createServer((socket) => {
      let received = Buffer.alloc(0);
      socket.on('error', () => {});
      socket.on('data', (bytes) => {
        received = Buffer.concat([received, bytes]);
        while (received.length >= 8 && received.length >= 6 + received.readUInt16BE(4)) {
          const frame = received.subarray(0, 6 + received.readUInt16BE(4));
          received = received.subarray(frame.length);
          const answer = bus.answer(frame[6] ?? 0, frame.subarray(7));
          if (answer === undefined) continue;
          const header = Buffer.from(frame.subarray(0, 7));
          header.writeUInt16BE(answer.length + 1, 4);
          socket.write(Buffer.concat([header, answer]));
        }
      });
    });
    // The agent's adapter asks for the port; until then nobody knows it.
    this.#server.unref();
  }

  /** Resolves with the port it listens on. */
  async listen(port: number): Promise<number> {
    if (!this.#server.listening) await once(this.#server.listen(port, '127.0.0.1'), 'listening');
    return (this.#server.address() as AddressInfo).port;
  }

  close(): void {
    this.#server.close();
  }
}

function requestLength(bytes: Uint8Array): number | undefined {
  const [, code, , , , , count] = bytes;
  if (code === undefined) return undefined;
  if (code !== 15 && code !== 16) return 8;
  return count === undefined ? undefined : 9 + count;
}

/** CRC-16/MODBUS, by the shift register of V1.02, appendix B. */
function checkSum(bytes: Uint8Array): number {
  let register = 0xffff;
  for (const byte of bytes) {
    register ^= byte;
    for (let bit = 0; bit < 8; bit += 1) {
      const carry = register & 1;
      register >>= 1;
      if (carry === 1) register ^= 0xa001;
    }
  }
  return register;
}
