/** Which keys a sensor gives, as far as its configuration says it. */
import type { KeyRulesConfig, SensorConfig } from './agent-config.ts';

/** Keys of kinds whose keys do not depend on their configuration. */
const KEYS_OF_KIND: Readonly<Partial<Record<SensorConfig['kind'], readonly string[]>>> = {
  'gpio-input': ['state'],
  'gpio-counter': ['total', 'rate'],
  'gpio-frequency': ['frequency'],
  bme280: ['temperature', 'pressure', 'humidity'],
  bmp280: ['temperature', 'pressure'],
  sht3x: ['temperature', 'humidity'],
  tmp102: ['temperature'],
  lm75: ['temperature'],
  mcp9808: ['temperature'],
  ina219: ['voltage', 'current', 'power'],
  bh1750: ['illuminance'],
  ds18b20: ['temperature'],
};

/** The driver's own keys; undefined when only the sensor knows them. */
export function sensorKeys(sensor: SensorConfig): readonly string[] | undefined {
  const fixed = KEYS_OF_KIND[sensor.kind];
  if (fixed !== undefined) return fixed;
  if (sensor.kind === 'ads1115') return Object.keys(sensor.channels);
  if (sensor.kind === 'modbus' || sensor.kind === 'i2c-register') return Object.keys(sensor.registers);
  if (sensor.kind === 'serial-line' || sensor.kind === 'command') return lineKeys(sensor);
  return undefined;
}

/** The keys at the platform. */
export function telemetryKeys(sensor: SensorConfig): readonly string[] | undefined {
  const keys = sensorKeys(sensor)?.filter((key) => keyRulesOf(sensor, key)?.report !== false);
  const renamed = keys?.map((key) => keyRulesOf(sensor, key)?.rename ?? key);
  const { window } = sensor;
  return window === undefined ? renamed : renamed?.flatMap((key) => window.statistics.map((statistic) => `${key}_${statistic}`));
}

/** The report rules of a sensor's key: its own, or those of `*`. */
export function keyRulesOf(sensor: SensorConfig, key: string): KeyRulesConfig | undefined {
  return Object.hasOwn(sensor.keys, key) ? sensor.keys[key] : sensor.keys['*'];
}

/** `temperature_mean`: a window's statistic of `temperature`. */
const STATISTIC = /^(.+)_(mean|min|max|count|sum|last)$/;

/**
 * The report rules of a reading. A window's statistics follow the rules of the key they are made of, under their own names; a count is no
 * measurement, so that it is neither converted nor watched, and an offset has no meaning for a sum.
 */
export function rulesOfReading(sensor: SensorConfig, key: string): KeyRulesConfig | undefined {
  const [, base, statistic] = (sensor.window === undefined ? undefined : STATISTIC.exec(key)) ?? [];
  const rules = keyRulesOf(sensor, base ?? key);
  if (rules === undefined || base === undefined) return rules;
  const { rename, report, minIntervalMs, maxIntervalMs } = rules;
  const named = { ...(rename !== undefined && { rename: `${rename}_${statistic}` }) };
  if (statistic !== 'count') return { ...rules, ...named, ...(statistic === 'sum' && { offset: 0 }) };
  return { ...named, report, ...(minIntervalMs !== undefined && { minIntervalMs }), ...(maxIntervalMs !== undefined && { maxIntervalMs }) };
}

/** The names of a pattern's named groups. */
export function namedGroups(pattern: string): readonly string[] {
  return [...pattern.matchAll(/\(\?<([A-Za-z_$][\w$]*)>/g)].map(([, name]) => name ?? '');
}

function lineKeys(sensor: Extract<SensorConfig, { kind: 'serial-line' | 'command' }>): readonly string[] | undefined {
  if (sensor.format === 'number') return [sensor.key];
  if (sensor.format === 'csv') return sensor.columns?.filter((column) => column !== '');
  return sensor.format === 'regex' && sensor.pattern !== undefined ? namedGroups(sensor.pattern) : undefined;
}
