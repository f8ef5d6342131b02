/** Which keys a sensor gives, as far as its configuration says it. */
import type { KeyRulesConfig, SensorConfig, SensorConfigOf } from './agent-config.ts';

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
  nmea: ['latitude', 'longitude', 'altitude', 'speed', 'course', 'satellites', 'fix'],
};

/** The driver's own keys; undefined when only the sensor knows them. */
export function sensorKeys(sensor: SensorConfig): readonly string[] | undefined {
  const fixed = KEYS_OF_KIND[sensor.kind];
  if (fixed !== undefined) return fixed;
  if (sensor.kind === 'host') return hostKeys(sensor);
  if (sensor.kind === 'ads1115') return Object.keys(sensor.channels);
  if (sensor.kind === 'modbus' || sensor.kind === 'i2c-register') return Object.keys(sensor.registers);
  if (sensor.kind === 'serial-line' || sensor.kind === 'command') return lineKeys(sensor);
  return undefined;
}

export type ValueType = 'boolean' | 'number' | 'string';

/** What one of the driver's keys gives; undefined when only the sensor knows. */
export function valueTypeOf(sensor: SensorConfig, key: string): ValueType | undefined {
  if (sensor.kind === 'gpio-input') return 'boolean';
  if (sensor.kind === 'nmea') return key === 'fix' ? 'string' : 'number';
  if (sensor.kind === 'modbus') return typeOfRegister(sensor.registers[key]);
  if (sensor.kind === 'serial-line' || sensor.kind === 'command') return sensor.format === 'number' ? 'number' : undefined;
  return sensor.kind === 'module' ? undefined : 'number';
}

/** The keys by which local rules know its values, reported or not. */
export function keysForRules(sensor: SensorConfig): readonly string[] | undefined {
  return sensorKeys(sensor)?.flatMap((key) => namesOf(sensor, key));
}

/** What one of the driver's keys becomes at the platform: nothing, one key, or one for each statistic. */
export function platformKeysOf(sensor: SensorConfig, key: string): readonly string[] {
  return keyRulesOf(sensor, key)?.report === false ? [] : namesOf(sensor, key);
}

function namesOf(sensor: SensorConfig, key: string): readonly string[] {
  return withStatistics(sensor, keyRulesOf(sensor, key)?.rename ?? key);
}

function withStatistics({ window }: SensorConfig, name: string): readonly string[] {
  return window === undefined ? [name] : [...new Set(window.statistics)].map((statistic) => `${name}_${statistic}`);
}

/** Its readings as the sampler has them; undefined when only the sensor knows them. @param keyOf under which name a driver's key goes. */
export function readingsOf(sensor: SensorConfig, keyOf: (key: string) => string): readonly string[] | undefined {
  return sensorKeys(sensor)?.flatMap((key) => withStatistics(sensor, keyOf(key)));
}

/** What each of these keys gives, where it is known; of a window's statistics only the last value is no number. */
export function typesForRules(sensor: SensorConfig): ReadonlyMap<string, ValueType> {
  return new Map(
    (sensorKeys(sensor) ?? []).flatMap((key) => {
      const type = valueTypeOf(sensor, key);
      const given = type === undefined ? [] : namesOf(sensor, key);
      return given.map((name) => [name, sensor.window === undefined || name.endsWith('_last') ? type : 'number'] as [string, ValueType]);
    }),
  );
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

/** What JavaScript takes for the beginning of a named group, whatever the letters; what is escaped begins none. */
const NAMED_GROUP = /\\.|\(\?<([\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]*)>/gu;

/** Whether a reading that a sensor gave as it was configured before is one of its readings still, as far as the configuration says it. */
export function givesStill(
  sensor: SensorConfig,
  { before, reading, keyOf }: { readonly before: SensorConfig; readonly reading: string; readonly keyOf: (key: string) => string },
): boolean {
  const readings = readingsOf(sensor, keyOf);
  if (readings !== undefined) return readings.includes(reading);
  const statistic = (before.window === undefined ? undefined : STATISTIC.exec(reading))?.[2];
  return statistic === undefined || sensor.window?.statistics.some((given) => given === statistic) === true;
}

/** The names of a pattern's named groups. */
export function namedGroups(pattern: string): readonly string[] {
  return [...pattern.matchAll(NAMED_GROUP)].flatMap(([, name]) => name ?? []);
}

/** As host/host-metrics.ts names them; a group that the machine does not show gives none of its keys. */
function hostKeys({ groups, disks, interfaces }: Extract<SensorConfig, { kind: 'host' }>): readonly string[] {
  const suffixes = (names: readonly string[]): readonly string[] => [...new Set(names)].map((name) => `_${name}`);
  const diskSuffixes = ['', ...suffixes(disks.slice(1))].slice(0, disks.length);
  const networkSuffixes = interfaces === undefined ? [''] : suffixes(interfaces);
  const keys: Readonly<Record<(typeof groups)[number], readonly string[]>> = {
    cpu: ['cpuPercent'],
    load: ['load1', 'load5', 'load15'],
    memory: ['memoryUsedPercent', 'memoryAvailableBytes'],
    disk: diskSuffixes.flatMap((suffix) => [`diskUsedPercent${suffix}`, `diskFreeBytes${suffix}`]),
    temperature: ['temperature'],
    network: networkSuffixes.flatMap((suffix) => [`networkReceivedBytes${suffix}`, `networkSentBytes${suffix}`]),
    uptime: ['uptimeS'],
  };
  return [...new Set(groups)].flatMap((group) => keys[group]);
}

function typeOfRegister(register: SensorConfigOf<'modbus'>['registers'][string] | undefined): ValueType | undefined {
  if (register === undefined) return undefined;
  if (register.table === 'coil' || register.table === 'discrete' || register.type === 'bool') return 'boolean';
  return register.type === 'string' ? 'string' : 'number';
}

function lineKeys(sensor: Extract<SensorConfig, { kind: 'serial-line' | 'command' }>): readonly string[] | undefined {
  if (sensor.format === 'number') return [sensor.key];
  if (sensor.format === 'csv') return sensor.columns && [...new Set(sensor.columns.filter((column) => column !== ''))];
  return sensor.format === 'regex' && sensor.pattern !== undefined ? namedGroups(sensor.pattern) : undefined;
}
