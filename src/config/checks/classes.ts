/** Classes: a sensor's own stands for one value, and a word near a known class is a slip. */
import { CLASSES } from '../../pages/names/classes.js';
import type { ConfigPath } from '../fields/config-fault.ts';
import { didYouMean, nearest } from '../fields/did-you-mean.ts';
import { type Finding, finding } from '../fields/findings.ts';
import { type ReadFrom, sensorKeys } from '../keys/sensor-keys.ts';
import type { SensorConfig } from '../schema/agent-config.ts';
import type { Check } from './draft.ts';

const KNOWN = Object.keys(CLASSES);

export const checkClasses: Check = ({ sensors, actuators }) => [
  ...sensors.flatMap(({ config, path }) => {
    const keys = sensorKeys(config) ?? [];
    const isOfMany = config.class !== undefined && keys.length > 1;
    return [
      ...(isOfMany
        ? [
            finding(
              [...path, 'class'],
              `one class for ${keys.length} values:`,
              'class under keys, for each that has one',
            ),
          ]
        : unknownClass(config.class, path)),
      ...sourceClasses(config, path),
      ...Object.entries(config.keys).flatMap(([key, rules]) => unknownClass(rules.class, [...path, 'keys', key])),
    ];
  }),
  ...actuators.flatMap(({ config, path }) => unknownClass(config.class, path)),
];

/** Words far from every class are a user's own. */
function unknownClass(name: string | undefined, path: ConfigPath): readonly Finding[] {
  if (name === undefined || KNOWN.includes(name) || nearest(name, KNOWN) === undefined) return [];
  const expected = 'a known class; another word gets plain digits, and on and off';
  return [finding([...path, 'class'], 'unknown class', expected, { warning: true, ...didYouMean(name, KNOWN) })];
}

/** Finds unknown classes of registers and of fields. */
function sourceClasses(
  { registers = {}, fields = {} }: Pick<SensorConfig, 'name'> & ReadFrom,
  path: ConfigPath,
): readonly Finding[] {
  return Object.entries({ registers, fields }).flatMap(([option, sources]) =>
    Object.entries(sources).flatMap(([key, { class: name }]) => unknownClass(name, [...path, option, key])),
  );
}
