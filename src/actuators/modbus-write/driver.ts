/** A setpoint or a coil in a Modbus unit: written in one request, read back from the same place. */
import { nearestModbus, registersOf, valueOfModbus } from '../../config/fields/modbus-types.ts';
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
    return { write, readLate: read, ...(config.readBack && { read }), close: () => link.close() };
  };
}

type RegisterAccess = Required<Pick<ActuatorDriver, 'write' | 'read'>>;

function coilAccess({ unitId, address, writeFunction }: ModbusWriteConfig, link: ModbusLink): RegisterAccess {
  return {
    write: (value, signal) => to(link, value, writeFunction).writeCoil(unitId, address, value === true, signal),
    read: async (signal) =>
      (await link.ranked('movement').readBits(unitId, { table: 'coil', address, count: 1 }, signal))[0] === true,
  };
}

function bitAccess({ unitId, address, bit = 0, writeFunction }: ModbusWriteConfig, link: ModbusLink): RegisterAccess {
  const range = { table: 'holding', address, count: 1 } as const;
  return {
    write: (value, signal) =>
      to(link, value, writeFunction).writeBit(unitId, { address, bit, on: value === true }, signal),
    read: async (signal) => {
      const [word = 0] = await link.ranked('movement').readRegisters(unitId, range, signal);
      return ((word >> bit) & 1) === 1;
    },
  };
}

/** A line full of readings that nobody answers does not keep a pin on. */
function to(link: ModbusLink, value: ActuatorValue, code?: WriteFunction): ModbusRequests {
  return link.ranked(isActive(value) ? 'movement' : 'off', code);
}

function registerAccess(config: ModbusWriteConfig, link: ModbusLink): RegisterAccess {
  const { unitId, address, type, wordOrder, byteOrder, scale, offset, writeFunction } = config;
  const layout: ModbusLayout = { type, wordOrder, byteOrder };
  const range = { table: 'holding', address, count: registersOf(layout) } as const;
  const wordsOf = (value: ActuatorValue): readonly number[] => encodeModbus((Number(value) - offset) / scale, layout);
  let wanted: { readonly value: ActuatorValue; readonly words: readonly number[] } | undefined;
  return {
    write: async (value, signal) => {
      const words = wordsOf(value);
      await to(link, value, writeFunction).writeRegisters(unitId, address, words, signal);
      wanted = { value, words };
    },
    read: async (signal) => {
      const words = await link.ranked('movement').readRegisters(unitId, range, signal);
      // A float64 and its scale do not come back to the last bit: what was written is what was wanted.
      if (wanted?.words.every((word, at) => word === words[at])) return wanted.value;
      const raw = decodeModbus(words, layout);
      return typeof raw === 'number' || typeof raw === 'bigint'
        ? nearestModbus(config, valueOfModbus(config, Number(raw)))
        : raw;
    },
  };
}
