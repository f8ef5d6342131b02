/**
 * Models that a Modbus unit may be, from what it answers. It is only read.
 *
 *   register that tells the model ─► that model, certainly
 *   else the makers it names, or all ─► a sample of each model's registers, all given and all plausible ─► those that fit best
 */
import type { Model } from '../config/models/model-file.ts';
import { AgentError } from '../errors/agent-error.ts';
import type { ModbusIdentity, ModbusLink } from '../hardware/modbus-port.ts';
import { sorted } from '../sensors/kind/outcome.ts';
import type { Reading } from '../sensors/kind/sensor.ts';
import { modbus } from '../sensors/modbus/definition.ts';
import { pollingGroups, request } from '../sensors/modbus/polling-groups.ts';
import { scaledOutcomes, withScaleRegisters } from '../sensors/modbus/scale-registers.ts';

export interface ModelGuess {
  readonly name: string;
  readonly device: string;
  readonly isCertain: boolean;
}

/** Registers of a model that are looked at: those with the narrowest limits first. */
const MAX_SAMPLE = 8;
const MAX_GUESSES = 3;
/** Limits that values of a wrong map seldom keep, by key; one weighs as much as three others, and two others make a model likely. */
const TELLING: readonly (readonly [RegExp, number, number])[] = [
  [/^frequency$/, 45, 65],
  [/^voltage(L\d|Average|)$/, 80, 300],
  [/^voltage(L\dL\d|LineAverage)$/, 140, 520],
];
const TELLING_WEIGHT = 3;
const MIN_WEIGHT = 2;
/** Limits of a right map's values, by unit. */
const LIMITS: Readonly<Record<string, readonly [number, number]>> = {
  V: [-2_000, 2_000],
  A: [-10_000, 10_000],
  W: [-1e7, 1e7],
  kWh: [0, 1e8],
  Hz: [0, 500],
  '%': [0, 100],
  '°C': [-50, 200],
};

/** Returns the models that fit best; those it has found when the signal aborts. */
export async function likelyModels(
  { link, unitId, identity }: { readonly link: ModbusLink; readonly unitId: number; readonly identity: ModbusIdentity },
  models: readonly Model[],
  signal: AbortSignal,
): Promise<readonly ModelGuess[]> {
  const valuesOf = readerOf(link, unitId, signal);
  for (const model of models) {
    if (model.identify === undefined) continue;
    const [told] = await valuesOf({ identify: model.identify.register });
    if (model.identify.values.some((value) => value === told?.value))
      return [{ name: model.name, device: `${model.maker} ${model.title}`, isCertain: true }];
  }
  const others = models.filter(({ identify }) => identify === undefined);
  const words = `${identity.maker} ${identity.product}`.toLowerCase();
  const named = others.filter(({ maker }) => words.includes(maker.toLowerCase()));
  const weighed: { readonly model: Model; readonly weight: number }[] = [];
  for (const model of named.length > 0 ? named : others) {
    const values = await valuesOf(sampleOf(model));
    weighed.push({ model, weight: values.reduce((sum, value) => sum + weightOf(value), 0) });
  }
  const best = Math.max(MIN_WEIGHT, ...weighed.map(({ weight }) => weight));
  return weighed
    .filter(({ weight }) => weight === best)
    .slice(0, MAX_GUESSES)
    .map(({ model: { name, maker, title } }) => ({ name, device: `${maker} ${title}`, isCertain: false }));
}

/** Returns a reader of registers as a sensor would have them; it gives nothing when one of them is not given. */
function readerOf(link: ModbusLink, unitId: number, signal: AbortSignal) {
  return async (written: Model['registers']): Promise<readonly Reading[]> => {
    const sensor = {
      name: 'model',
      kind: 'modbus',
      connection: { transport: 'tcp', host: 'localhost' },
      registers: written,
    };
    const registers = withScaleRegisters(modbus.schema.parse(sensor).registers);
    try {
      const outcomes = [];
      for (const group of pollingGroups(registers, 0))
        outcomes.push(...(await request({ link, unitId, registers }, group, signal)));
      const { readings, refused } = sorted(scaledOutcomes(outcomes, registers));
      return refused.length > 0 ? [] : readings;
    } catch (error) {
      if (error instanceof AgentError) return [];
      throw error;
    }
  };
}

function sampleOf({ registers }: Model): Model['registers'] {
  const isTelling = (key: string): boolean => TELLING.some(([of]) => of.test(key));
  const entries = Object.entries(registers).toSorted(([a], [b]) => Number(isTelling(b)) - Number(isTelling(a)));
  return Object.fromEntries(entries.slice(0, MAX_SAMPLE));
}

/** Returns how much a value says for its map; 0 stands in registers that nobody uses, and one that is not plausible rules the map out. */
function weightOf({ key, value, unit = '' }: Reading): number {
  if (typeof value !== 'number') return 0;
  const telling = TELLING.find(([of]) => of.test(key));
  const [, min, max] = telling ?? [key, ...(LIMITS[unit] ?? [-1e9, 1e9])];
  if (value < min || value > max) return Number.NEGATIVE_INFINITY;
  if (value === 0) return 0;
  return telling === undefined ? Number(unit in LIMITS) : TELLING_WEIGHT;
}
