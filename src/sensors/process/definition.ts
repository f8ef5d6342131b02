/** A program that is a driver for as long as it lives: it prints a line for each reading. Keys are what it prints. */
import type { ConfigPath } from '../../config/fields/config-fault.ts';
import {
  byteRate,
  comparedValue,
  duration,
  platformKey,
  program,
  programArguments,
  programWord,
  rate,
  size,
  table,
  text,
} from '../../config/fields/fields.ts';
import { type Finding, finding, noEffect } from '../../config/fields/findings.ts';
import { parseJsonPath } from '../../config/fields/json-path.ts';
import { LINE_KEYS, lineFormatFields } from '../families/lines/definition.ts';
import { type ConfigOf, defineSensor, sensorSection } from '../kind/definition.ts';

const DEFAULT_START_TIMEOUT = '30s';
const DEFAULT_MAX_LINE = '16kB';
const DEFAULT_LINE_RATE = '100/s';
const DEFAULT_BYTE_RATE = '64kB/s';
const DEFAULT_MAX_MEMORY = '128MB';

const place = () => text(/^.{1,255}$/, 'a path');

const schema = sensorSection('process', () => ({
  program: program(),
  arguments: programArguments().default([]),
  /** Beside PATH, LANG and PYTHONUNBUFFERED; nothing of the agent's own is given to it. */
  environment: table(text(/^[^=\0]+$/, 'the name of a variable'), programWord()).default({}),
  ...lineFormatFields,
  /** For `json`: key and place in the line: `emeters[0].power`. Without them each member of the line is a key. */
  paths: table(platformKey(), place()).optional(),
  /** For `json`: only lines that have these values at these places are read; the others are somebody else's. */
  where: table(place(), comparedValue()).optional(),
  /** How long no reading may come; then the program is started again. Default: period and deadline. 0s: it speaks only when something happens. */
  maxSilence: duration({ max: '30d' }).optional(),
  /** How long its first line may take. */
  startTimeout: duration({ min: '1s', max: '1h' }).prefault(DEFAULT_START_TIMEOUT),
  /** A longer line is left out. */
  maxLine: size({ min: '64B', max: '64kB' }).prefault(DEFAULT_MAX_LINE),
  /** Lines that are read; a program that prints more waits, and nothing is lost. */
  lineRate: rate({ min: '1/s', max: '1000/s' }).prefault(DEFAULT_LINE_RATE),
  /** Bytes that are read; as lineRate. */
  byteRate: byteRate({ min: '1kB/s', max: '1MB/s' }).prefault(DEFAULT_BYTE_RATE),
  /** Memory of the program and its children together; beyond, they are killed and started again. */
  maxMemory: size({ min: '1MB', max: '16GB' }).prefault(DEFAULT_MAX_MEMORY),
}));

export type ProcessConfig = ConfigOf<typeof schema>;

export const processSensor = defineSensor({
  schema,
  driver: () => import('./driver.ts'),
  ...LINE_KEYS,
  keys: () => undefined,
  valueType: () => undefined,
  keepsTimes: true,
  reportsByEvent: () => true,
  faults: (config, path) => [...LINE_KEYS.faults(config, path), ...pathFaults(config, path)],
  faultsAmong: (sensors) =>
    sensors.flatMap(({ config, path }, index) => {
      const other = sensors.slice(0, index).find((one) => programOf(one.config) === programOf(config));
      if (other === undefined || boundsOf(other.config) === boundsOf(config)) return [];
      const problem = 'the same program with other bounds:';
      return [
        finding([...path, 'program'], problem, 'maxLine, lineRate, byteRate and maxMemory as in the other section'),
      ];
    }),
  remedy: (config) => `run ${config.program} by hand as the service’s user`,
});

function programOf(config: ProcessConfig): string {
  return JSON.stringify([config.program, config.arguments, Object.entries(config.environment).sort()]);
}

function boundsOf({ maxLineBytes, lineRatePerS, byteRateBytesPerS, maxMemoryBytes }: ProcessConfig): string {
  return JSON.stringify([maxLineBytes, lineRatePerS, byteRateBytesPerS, maxMemoryBytes]);
}

function pathFaults({ paths = {}, where = {}, format }: ProcessConfig, path: ConfigPath): Finding[] {
  const options = { paths, where };
  if (format !== 'json')
    return Object.entries(options).flatMap(([option, places]) =>
      Object.keys(places).length > 0 ? [noEffect(path, option, 'format: json')] : [],
    );
  const places = [
    ...Object.entries(paths).map(([key, one]) => [one, [...path, 'paths', key]] as const),
    ...Object.keys(where).map((one) => [one, [...path, 'where', one]] as const),
  ];
  return places.flatMap(([one, at]) =>
    parseJsonPath(one) === undefined
      ? [finding(at, 'no path:', 'names and places such as emeters[0].power or ["a.b"].c')]
      : [],
  );
}
