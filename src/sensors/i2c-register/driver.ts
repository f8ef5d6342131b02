/**
 * Any chip by a table of its registers: where, how wide, which byte first, which bits, which scale. What it shows after power-up, in overload
 * and during a conversion its sheet says, and `noValue`, `min` and `max` of the table: a value they exclude is left out alone, and the chip is
 * set up again before the next read, as it may have lost its power.
 */
import type { I2cBus } from '../../hardware/i2c-port.ts';
import { bitField } from '../conversion/bit-field.ts';
import { registerValue } from '../families/registers/register-value.ts';
import { openI2cChip } from '../kind/i2c-chip.ts';
import { type Outcome, outcomeOf } from '../kind/outcome.ts';
import type { Reading, Sensor } from '../kind/sensor.ts';
import type { SensorDeps } from '../kind/sensor-deps.ts';
import type { I2cRegisterConfig } from './definition.ts';

export type RegisterField = I2cRegisterConfig['registers'][string];

export function open(config: I2cRegisterConfig, deps: SensorDeps, signal: AbortSignal): Promise<Sensor> {
  const { address, setup, registers } = config;
  const driver = {
    setUp: async (bus: I2cBus, inner: AbortSignal) => {
      for (const { register, bytes } of setup)
        await bus.writeRegisters(address, register, Uint8Array.from(bytes), inner);
    },
    read: async (bus: I2cBus, inner: AbortSignal) => {
      const outcomes: Outcome[] = [];
      for (const [key, field] of Object.entries(registers)) {
        const bytes = await bus.readRegisters(address, field.register, field.width, inner);
        outcomes.push(outcomeOf(key, () => parseRegister(key, field, bytes)));
      }
      return outcomes;
    },
  };
  return openI2cChip(config, deps, driver, signal);
}

/** @throws AgentError `sensors/no-value` for the field's own mark of none, `sensors/out-of-range` outside its min and max (both retry). */
export function parseRegister(key: string, field: RegisterField, bytes: Uint8Array): Reading {
  const { width, signed, byteOrder, shift, bits, unit } = field;
  const ordered = byteOrder === 'big' ? [...bytes] : [...bytes].reverse();
  const raw = ordered.reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n);
  const kept = bits ?? 8 * width - shift;
  const number = bitField(key, BigInt.asUintN(shift + kept, raw), field, { bits: shift + kept, isSigned: signed });
  const { noValue, nulls, map, scale, offset, min, max } = field;
  const meaning = { noValue, nulls, map, scale, offset, min, max };
  return { key, value: registerValue(key, number, meaning, { bits: kept }), ...(unit !== undefined && { unit }) };
}
