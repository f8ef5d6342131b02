/** Faults of values that are converted, or made of others. */
import type { PlantedFault } from './fault.ts';

export const VALUES_FAULTS: readonly PlantedFault[] = [
  {
    name: 'an offset is left out beside a scale',
    file: 'sensors/conversion/decimal.ts',
    old: '  return numberOf(sum({ digits: BigInt(raw) * factor.digits, exponent: factor.exponent }, decimalOf(offset)));',
    new: '  return numberOf({ digits: BigInt(raw) * factor.digits, exponent: factor.exponent });',
    needs: ['measures'],
  },
  {
    name: 'a table is its first straight line',
    file: 'sensors/conversion/convert-value.ts',
    old: '  const end = above < 0 ? points.length - 1 : Math.max(above, 1);',
    new: '  const end = above < 0 ? 1 : 1;',
    needs: ['measures'],
  },
  {
    name: 'a difference goes by the first value',
    file: 'sensors/derived/driver.ts',
    old: '    this.#before.set(place, { value, atMs, result, tookMs: 0 });',
    new: '    if (before === undefined) this.#before.set(place, { value, atMs, result, tookMs: 0 });',
    needs: ['measures'],
  },
  {
    name: 'a made value is of another time than what it is made of',
    file: 'sensors/derived/driver.ts',
    old: '        monotonicMs: newest.monotonicMs,',
    new: '        monotonicMs: newest.monotonicMs + 1,',
    needs: ['measures'],
  },
];
