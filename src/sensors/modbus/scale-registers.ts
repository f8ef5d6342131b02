/**
 * Scale factors that stand in registers of their own, as SunSpec's `sf` do: the power of ten of another register's number. Such registers are
 * read along with those that need them, and a number whose factor is none is none.
 */
import { isNumeric } from '../../values/json.ts';
import { convertNumber } from '../conversion/convert-value.ts';
import { scaled } from '../conversion/decimal.ts';
import { type Outcome, outcomeOf } from '../kind/outcome.ts';
import { sensorFault } from '../kind/sensor-fault.ts';
import { type ModbusRegister, scaleRegister } from './definition.ts';
import type { Registers } from './polling-groups.ts';

/** SunSpec's `sunssf` is from -10 to 10, and 0x8000 where it is not implemented (information model specification, 4.6). */
const MAX_FACTOR = 10;

/** The registers of a unit with those of the factors that no key gives. */
export function withScaleRegisters(registers: Registers): Registers {
  const factors = Object.values(registers).flatMap((register) => {
    const { scaleFrom } = register;
    return typeof scaleFrom === 'number'
      ? [[factorKey(register), { ...scaleRegister(scaleFrom), table: register.table }] as const]
      : [];
  });
  return { ...registers, ...Object.fromEntries(factors) };
}

/** Outcomes of the keys, each number by its factor; those of the factors alone are left out. */
export function scaledOutcomes(outcomes: readonly Outcome[], registers: Registers): readonly Outcome[] {
  const byKey = new Map(outcomes.map((outcome) => [outcome.key, outcome]));
  return outcomes.flatMap((outcome) => {
    const { key } = outcome;
    const register = registers[key];
    if (key.startsWith('\0')) return [];
    if (register?.scaleFrom === undefined || 'fault' in outcome || !isNumeric(outcome.value)) return [outcome];
    const { value } = outcome;
    const { table: _place, type: _type, ...meaning } = register;
    return [
      outcomeOf(key, () => {
        const power = powerOf(key, byKey.get(factorKey(register)));
        const scale = Number(scaled(register.scale, { scale: Number(`1e${power}`) }));
        return { ...outcome, value: convertNumber(key, value, { ...meaning, scale }) };
      }),
    ];
  });
}

/** @throws AgentError of the factor's register, `sensors/no-value` (retry) for a factor that is none. */
function powerOf(key: string, factor: Outcome | undefined): number {
  if (factor !== undefined && 'fault' in factor) throw factor.fault;
  const power = Number(factor?.value);
  if (Number.isInteger(power) && Math.abs(power) <= MAX_FACTOR) return power;
  throw sensorFault('no-value', `the scale factor of ${key} is ${power}, which says that there is no value`);
}

/** No key of the configuration begins with NUL. */
function factorKey({ table, scaleFrom }: ModbusRegister): string {
  return typeof scaleFrom === 'string' ? scaleFrom : `\0${table} ${scaleFrom}`;
}
