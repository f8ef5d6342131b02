/** A setpoint, a mode or a coil in a Modbus unit: written in one request or in a row of them, read back from the same place. */
import { nearestModbus, registersOf, valueOfModbus } from '../../config/fields/modbus-types.ts';
import { withMeantAddress } from '../../config/fields/registers.ts';
import { stateRegister, VALUE, type WrittenRegister, writtenRegisters } from '../../config/fields/written-registers.ts';
import { AgentError } from '../../errors/agent-error.ts';
import type { ModbusLink, ModbusRequests, WriteFunction } from '../../hardware/modbus-port.ts';
import { decodeModbus, encodeModbus, type ModbusLayout } from '../../hardware/modbus-values.ts';
import { type ActuatorDriver, type ActuatorValue, isActive } from '../kind/actuator.ts';
import type { DriverDeps, OpenDriver } from '../kind/definition.ts';
import type { ModbusWriteConfig } from './definition.ts';

/** @throws as ModbusPort.open. */
export function opener(config: ModbusWriteConfig, { ports }: DriverDeps): OpenDriver {
  return async (signal) => {
    const link = await ports.modbus.open(config.connection, signal);
    const access = config.table === 'coil' ? coilAccess : config.bit === undefined ? registerAccess : bitAccess;
    const { write, read } = access(config, link);
    let stopWatching = (): void => {};
    return {
      write,
      readLate: read,
      ...(config.readBack !== false && { read }),
      onReturn: (listener) => {
        stopWatching = link.onReturn(config.unitId, listener);
      },
      close: () => {
        stopWatching();
        return link.close();
      },
    };
  };
}

/** Names the address that is meant when the unit has none under a manual's number. */
async function at<T>(address: number, request: Promise<T>): Promise<T> {
  return await request.catch((error: unknown) => {
    throw error instanceof AgentError ? withMeantAddress(error, { table: 'holding', address }) : error;
  });
}

type RegisterAccess = Required<Pick<ActuatorDriver, 'write' | 'read'>>;

function coilAccess({ unitId, address = 0, writeFunction }: ModbusWriteConfig, link: ModbusLink): RegisterAccess {
  return {
    write: (value, signal) => to(link, value, writeFunction).writeCoil(unitId, address, value === true, signal),
    read: async (signal) =>
      (await link.ranked('movement').readBits(unitId, { table: 'coil', address, count: 1 }, signal))[0] === true,
  };
}

function bitAccess(
  { unitId, address = 0, bit = 0, writeFunction }: ModbusWriteConfig,
  link: ModbusLink,
): RegisterAccess {
  const range = { table: 'holding', address, count: 1 } as const;
  return {
    write: (value, signal) =>
      at(address, to(link, value, writeFunction).writeBit(unitId, { address, bit, on: value === true }, signal)),
    read: async (signal) => {
      const [word = 0] = await at(address, link.ranked('movement').readRegisters(unitId, range, signal));
      return ((word >> bit) & 1) === 1;
    },
  };
}

/** A line full of readings that nobody answers does not keep a pin on. */
function to(link: ModbusLink, value: ActuatorValue, code?: WriteFunction): ModbusRequests {
  return link.ranked(isActive(value) ? 'movement' : 'off', code);
}

function registerAccess(config: ModbusWriteConfig, link: ModbusLink): RegisterAccess {
  const { unitId, wordOrder, byteOrder, map } = config;
  const state = stateRegister(config);
  const layoutOf = ({ type }: WrittenRegister): ModbusLayout => ({ type, wordOrder, byteOrder });
  const range = { table: 'holding', address: state.address, count: registersOf(state) } as const;
  const numbers = new Map(Object.entries(map ?? {}).map(([number, name]) => [name, Number(number)]));
  const wordsOf = (register: WrittenRegister, value: ActuatorValue): readonly number[] => {
    const isOwn = register.value === VALUE;
    const named = isOwn && typeof value === 'string' ? numbers.get(value) : undefined;
    const raw = named ?? (Number(isOwn ? value : register.value) - register.offset) / register.scale;
    return encodeModbus(raw, layoutOf(register));
  };
  const write = rowWriter(config, link);
  let wanted: { readonly value: ActuatorValue; readonly words: readonly number[] } | undefined;
  return {
    write: async (value, signal) => {
      await write(value, (register) => wordsOf(register, value), signal);
      wanted = { value, words: wordsOf(state, value) };
    },
    read: async (signal) => {
      const words = await at(range.address, link.ranked('movement').readRegisters(unitId, range, signal));
      // A float64 and its scale do not come back to the last bit: what was written is what was wanted.
      if (wanted?.words.every((word, at) => word === words[at])) return wanted.value;
      const raw = decodeModbus(words, layoutOf(state));
      if (map !== undefined) return map[String(raw)] ?? String(raw);
      return typeof raw === 'number' || typeof raw === 'bigint'
        ? nearestModbus(state, valueOfModbus(state, Number(raw)))
        : raw;
    },
  };
}

type WriteRow = (
  value: ActuatorValue,
  wordsOf: (register: WrittenRegister) => readonly number[],
  signal: AbortSignal,
) => Promise<void>;

/** Writes the registers of a command, each by itself or all in one request. */
function rowWriter(config: ModbusWriteConfig, link: ModbusLink): WriteRow {
  const { unitId, inOneWrite, writeFunction } = config;
  const registers = writtenRegisters(config);
  if (inOneWrite === true)
    return async (value, wordsOf, signal) => {
      const words = registers.flatMap(wordsOf);
      const { address = 0 } = registers[0] ?? {};
      await at(address, to(link, value, 16).writeRegisters(unitId, address, words, signal));
    };
  /** Words by address, as the unit has taken them; what it refuses is as it was. */
  const taken = new Map<number, string>();
  let refused: number | undefined;
  return async (value, wordsOf, signal) => {
    // Values that cannot be encoded are found before anything is written.
    const row = registers.map((register) => ({ address: register.address, words: wordsOf(register) }));
    const refusedBefore = refused;
    refused = undefined;
    const written: number[] = [];
    for (const { address, words } of row) {
      const before = taken.get(address);
      taken.delete(address);
      try {
        signal.throwIfAborted();
        await at(address, to(link, value, writeFunction).writeRegisters(unitId, address, words, signal));
      } catch (error) {
        const isRefused = isRefusal(error);
        if (isRefused && before !== undefined) taken.set(address, before);
        // Writing back what was there before a refusal may be refused as well.
        if (!isRefused || address !== refusedBefore || before !== words.join()) {
          if (isRefused) refused = address;
          throw written.length === 0 ? error : halfWritten(written, address, error);
        }
      }
      taken.set(address, words.join());
      written.push(address);
    }
  };
}

/** True when the unit has understood, and changed nothing. */
function isRefusal(error: unknown): boolean {
  return error instanceof AgentError && error.code === 'hardware/modbus-exception' && error.recovery === 'drop';
}

/** Makes the fault of a command that has ended between two registers. A write without an answer stays one. */
function halfWritten(written: readonly number[], failed: number, cause: unknown): unknown {
  if (!(cause instanceof AgentError)) return cause;
  const { recovery, message } = cause;
  const [done, last] = [written.join(', '), String(failed)];
  if (cause.code === 'hardware/outcome-unknown')
    return new AgentError(cause.code, `register ${done} was written, register ${last} perhaps: ${message}`, {
      recovery,
      cause,
    });
  const words = `register ${done} was written and register ${last} was not: ${message}`;
  return new AgentError('actuators/half-written', words, { recovery, cause });
}
