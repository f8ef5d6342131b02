/** Marks of none that are written with other digits than the float that comes. */
import { expect, it } from 'vitest';
import { decodeModbus } from '../../hardware/modbus-values.ts';
import { registerValue } from '../families/registers/register-value.ts';

/** Marks of none as a manual writes them. */
const NONE = [9.96921e36, -9999, 0.3, -99.99, 1e38];

/** Value of the registers that hold this number as a float32. */
function read(number: number) {
  const bytes = Buffer.alloc(4);
  bytes.writeFloatBE(number);
  const words = [bytes.readUInt16BE(0), bytes.readUInt16BE(2)];
  return decodeModbus(words, { type: 'float32', wordOrder: 'big', byteOrder: 'big' });
}

it.each(NONE)('the float of %d is a mark of none, with few digits and with all that it has', (written) => {
  const raw = read(written);
  const width = { isSigned: false };
  for (const digits of [written, Math.fround(written)])
    for (const meaning of [{ noValue: digits }, { nulls: [digits] }])
      expect(() => registerValue('power', raw, meaning, width)).toThrow(/no power|no value/);
  expect(registerValue('power', raw, { noValue: 5, nulls: [6.25] }, width)).toBe(raw);
});

it('a number beside the mark of none is one', () => {
  const width = { isSigned: false };
  expect(registerValue('power', -9999.001, { noValue: -9999, nulls: [-9999] }, width)).toBe(-9999.001);
});
