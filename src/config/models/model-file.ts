/**
 * One file of a family of devices whose registers are alike, and the models that it makes:
 *
 *   defaults ─┐
 *   registers ┴─► of the family ─► only / without ─► registers of the model over them ─► units of the vocabulary ─► marks of no value
 */
import { z } from 'zod';
import type { ModelFile } from '../../host/model-files.ts';
import { modbus } from '../../sensors/modbus/definition.ts';
import { type ConfigFault, pathText } from '../fields/config-fault.ts';
import { list, platformKey, section, table, text, whole } from '../fields/fields.ts';
import { MEASUREMENT_UNITS } from '../fields/measurement-keys.ts';
import { readYaml } from '../yaml/yaml-source.ts';
import { faultsOf } from '../yaml/zod-faults.ts';

/** Options of a register as a Modbus sensor has them; checked when the model is whole. */
const options = () => table(z.string(), z.unknown());
const registers = () => table(platformKey(), options()).default({});

/** Type of a register without one, as in a Modbus sensor. */
const DEFAULT_TYPE = 'uint16';

/** Where the facts were found: the maker's own document, or a public table. */
const source = section({
  kind: z.enum(['maker', 'table']),
  title: z.string().min(1),
  document: z.string().optional(),
  repository: z.string().optional(),
  path: z.string().optional(),
  commit: z.string().optional(),
});

const model = section({
  title: z.string().min(1),
  /** Names of sources; two of them are independent of each other. */
  sources: list(z.string(), { max: 8 }).default([]),
  only: list(platformKey(), { min: 1 }).optional(),
  without: list(platformKey()).default([]),
  defaults: options().default({}),
  registers: registers(),
  /** Keys that one of two sources alone has. */
  oneSource: list(platformKey()).default([]),
  baudRate: whole(300, 115_200).optional(),
  /** Options of the sensor that the device needs, beneath those that the sensor has itself. */
  sensor: section({ maxGap: z.number().optional(), connection: options().optional() }).default({}),
  /** Register whose value tells this model, for scans. */
  identify: section({
    register: options(),
    values: list(z.union([z.number(), z.string()]), { min: 1, max: 64 }),
  }).optional(),
});

const family = section({
  maker: z.string().min(1),
  sources: table(z.string(), source).default({}),
  defaults: options().default({}),
  /** The maker's mark of no value by type, for registers without a `noValue` of their own. */
  noValues: table(z.string(), z.number()).default({}),
  registers: registers(),
  models: table(text(/^[a-z0-9][a-z0-9-]{0,62}$/, 'a name of small letters, digits and -'), model),
});

export interface Model extends Omit<z.infer<typeof model>, 'sources' | 'registers' | 'only' | 'without' | 'defaults'> {
  readonly name: string;
  readonly maker: string;
  readonly file: ModelFile;
  /** By key, as the section of a sensor would have them. */
  readonly registers: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly sources: readonly z.infer<typeof source>[];
  readonly verified: 'one-source' | 'two-sources';
}

type Fault = Pick<ConfigFault, 'path' | 'problem' | 'expected' | 'hint'>;

/** The models of a file, or its first fault. */
export function modelsIn(
  content: Uint8Array,
  file: ModelFile,
): { readonly models: readonly Model[]; readonly fault?: Fault } {
  const { tree, faults, locate } = readYaml(content);
  if (faults[0] !== undefined) return { models: [], fault: faults[0] };
  const parsed = family.safeParse(tree);
  const [wrong] = parsed.success ? [] : faultsOf(parsed.error.issues, family, tree, []);
  if (wrong !== undefined || parsed.data === undefined)
    return { models: [], fault: locate(wrong ?? { path: [], expected: 'a family of models' }) };
  const models = Object.entries(parsed.data.models).map(([name, one]) => modelOf(name, one, parsed.data, file));
  return { models };
}

function modelOf(
  name: string,
  one: z.infer<typeof model>,
  { maker, ...of }: z.infer<typeof family>,
  file: ModelFile,
): Model {
  const { sources: named, only, without, defaults, registers: own, ...rest } = one;
  const inherited = Object.entries(of.registers).filter(
    ([key]) => only?.includes(key) !== false && !without.includes(key),
  );
  const merged = Object.entries({ ...Object.fromEntries(inherited), ...own }).map(([key, register]) => {
    const unit = MEASUREMENT_UNITS[key];
    const whole = { ...(typeof unit === 'string' && { unit }), ...of.defaults, ...defaults, ...register };
    return [key, withMark(whole, of.noValues)] as const;
  });
  const sources = named.flatMap((id) => of.sources[id] ?? []);
  const verified = sources.length > 1 ? 'two-sources' : 'one-source';
  return { ...rest, name, maker, file, registers: Object.fromEntries(merged), sources, verified };
}

function withMark(register: Readonly<Record<string, unknown>>, noValues: Readonly<Record<string, number>>) {
  const mark = noValues[String(register.type ?? DEFAULT_TYPE)];
  return mark === undefined || Object.hasOwn(register, 'noValue') ? register : { ...register, noValue: mark };
}

/** First fault of a model's registers, as a Modbus sensor would have it. */
export function registerFault({ registers: of, sensor: own }: Model): Fault | undefined {
  const connection = { ...own.connection, transport: 'tcp', host: 'localhost' };
  const sensor = { ...own, name: 'model', kind: 'modbus', connection, registers: of };
  const parsed = modbus.schema.safeParse(sensor);
  const at = ['sensors', 0];
  const [fault] = parsed.success
    ? (modbus.faults?.({ ...parsed.data, deadlineMs: 0 }, at) ?? [])
    : faultsOf(parsed.error.issues, modbus.schema, sensor, at);
  if (fault === undefined) return undefined;
  const { path, problem = 'wrong value', expected, hint } = fault;
  return {
    path: pathText(path.slice(at.length)),
    problem,
    expected,
    hint: typeof hint === 'function' ? hint() : hint,
  };
}
