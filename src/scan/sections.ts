/** Sections of a configuration for what was found, in the order in which a person writes their members. */
import type { ModbusConnection } from '../hardware/modbus-port.ts';
import { definitionOf, type SensorKind } from '../kinds/sensor-kinds.ts';
import type { JsonObject } from '../values/json.ts';
import type { FoundChip } from './find-chips.ts';
import type { FoundKernelDevice } from './find-kernel-devices.ts';
import type { FreeNames } from './free-names.ts';
import type { HeardPort } from './listen.ts';
import type { FoundUnit } from './modbus-units.ts';
import type { Guess, LineSettings } from './serial-guesses.ts';

/** Decimal places of what the kernel reads: fractions of a volt and tenths of a degree are in them. */
const KERNEL_DIGITS = 3;

/** Returns the section of a chip; undefined where nobody knows what it is. @param hasKeys with a rule for each key: its places, and another name where it is taken. */
export function chipSection(
  { bus, address, guess }: FoundChip,
  names: FreeNames,
  { hasKeys }: { readonly hasKeys: boolean },
): JsonObject | undefined {
  if (guess === undefined) return undefined;
  const { kind } = guess;
  const name = names.next(kind);
  const options = definitionOf(kind).scan?.options?.((taken) => names.next(taken));
  return { name, kind, bus, address, ...options, ...(hasKeys ? keyRules(kind, names) : {}) };
}

export function thermometerSection(id: string, kind: SensorKind, names: FreeNames): JsonObject {
  return { name: names.next('thermometer'), kind, id, ...keyRules(kind, names) };
}

/** Section of a device. @param hasKeys with a rule for each key: its places, and another name where it is taken. */
export function kernelSection(
  { kind, chip, place, isNameShared, keys }: FoundKernelDevice,
  names: FreeNames,
  { hasKeys }: { readonly hasKeys: boolean },
): JsonObject & { readonly name: string } {
  const name = names.next(sensorName(chip));
  const rules = keys.map((key): [string, JsonObject] => {
    const unique = names.next(key);
    return [key, unique === key ? { round: KERNEL_DIGITS } : { rename: unique, round: KERNEL_DIGITS }];
  });
  return {
    name,
    kind,
    chip,
    ...(isNameShared ? { at: place } : {}),
    ...(hasKeys && rules.length > 0 ? { keys: Object.fromEntries(rules) } : {}),
  };
}

/**
 * Returns the section of what was heard on a serial port.
 * @param isDevice where it is a device of its own, whose keys are its own.
 */
export function guessSection(
  { path, stablePath = path }: HeardPort,
  { name: called, options: { kind, ...options }, possible, settings }: Guess,
  { names, isDevice }: { readonly names: FreeNames; readonly isDevice: boolean },
): JsonObject & { readonly name: string } {
  const name = names.next(called);
  const isTaken = !isDevice && possible.map((key) => names.next(key) !== key).includes(true);
  return {
    name,
    kind: String(kind),
    port: stablePath,
    ...(options.preset === undefined ? lineFields(settings) : {}),
    ...(isDevice ? { device: name } : {}),
    ...(isTaken ? { prefix: `${name}.` } : {}),
    ...(options as JsonObject),
  };
}

/** Returns the section of a Modbus unit whose registers are known; undefined of another. */
export function unitSection({ connection, unitId, models }: FoundUnit, names: FreeNames): JsonObject | undefined {
  const [best] = models;
  if (best === undefined) return undefined;
  const name = names.next(`unit${unitId}`);
  return {
    name,
    kind: 'modbus',
    prefix: `${name}.`,
    unitId,
    connection: unitPlace(connection),
    model: best.name,
  };
}

/** Returns a connection as a configuration has it, without the times of the search. */
export function unitPlace(connection: ModbusConnection): JsonObject {
  const { responseTimeoutMs: _ofScan, ...place } = connection;
  return place as JsonObject;
}

/** Settings of a serial line that are not the usual ones, and its speed. */
export function lineFields({ baudRate, dataBits, parity }: LineSettings): JsonObject {
  return { baudRate, ...(dataBits === 8 ? {} : { dataBits }), ...(parity === 'none' ? {} : { parity }) };
}

/** The decimal places of each key, and a rename where an earlier sensor has it: temperature, temperature2 … */
function keyRules(kind: SensorKind, names: FreeNames): JsonObject {
  const { units = {}, digits = {} } = definitionOf(kind);
  const rules = Object.keys(units).flatMap((key): [string, JsonObject][] => {
    const unique = names.next(key);
    const rule = {
      ...(unique === key ? {} : { rename: unique }),
      ...(digits[key] === undefined ? {} : { round: digits[key] }),
    };
    return Object.keys(rule).length === 0 ? [] : [[key, rule]];
  });
  return rules.length === 0 ? {} : { keys: Object.fromEntries(rules) };
}

/** A chip's name as that of a sensor. */
function sensorName(chip: string): string {
  const name = chip.replaceAll(/[^A-Za-z0-9_-]/g, '').slice(0, 40);
  return /^[A-Za-z]/.test(name) ? name : `chip${name}`;
}
