/** Registers of units and chips: what the number in one means, and what cannot be said of it. */
import { z } from 'zod';
import { AgentError } from '../../errors/agent-error.ts';
import type { ModbusConnectionConfig } from './addresses.ts';
import type { ConfigPath } from './config-fault.ts';
import { type BitWords, bitFields, wordFields } from './conversion.ts';
import { className } from './fields.ts';
import { type Finding, finding, noEffect } from './findings.ts';
import { type ModbusType, registersOf } from './modbus-types.ts';

const ADDRESSES = 65_536;

interface Converted {
  readonly scale?: number | undefined;
  readonly offset?: number | undefined;
}

interface Numbered {
  readonly table: string;
  readonly address: number;
}

interface Place {
  readonly table: string;
  readonly type: ModbusType;
  readonly length?: number | undefined;
}

/** Fields for the meaning of the number in a register, of a chip or over Modbus. */
export const registerMeaning = {
  scale: z.number().default(1),
  offset: z.number().default(0),
  unit: z.string().max(32).optional(),
  /** Beneath a class of the key; for values whose unit and key do not tell it. */
  class: className().optional(),
  /** The raw number that says that there is no value, such as 0x8000; -1 is a number of ones. It is left out alone. */
  noValue: z
    .number()
    .multipleOf(1)
    .min(-(2 ** 63))
    .max(Number.MAX_SAFE_INTEGER)
    .optional(),
  ...wordFields,
  ...bitFields,
};

/** First number of each table where a manual counts all registers in one row, its tables by their first digit. */
const COUNTED_FROM: Readonly<Record<string, number>> = { holding: 40_001, input: 30_001, discrete: 10_001 };
/** Numbers of a table in such a manual. */
const COUNTED = 9_999;
/** More of its first numbers than most units have registers, and fewer than those that begin there on the wire. */
const FIRST_NUMBERS = 50;

/** Address of a register or bit in a unit. */
export const wireAddress = () =>
  z
    .int()
    .min(0)
    .max(ADDRESSES - 1)
    .meta({ expected: `0 to ${ADDRESSES - 1} as on the wire, where a manual's 400101 is 100` });

/** Returns the address on the wire where this one looks like a manual's number, such as 40001 for the first holding register. */
function meantAddress({ table, address }: Numbered): number | undefined {
  const first = COUNTED_FROM[table];
  const meant = first === undefined ? -1 : address - first;
  return meant >= 0 && meant < COUNTED ? meant : undefined;
}

/** Makes the fault with the address that is meant, where a unit has none under what looks like a manual's number. */
export function withMeantAddress(fault: AgentError, register: Numbered | undefined): AgentError {
  const meant = register === undefined ? undefined : meantAddress(register);
  if (meant === undefined || !fault.message.endsWith('illegal data address')) return fault;
  const words = `${fault.message}: a manual's ${register?.address} is address ${meant} on the wire`;
  return new AgentError(fault.code, words, { recovery: fault.recovery, cause: fault });
}

/**
 * Warns of addresses that are most likely a manual's numbers. Units that have their registers there are many from 40069 on, and others begin at 30000,
 * which is no number of a manual.
 */
export function numberFaults(
  registers: readonly {
    readonly register: Numbered;
    readonly at: ConfigPath;
  }[],
): Finding[] {
  return registers.flatMap(({ register, at }) => {
    const meant = meantAddress(register) ?? FIRST_NUMBERS;
    const first = COUNTED_FROM[register.table] ?? 0;
    const isOnTheWire = registers.some(
      ({ register: { table, address } }) => table === register.table && address === first - 1,
    );
    if (meant >= FIRST_NUMBERS || isOnTheWire) return [];
    const problem = 'looks like a number of a manual, which counts from 1 and begins with the table:';
    return [finding([...at, 'address'], problem, `the address on the wire, ${meant}`, { warning: true })];
  });
}

/** Addresses that a value takes, from its own on. */
export function modbusWidth(place: Place): number {
  return place.table === 'coil' || place.table === 'discrete' ? 1 : registersOf(place);
}

/** The most one request may ask for (V1.1b3, sections 6.1 to 6.4). */
export const MAX_COUNT = { holding: 125, input: 125, coil: 2_000, discrete: 2_000 } as const;

type Table = keyof typeof MAX_COUNT;

/** How many addresses each request asks for: those at most `maxGap` apart share one. */
export function requestCounts(
  places: readonly (Place & { readonly table: Table; readonly address: number })[],
  maxGap: number,
): readonly number[] {
  const sorted = places.toSorted((one, other) => one.table.localeCompare(other.table) || one.address - other.address);
  const requests: { readonly table: Table; readonly from: number; end: number }[] = [];
  for (const place of sorted) {
    const { table, address } = place;
    const end = address + modbusWidth(place);
    const last = requests.at(-1);
    const isNear = last?.table === table && address - last.end <= maxGap && end - last.from <= MAX_COUNT[table];
    if (last !== undefined && isNear) last.end = Math.max(last.end, end);
    else requests.push({ table, from: address, end });
  }
  return requests.map(({ from, end }) => end - from);
}

/** Unit 0 on a serial line is everyone, and nobody answers (Modbus over serial line V1.02, section 2.1). */
export function unitFaults(
  { unitId, connection }: { readonly unitId: number; readonly connection: ModbusConnectionConfig },
  path: ConfigPath,
): Finding[] {
  if (unitId !== 0 || connection.transport === 'tcp') return [];
  return [finding([...path, 'unitId'], 'every unit on the line, of which none answers:', 'a unit from 1 to 247')];
}

export function endFaults(register: Place & { readonly address: number }, path: ConfigPath): Finding[] {
  const width = modbusWidth(register);
  if (register.address + width <= ADDRESSES) return [];
  return [finding([...path, 'address'], `${width} registers reach past the last one:`, `at most ${ADDRESSES - width}`)];
}

export function scaleFaults({ scale }: Converted, path: ConfigPath): Finding[] {
  return scale === 0 ? [finding([...path, 'scale'], 'makes every value the same:', 'another number than 0')] : [];
}

export function noConversion({ scale = 1, offset = 0 }: Converted, path: ConfigPath, type: string): Finding[] {
  const given = [...(scale === 1 || scale === 0 ? [] : ['scale']), ...(offset === 0 ? [] : ['offset'])];
  return given.map((option) => noEffect(path, option, `a type of number instead of ${type}`));
}

/** Bits of what is no whole number. */
export function noBits(register: BitWords, path: ConfigPath, type: string): Finding[] {
  const given = (Object.keys(bitFields) as (keyof BitWords)[]).filter((word) => register[word] !== undefined);
  return given.map((word) => noEffect(path, word, `a type of whole number instead of ${type}`));
}
