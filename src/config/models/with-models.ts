/** Puts the registers of named models into a configuration's sensors, before it is parsed. Only models that are named are read. */
import type { PathFault } from '../fields/config-fault.ts';
import { didYouMean, oneOf } from '../fields/did-you-mean.ts';
import { allModels, findModel, type ModelFault } from './find-models.ts';
import { meantDevice } from './meant-device.ts';
import type { Model } from './model-file.ts';
import { isMapping, withOwnWords } from './own-words.ts';

type Mapping = Readonly<Record<string, unknown>>;
type Faults = readonly PathFault[];

/** The same tree with the registers of its models. @param root whose sensors are a list. */
export async function withModels(
  root: Mapping,
  configFile: string,
): Promise<{ readonly root: Mapping; readonly faults: Faults }> {
  const written = root.sensors as readonly unknown[];
  const found = new Map<string, Awaited<ReturnType<typeof findModel>>>();
  for (const name of new Set(written.filter(namesModel).map(({ model }) => model)))
    found.set(name, await findModel(name, configFile));
  const isUnknown = [...found.values()].some(({ model, fault }) => model === undefined && fault === undefined);
  const known = isUnknown ? (await allModels(configFile)).models : [];
  const faults: PathFault[] = [];
  const sensors = written.map((sensor, at) => {
    if (!namesModel(sensor)) return sensor;
    const { model, fault } = found.get(sensor.model) ?? {};
    const wrong = model === undefined ? [modelFault(sensor.model, fault, known)] : onlyFaults(sensor.only, model);
    faults.push(...wrong.map((one) => ({ ...one, path: ['sensors', at, ...one.path] })));
    return model === undefined ? sensor : ofModel(sensor, model);
  });
  return { root: { ...root, sensors }, faults };
}

function namesModel(sensor: unknown): sensor is Mapping & { readonly model: string } {
  return isMapping(sensor) && sensor.kind === 'modbus' && typeof sensor.model === 'string';
}

function modelFault(name: string, fault: ModelFault | undefined, known: readonly Model[]): PathFault {
  if (fault === undefined)
    return {
      path: ['model'],
      problem: 'no such model:',
      expected: 'one that "turnstone models" lists',
      hint: () => meantDevice(name, known).hint,
    };
  const problem = `the model's file ${fault.file} is wrong at ${fault.path || 'its beginning'} (${fault.problem}):`;
  return { path: ['model'], problem, expected: fault.expected, hint: fault.hint };
}

function onlyFaults(only: unknown, { registers }: Model): Faults {
  const keys = Object.keys(registers);
  const unknown = Array.isArray(only)
    ? only.flatMap((key, at) => (keys.includes(key) ? [] : [{ key: String(key), at }]))
    : [];
  return unknown.map(({ key, at }) => ({
    path: ['only', at],
    problem: 'not of this model:',
    expected: oneOf(keys),
    ...didYouMean(key, keys),
  }));
}

/** The sensor's own words stand over the model's. */
function ofModel(sensor: Mapping, { registers, sensor: { connection, ...own } }: Model): Mapping {
  const linked = isMapping(sensor.connection) ? { connection: { ...connection, ...sensor.connection } } : {};
  return { ...own, ...sensor, ...linked, registers: registersOf(sensor, registers) };
}

/** With an address of its own it is another register, which stands whole. */
function registersOf({ only, registers }: Mapping, ofModel: Model['registers']): unknown {
  const own = isMapping(registers) ? registers : {};
  const isGiven = (key: string): boolean => {
    const words = Object.hasOwn(own, key) ? own[key] : undefined;
    return isMapping(words) ? words.address === undefined : !Array.isArray(only) || only.includes(key);
  };
  return withOwnWords(Object.fromEntries(Object.entries(ofModel).filter(([key]) => isGiven(key))), registers);
}
