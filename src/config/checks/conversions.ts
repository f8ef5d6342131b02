/** Words of conversion that contradict each other, or the values that the sensor gives. */
import { definitionOf } from '../../kinds/sensor-kinds.ts';
import { conversionFaults } from '../fields/conversion.ts';
import { sourceTypeOf } from '../keys/sensor-keys.ts';
import type { Check } from './draft.ts';

export const checkConversions: Check = ({ sensors }) =>
  sensors.flatMap(({ config, path }) => {
    const isText = definitionOf(config.kind).givesText === true;
    return Object.entries(config.keys).flatMap(([key, rules]) => {
      // Words of `*` need not be for all keys.
      const type = key === '*' ? undefined : sourceTypeOf(config, key);
      return conversionFaults(rules, [...path, 'keys', key], { type, isText });
    });
  });
