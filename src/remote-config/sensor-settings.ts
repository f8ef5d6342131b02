/**
 * Settings of one sensor that a person changes on the page, from the configuration in force: label, period, and label and alarms of each key. Each has
 * the path by which a patch changes it. Nothing else of the sensor is told, as places and requests may hold secrets.
 */
import { conditionWords } from '../config/keys/condition-truth.ts';
import { namesOfReading, platformKeyOf, sensorKeys, valueTypeOf } from '../config/keys/sensor-keys.ts';
import type { AgentConfig, SensorConfig } from '../config/schema/agent-config.ts';
import { refusal } from '../errors/agent-error.ts';
import { definitionOf } from '../kinds/sensor-kinds.ts';
import { formatDuration } from '../names/duration.ts';
import type { ValueType } from '../sensors/kind/definition.ts';
import { type MemberPath, memberPathText } from './member-path.ts';
import { itemsByName } from './tree-differences.ts';

export interface SensorSettings {
  /** SHA-256 of the file that runs, for which a patch is made. */
  readonly base: string;
  readonly name: string;
  readonly path: string;
  readonly label?: string | undefined;
  /** As in the file: `10s`. */
  readonly period: string;
  readonly keys: readonly KeySettings[];
}

export interface KeySettings {
  readonly path: string;
  /** Key at the platform; `*` for the rules of every key that has none of its own. */
  readonly key: string;
  readonly label?: string | undefined;
  readonly unit?: string | undefined;
  /** Undefined where only the sensor knows. */
  readonly type?: ValueType | undefined;
  readonly alarms: readonly AlarmSettings[];
}

export interface AlarmSettings {
  readonly path: string;
  readonly name?: string | undefined;
  readonly label?: string | undefined;
  /** Its condition in words. */
  readonly limit: string;
  readonly above?: number | undefined;
  readonly below?: number | undefined;
  readonly hysteresis: number;
}

const REST = '*';

/**
 * @param seen the driver's keys that it has given, for a sensor whose keys no configuration says.
 * @throws AgentError `sensors/unknown` (drop).
 */
export function sensorSettings(
  config: Pick<AgentConfig, 'sensors'>,
  { name, base, seen }: { readonly name: string; readonly base: string; readonly seen: readonly string[] },
): SensorSettings {
  const sensor = config.sensors.find((one) => one.name === name);
  if (sensor === undefined) throw refusal('sensors/unknown', `there is no sensor ${name.slice(0, 64)}`);
  const own = Object.keys(sensor.keys);
  const given = sensorKeys(sensor) ?? (sensor.window === undefined ? seen : []);
  // A key that gets rules of its own loses those of `*`.
  const others = own.includes(REST) ? [] : given.filter((key) => !own.includes(key));
  return {
    base,
    name,
    path: memberPathText(['sensors', name]),
    label: sensor.label,
    period: formatDuration(sensor.periodMs),
    keys: [...own.filter((key) => key !== REST), ...others, ...own.filter((key) => key === REST)].map((key) =>
      keySettings(sensor, key),
    ),
  };
}

function keySettings(sensor: SensorConfig, key: string): KeySettings {
  const path = ['sensors', sensor.name, 'keys', key];
  const rules = Object.hasOwn(sensor.keys, key) ? sensor.keys[key] : undefined;
  const alarms = alarmSettings(rules?.alarms ?? [], [...path, 'alarms']);
  if (key === REST) return { path: memberPathText(path), key, alarms };
  const { units } = definitionOf(sensor.kind);
  return {
    path: memberPathText(path),
    key: platformKeyOf(sensor, key),
    label: rules?.label,
    unit: namesOfReading(sensor, { key, unit: units?.[key] ?? undefined }).unit,
    type: valueTypeOf(sensor, key),
    alarms,
  };
}

type Alarms = NonNullable<SensorConfig['keys'][string]['alarms']>;

/** An alarm goes by its name where all of them have one, as a patch finds it. */
function alarmSettings(alarms: Alarms, path: MemberPath): readonly AlarmSettings[] {
  const isNamed = itemsByName(alarms) !== undefined;
  return alarms.map((alarm, at) => {
    const { name, label, above, below, hysteresis } = alarm;
    const place = isNamed && name !== undefined ? name : at;
    return {
      path: memberPathText([...path, place]),
      name,
      label,
      limit: conditionWords(alarm),
      above,
      below,
      hysteresis,
    };
  });
}
