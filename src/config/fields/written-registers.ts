/** Registers that one command writes, in their order: its value, and numbers that are always the same, such as a mode before its set point. */
import { z } from 'zod';
import { section } from './fields.ts';
import { MODBUS_TYPES, type ModbusType, registersOf } from './modbus-types.ts';
import { wireAddress } from './registers.ts';

/** Place of the value among the numbers that are written. */
export const VALUE = '{value}';

export const writtenRegister = section({
  address: wireAddress(),
  type: z.enum(MODBUS_TYPES).default('uint16'),
  /** value = register × scale + offset. */
  scale: z.number().default(1),
  offset: z.number().default(0),
  /** `{value}` for the value of the command, or a number that is the same each time. */
  value: z.union([z.number(), z.literal(VALUE)]).default(VALUE),
});

/** One register of a command. */
export interface WrittenRegister {
  readonly address: number;
  readonly type: ModbusType;
  readonly scale: number;
  readonly offset: number;
  readonly value: number | typeof VALUE;
}

interface Written {
  readonly address?: number | undefined;
  readonly type: ModbusType;
  readonly scale: number;
  readonly offset: number;
  readonly registers?: readonly WrittenRegister[] | undefined;
}

/** Returns all that one command writes. */
export function writtenRegisters(config: Written): readonly WrittenRegister[] {
  const { address = 0, type, scale, offset } = config;
  return config.registers ?? [{ address, type, scale, offset, value: VALUE }];
}

/** Returns those that take the command's value. */
export function valueRegisters(config: Written): readonly WrittenRegister[] {
  return writtenRegisters(config).filter(({ value }) => value === VALUE);
}

/** Returns the register whose number is the state: the first that takes the value. */
export function stateRegister(config: Written): WrittenRegister {
  const [first] = valueRegisters(config);
  const { address = 0, type, scale, offset } = config;
  return first ?? { address, type, scale, offset, value: VALUE };
}

/** Returns where a register ends: the first address behind it. */
export function endOfRegister({ address, type }: Pick<WrittenRegister, 'address' | 'type'>): number {
  return address + registersOf({ type });
}

/** True when each register begins where the one before ends. */
export function areNeighbours(registers: readonly WrittenRegister[]): boolean {
  return registers.every((register, at) => {
    const before = registers[at - 1];
    return before === undefined || endOfRegister(before) === register.address;
  });
}
