/** The SHT3x against its sheet, against another library, and on the board. */
import { describe, expect, it } from 'vitest';
import {
  givesNothingWithoutPower,
  otherLibraries,
  RUNS,
  readsWhatIsShown,
  valuesOf,
} from '../../../test/support/chip-on-board.ts';
import { forRandomBytes } from '../../../test/support/random-bytes.ts';
import { sorted } from '../kind/outcome.ts';
import { crc8 } from './definition.ts';
import { parseSht3x } from './driver.ts';

describe('SHT3x', () => {
  // SHT3x-DIS, May 2018, version 5: table 20 gives CRC(0xBEEF) = 0x92. Section 4.13 has formulas without an example; the ends of the scale are theirs.
  it('agrees with the check sum and the formulas of its data sheet', () => {
    expect(crc8(Uint8Array.of(0xbe, 0xef))).toBe(0x92);
    const end = sorted(parseSht3x(Buffer.from('ffffac0000' + '81', 'hex'))); // -45 + 175 = 130 °C
    expect(end.refused).toMatchObject([{ key: 'temperature', fault: { code: 'sensors/out-of-range' } }]);
    expect(end.readings).toEqual([{ key: 'humidity', value: 0, unit: '%' }]);
    const word = (value: number): Buffer =>
      Buffer.from([value >> 8, value & 0xff, crc8(Uint8Array.of(value >> 8, value & 0xff))]);
    expect(valuesOf(parseSht3x(Buffer.concat([word(0x6666), word(0x8000)])))).toEqual([25, 50]); // 0x6666 is two fifths of 65535
  });
  it('never leaves its range, and takes no word with a wrong check sum', () => {
    let good = 0;
    forRandomBytes(RUNS, 6, (bytes, random) => {
      if (random() < 0.5) for (const at of [0, 3]) bytes[at + 2] = crc8(bytes.subarray(at, at + 2));
      for (const { key, value } of sorted(parseSht3x(bytes)).readings) {
        const [least, greatest] = key === 'temperature' ? [-40, 125] : [0, 100];
        if (!(Number(value) >= least && Number(value) <= greatest))
          throw new Error(`${key} ${value} was reported as good`);
        good += 1;
      }
    });
    expect(good).toBeGreaterThan(RUNS / 3);
  });
});

it('agrees with the library of another maker', async () => {
  const { sht31d } = await otherLibraries();
  for (const [answer, celsius, percent] of sht31d)
    expect(valuesOf(parseSht3x(Buffer.from(answer, 'hex')))).toEqual([
      expect.closeTo(celsius, 2),
      expect.closeTo(percent, 2),
    ]);
  expect(sht31d).toHaveLength(40);
});

it('reads exactly what the board says it showed, and survives a chip that loses its power', () =>
  readsWhatIsShown('sht3x', 0x44));

it('gives nothing of a read in which it lost its power', () => givesNothingWithoutPower('sht3x', 0x44));
