/** Units of the keys that a device sends, as one client attribute: a value comes to the platform as a bare number. */
import { rulesOfReading } from '../config/keys/sensor-keys.ts';
import type { SensorConfig } from '../config/schema/agent-config.ts';
import type { Log } from '../host/log.ts';
import { SendableKeys } from '../platform/wire-values.ts';
import type { SensorState } from '../sensors/sampler.ts';
import type { JsonObject } from '../values/json.ts';

export interface KeyUnitsDeps {
  readonly config: () => { readonly sensors: readonly SensorConfig[] };
  readonly states: () => readonly Pick<SensorState, 'name' | 'readings'>[];
  readonly log: Log;
}

type KeyUnit = readonly [key: string, unit: string];

export const MAX_KEYS = 500;
export const MAX_BYTES = 16_000;
/** A longer one is no unit; a driver of a user's own may give anything. */
const MAX_UNIT_LENGTH = 32;

/**
 * Returns a function that gives `{ units }` of the sensors that are this device's now, and nothing before the first reading with a unit. A sensor
 * that has not been read since a change keeps the units it had.
 *
 * @param slot of an attached device; undefined for the gateway.
 */
export function keyUnits({ config, states, log }: KeyUnitsDeps, slot?: string): () => JsonObject {
  const sendable = new SendableKeys();
  const known = new Map<string, readonly KeyUnit[]>();
  let isTold = false;
  let toldCut = 0;
  return () => {
    const own = config().sensors.filter(({ enabled, device }) => enabled && device === slot);
    const names = new Set(own.map(({ name }) => name));
    for (const name of known.keys()) if (!names.has(name)) known.delete(name);
    const readings = new Map(states().map((state) => [state.name, state.readings]));
    for (const sensor of own) {
      const found = unitsOf(sensor, readings.get(sensor.name) ?? [], sendable);
      if (found !== undefined) known.set(sensor.name, found);
    }
    const { units, cut } = bounded(new Map(own.flatMap(({ name }) => known.get(name) ?? [])));
    if (cut !== toldCut && cut > 0)
      log.warn(
        { keys: cut },
        `the attribute units names ${MAX_KEYS} keys and ${MAX_BYTES} bytes at most; it leaves out the last keys`,
      );
    toldCut = cut;
    isTold ||= units.size > 0;
    return isTold ? { units: Object.fromEntries(units) } : {};
  };
}

/** Returns undefined before the first reading. */
function unitsOf(
  sensor: SensorConfig,
  readings: SensorState['readings'],
  sendable: SendableKeys,
): readonly KeyUnit[] | undefined {
  if (readings.length === 0) return undefined;
  return readings.flatMap(({ key, unit: given }): readonly KeyUnit[] => {
    const rules = rulesOfReading(sensor, key);
    const unit = rules?.unit ?? given;
    const isSent = rules?.report !== false;
    if (!isSent || unit === undefined || unit === '' || unit.length > MAX_UNIT_LENGTH) return [];
    return [[sendable.of(rules?.rename ?? key), unit]];
  });
}

/** Keys in their order, as many as go into the attribute. */
function bounded(all: ReadonlyMap<string, string>): {
  readonly units: ReadonlyMap<string, string>;
  readonly cut: number;
} {
  const units = new Map<string, string>();
  let bytes = 2;
  for (const [key, unit] of all) {
    bytes += Buffer.byteLength(JSON.stringify(key)) + Buffer.byteLength(JSON.stringify(unit)) + 2;
    if (units.size === MAX_KEYS || bytes > MAX_BYTES) break;
    units.set(key, unit);
  }
  return { units, cut: all.size - units.size };
}
