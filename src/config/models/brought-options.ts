/** Options that a preset brings to a sensor: a fault in them stands in the preset's file, and is told with its name. */
import { type ConfigPath, depthIn, type PathFault, pathText } from '../fields/config-fault.ts';

export interface Brought {
  readonly file: string;
  readonly options: unknown;
  /** The sensor's own. */
  readonly own: unknown;
}

/** By the sensor's place in its list. */
export type BroughtOptions = ReadonlyMap<number, Brought>;

/** The fault at the name of the preset, where the preset says what is wrong; else the same. */
export function toldOfFile(fault: PathFault, brought: BroughtOptions): PathFault {
  const [section, index, ...rest] = fault.path;
  const found = section === 'sensors' ? brought.get(Number(index)) : undefined;
  if (found === undefined || depthIn(found.options, rest) <= depthIn(found.own, rest)) return fault;
  const { hidesKey = false, atKey: _atKey, value = '', problem = 'wrong value', ...others } = fault;
  const path: ConfigPath = hidesKey ? rest.slice(0, -1) : rest;
  const wrong = `${problem.replace(/:$/, '')} ${value}`.trimEnd();
  const told = `the preset's file ${found.file} is wrong at sensor.${pathText(path)} (${wrong}):`;
  return { ...others, path: ['sensors', Number(index), 'preset'], problem: told };
}
