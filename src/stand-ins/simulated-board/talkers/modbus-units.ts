/** Modbus units: tables of registers that follow signals until somebody writes them. */
import type { ModbusUnitsConfig } from '../board-config.ts';
import type { BoardContext } from '../simulated-part.ts';

type Unit = ModbusUnitsConfig[string];
type Table = keyof Unit;

const READ_TABLES: Readonly<Record<number, Table>> = { 1: 'coil', 2: 'discrete', 3: 'holding', 4: 'input' };
const ILLEGAL_FUNCTION = 1;
const ILLEGAL_ADDRESS = 2;
const ILLEGAL_VALUE = 3;

/** The maker's name and code of every unit here, as its identification gives them. */
const IDENTITY = 'Turnstone simulated unit';

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
    if (code === 15) return this.#writeCoils(unitId, unit, pdu);
    if (code === 17) return Uint8Array.of(code, 2 + IDENTITY.length, unitId, 0xff, ...Buffer.from(IDENTITY));
    if (code === 22) return this.#mask(unitId, unit, pdu);
    if (code === 43) return pdu[1] === 14 ? identification() : Uint8Array.of(code | 0x80, ILLEGAL_VALUE);
    if (code !== 16) return Uint8Array.of(code | 0x80, ILLEGAL_FUNCTION);
    const words = Array.from({ length: word(3) }, (_, at) => word(6 + 2 * at));
    return pdu.length === 6 + 2 * words.length
      ? this.#write(unitId, unit, 'holding', word(1), words, pdu.subarray(0, 5))
      : Uint8Array.of(code | 0x80, ILLEGAL_VALUE);
  }

  #writeCoils(unitId: number, unit: Unit, pdu: Uint8Array): Uint8Array {
    const address = ((pdu[1] ?? 0) << 8) | (pdu[2] ?? 0);
    const count = ((pdu[3] ?? 0) << 8) | (pdu[4] ?? 0);
    if (count < 1 || pdu.length !== 6 + Math.ceil(count / 8)) return Uint8Array.of(15 | 0x80, ILLEGAL_VALUE);
    const bits = Array.from({ length: count }, (_, at) => ((pdu[6 + (at >> 3)] ?? 0) >> (at & 7)) & 1);
    return this.#write(unitId, unit, 'coil', address, bits, pdu.subarray(0, 5));
  }

  /** Keeps the bits of the first mask, and sets those of the second outside of it. */
  #mask(unitId: number, unit: Unit, pdu: Uint8Array): Uint8Array {
    const [address = 0, and = 0, or = 0] = [1, 3, 5].map((at) => ((pdu[at] ?? 0) << 8) | (pdu[at + 1] ?? 0));
    if (unit.holding[address] === undefined) return Uint8Array.of(22 | 0x80, ILLEGAL_ADDRESS);
    const before = this.#rawValue(this.#target(unitId, 'holding', address));
    return this.#write(unitId, unit, 'holding', address, [(before & and) | (or & ~and & 0xffff)], pdu);
  }

  #read(unitId: number, unit: Unit, table: Table, code: number, address: number, count: number): Uint8Array {
    const isBit = table === 'coil' || table === 'discrete';
    if (count < 1 || count > (isBit ? 2_000 : 125)) return Uint8Array.of(code | 0x80, ILLEGAL_VALUE);
    const targets = Array.from({ length: count }, (_, at) => address + at);
    // Like many meters: the ends of a request must exist, gaps between read as 0.
    if (unit[table][address] === undefined || unit[table][address + count - 1] === undefined)
      return Uint8Array.of(code | 0x80, ILLEGAL_ADDRESS);
    const values = targets.map((at) => (unit[table][at] === undefined ? 0 : this.#value(unitId, table, at)));
    if (!isBit)
      return Uint8Array.of(code, 2 * count, ...values.flatMap((value) => [(value >> 8) & 0xff, value & 0xff]));
    const bytes = new Uint8Array(Math.ceil(count / 8));
    for (const [at, value] of values.entries())
      if (value !== 0) bytes[at >> 3] = (bytes[at >> 3] ?? 0) | (1 << (at & 7));
    return Uint8Array.of(code, bytes.length, ...bytes);
  }

  #write(
    unitId: number,
    unit: Unit,
    table: Table,
    address: number,
    values: readonly number[],
    answer: Uint8Array,
  ): Uint8Array {
    if (values.some((_, at) => unit[table][address + at] === undefined))
      return Uint8Array.of((answer[0] ?? 0) | 0x80, ILLEGAL_ADDRESS);
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

/** Maker, product code and revision, in one answer. */
function identification(): Uint8Array {
  const objects = ['Turnstone', IDENTITY, '1.0'].flatMap((text, id) => [id, text.length, ...Buffer.from(text)]);
  return Uint8Array.of(43, 14, 1, 1, 0, 0, 3, ...objects);
}
