/** Facts of sensors, readings and outputs that the page tells when somebody asks: where they are, what is reported when, which limits hold. */
import type { ActuatorSettings } from '../actuators/kind/actuator.ts';
import { leastChange } from '../config/fields/key-rules.ts';
import { conditionWords } from '../config/keys/condition-truth.ts';
import { rulesOfReading } from '../config/keys/sensor-keys.ts';
import type { AgentConfig, SensorConfig } from '../config/schema/agent-config.ts';
import { definitionOf } from '../kinds/sensor-kinds.ts';
import type { SensorStatus } from '../status/shape/agent-status.ts';
import { registerText, sourceText } from './source-text.ts';

/** One reading, under its key at the platform. */
export interface ReadingFacts {
  /** Key of the driver, where the platform's is another. */
  readonly driverKey?: string;
  /** Place within the sensor: the address of a register. */
  readonly source?: string;
  /** `false`: kept here, not sent. */
  readonly isReported: boolean;
  readonly round?: number;
  /** A text is a share: `5 %`. */
  readonly deadband?: number | string;
  readonly minIntervalMs?: number;
  readonly maxIntervalMs?: number;
  readonly alarms?: readonly AlarmFacts[];
  /** Longest time between two reports while the sensor works; absent where there is none. */
  readonly maxGapMs?: number;
}

interface AlarmFacts {
  readonly name: string;
  /** Shown to people in place of the name. */
  readonly label?: string | undefined;
  /** Its condition in words. */
  readonly limit: string;
  readonly above?: number;
  readonly below?: number;
  readonly equal?: boolean | number | string | undefined;
  readonly hysteresis: number;
}

export interface SensorFacts {
  readonly source?: string;
  readonly periodMs: number;
  readonly windowMs?: number;
  readonly readings: Readonly<Record<string, ReadingFacts>>;
}

export interface OutputFacts extends Pick<ActuatorSettings, 'valueType' | 'texts' | 'limits' | 'operatorUntil'> {
  readonly source?: string;
  readonly interlocks: readonly string[];
}

export interface PageFacts {
  /** The page may switch outputs. */
  readonly mayControl: boolean;
  /** The page may change the configuration: it may switch outputs, and `remoteConfiguration` is enabled. */
  readonly mayConfigure?: boolean;
  readonly sensors: Readonly<Record<string, SensorFacts>>;
  readonly outputs: Readonly<Record<string, OutputFacts>>;
}

/** Sampling may be late by the time of a read or two before a plot shows a hole. */
const PERIODS_OF_A_GAP = 3;

/** Returns the facts of every sensor and output of the configuration, and of the readings that came. */
export function pageFacts(
  config: Pick<AgentConfig, 'sensors' | 'actuators' | 'remoteConfiguration'>,
  {
    mayControl,
    sensors,
    settings,
  }: {
    readonly mayControl: boolean;
    readonly sensors: readonly SensorStatus[];
    readonly settings: (name: string) => ActuatorSettings | undefined;
  },
): PageFacts {
  const readings = new Map(sensors.map((sensor) => [sensor.name, sensor.readings]));
  const labels = new Map(config.actuators.map(({ name, label }) => [name, label]));
  return {
    mayControl,
    mayConfigure: mayControl && config.remoteConfiguration.enabled,
    sensors: Object.fromEntries(
      config.sensors.map((one) => [one.name, sensorFacts(one, readings.get(one.name) ?? [])]),
    ),
    outputs: Object.fromEntries(
      config.actuators.flatMap((one) => {
        const known = settings(one.name);
        if (known === undefined) return [];
        const { valueType, texts, limits, operatorUntil, neverWith } = known;
        return [
          [
            one.name,
            {
              valueType,
              texts,
              limits,
              operatorUntil,
              source: sourceText(one),
              interlocks: neverWith.map((other) => labels.get(other.with) ?? other.with),
            },
          ],
        ];
      }),
    ),
  };
}

function sensorFacts(sensor: SensorConfig, readings: SensorStatus['readings']): SensorFacts {
  return {
    source: sourceText(sensor),
    periodMs: sensor.periodMs,
    windowMs: sensor.window?.lengthMs,
    readings: Object.fromEntries(readings.map(({ key }) => readingFacts(sensor, key))),
  };
}

function readingFacts(sensor: SensorConfig, key: string): readonly [string, ReadingFacts] {
  const rules = rulesOfReading(sensor, key);
  const { rename = key, round, deadband, minIntervalMs, maxIntervalMs, alarms, report = true } = rules ?? {};
  return [
    rename,
    {
      driverKey: rename === key ? undefined : key,
      source: registerText(sensor, key),
      isReported: report,
      round,
      deadband,
      minIntervalMs,
      maxIntervalMs,
      alarms: alarms?.map((alarm) => {
        const { label, above, below, equal, hysteresis } = alarm;
        const limit = conditionWords(alarm);
        return { name: alarm.name ?? limit, label, limit, above, below, equal, hysteresis };
      }),
      maxGapMs: maxGapMs(sensor, { isFiltered: leastChange(deadband ?? 0, 1) > 0, minIntervalMs, maxIntervalMs }),
    },
  ];
}

interface Intervals {
  readonly isFiltered: boolean;
  readonly minIntervalMs: number | undefined;
  readonly maxIntervalMs: number | undefined;
}

function maxGapMs(
  sensor: SensorConfig,
  { isFiltered, minIntervalMs = 0, maxIntervalMs }: Intervals,
): number | undefined {
  const everyMs = Math.max(sensor.window?.lengthMs ?? sensor.periodMs, minIntervalMs);
  if (definitionOf(sensor.kind).reportsByEvent?.(sensor) === true || isFiltered) {
    return maxIntervalMs === undefined ? undefined : maxIntervalMs + PERIODS_OF_A_GAP * everyMs;
  }
  return PERIODS_OF_A_GAP * everyMs;
}
