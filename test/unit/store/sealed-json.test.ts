/** A check value in a file of this program's own: what was damaged and is still JSON is not believed. */
import { describe, expect, it } from 'vitest';
import { fieldsOf, isChanged, isSealed, sealJson, unsealJson } from '../../../src/store/sealed-json.ts';
import { everyDamage } from '../../support/one-bit.ts';

const FORMAT = { format: 'turnstone/test', version: 1 };
const STATE = { ...FORMAT, state: { on: true, at: 1_780_000_000_000, long: 2n ** 60n, name: 'grün “5”' } };

describe('a sealed text', () => {
  it('gives back what it was made of, with a line feed behind it or without', () => {
    const text = sealJson(STATE);
    expect(text).toMatch(/,"crc32":"[0-9a-f]{8}"\}$/);
    for (const whole of [text, `${text}\n`])
      expect([unsealJson(whole), fieldsOf(whole, FORMAT), isSealed(whole), isChanged(whole)]).toEqual([
        STATE,
        STATE,
        true,
        false,
      ]);
  });

  it('is refused with any bit of it changed, or gives back what it was made of', () => {
    let refused = 0;
    for (const damaged of everyDamage(sealJson(STATE))) {
      const text = damaged.toString();
      expect(isSealed(text)).toBe(false);
      try {
        expect(unsealJson(text)).toEqual(STATE);
      } catch (error) {
        if (!(error instanceof Error) || error.name === 'AssertionError') throw error;
        refused += 1;
      }
    }
    expect(refused).toBe(sealJson(STATE).length * 8 + 8 * 5);
  });

  it('is refused when it was formatted anew, and believed when its check value was taken out', () => {
    const pretty = JSON.stringify(JSON.parse(sealJson(FORMAT)), undefined, 2);
    expect(() => unsealJson(pretty)).toThrow('changed by hand');
    expect([unsealJson(JSON.stringify(FORMAT)), isSealed('{}'), isChanged('{}')]).toEqual([FORMAT, false, false]);
  });
});

it('of another format or a later version is told apart', () => {
  expect(() => fieldsOf(sealJson({ ...FORMAT, format: 'x' }), FORMAT)).toThrow('not a file of format turnstone/test');
  expect(() => fieldsOf(sealJson({ ...FORMAT, version: 2 }), FORMAT)).toThrow('version 2 is not known');
});
