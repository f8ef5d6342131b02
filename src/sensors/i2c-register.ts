/** Any chip by a table of its registers: where, how wide, which byte first, which bits, which scale. */
import type { SensorConfigOf } from '../config/agent-config.ts';
import { openI2cChip } from './i2c-chip.ts';
import type { Reading, Sensor } from './sensor.ts';
import type { SensorDeps } from './sensor-deps.ts';
import { withinRange } from './sensor-fault.ts';

export type RegisterField = SensorConfigOf<'i2c-register'>['registers'][string];

export function openI2cRegister(config: SensorConfigOf<'i2c-register'>, deps: SensorDeps, signal: AbortSignal): Promise<Sensor> {
  const { address, setup, registers } = config;
  return openI2cChip(
    config,
    deps,
    {
      setUp: async (bus, inner) => {
        for (const { register, bytes } of setup) await bus.writeRegisters(address, register, Uint8Array.from(bytes), inner);
      },
      read: async (bus, inner) => {
        const readings: Reading[] = [];
        for (const [key, field] of Object.entries(registers))
          readings.push(parseRegister(key, field, await bus.readRegisters(address, field.register, field.width, inner)));
        return readings;
      },
    },
    signal,
  );
}

/** @throws AgentError `sensors/out-of-range` (retry) for a value outside the field's own min and max. */
export function parseRegister(key: string, field: RegisterField, bytes: Uint8Array): Reading {
  const { width, signed, byteOrder, shift, bits, scale, offset, unit, min, max } = field;
  const ordered = byteOrder === 'big' ? [...bytes] : [...bytes].reverse();
  let raw = ordered.reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n) >> BigInt(shift);
  const kept = bits ?? 8 * width - shift;
  raw = signed ? BigInt.asIntN(kept, raw) : BigInt.asUintN(kept, raw);
  const exact = scale === 1 && offset === 0;
  // Twelve digits are more than any converter gives, and none of them is noise of binary fractions.
  const number = exact ? Number(raw) : Number((Number(raw) * scale + offset).toPrecision(12));
  withinRange(key, number, [min ?? Number.NEGATIVE_INFINITY, max ?? Number.POSITIVE_INFINITY]);
  const value = exact && !Number.isSafeInteger(number) ? raw : number;
  return { key, value, ...(unit !== undefined && { unit }) };
}
