/** What a Modbus register can hold. */
import type { ActuatorConfigOf } from '../agent-config.ts';
import type { MODBUS_TYPES } from '../fields/lines-and-ports.ts';

type ModbusType = (typeof MODBUS_TYPES)[number];

/** Of the whole numbers past 2^53 only those that are exact. */
const RANGES: Readonly<Partial<Record<ModbusType, readonly [number, number]>>> = {
  uint16: [0, 0xffff],
  int16: [-0x8000, 0x7fff],
  uint32: [0, 0xffffffff],
  int32: [-0x80000000, 0x7fffffff],
  uint64: [0, Number.MAX_SAFE_INTEGER],
  int64: [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
  float32: [-3.4028234663852886e38, 3.4028234663852886e38],
};

/** The values that an actuator's register can hold, after scale and offset; undefined when every number fits. */
export function modbusRange({ type, scale, offset }: ActuatorConfigOf<'modbus-write'>): readonly [number, number] | undefined {
  const range = RANGES[type];
  if (range === undefined) return undefined;
  const [a, b] = range.map((raw) => Number((raw * scale + offset).toPrecision(16)));
  return [Math.min(a ?? 0, b ?? 0), Math.max(a ?? 0, b ?? 0)];
}

/** Whether the register that is next to a value exists. */
export function holdsModbus({ type, scale, offset }: ActuatorConfigOf<'modbus-write'>, value: number): boolean {
  const [least, most] = RANGES[type] ?? [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY];
  const raw = Math.round((value - offset) / scale);
  return raw >= least && raw <= most;
}
