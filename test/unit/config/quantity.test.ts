import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  formatDuration,
  formatSize,
  parseByteRate,
  parseDuration,
  parseFrequency,
  parseRate,
  parseSize,
} from '../../../src/config/fields/quantity.ts';

describe('amounts with a unit', () => {
  it.each([
    ['500ms', 500],
    ['10s', 10_000],
    ['1.5m', 90_000],
    ['1h30m', 5_400_000],
    ['90d', 7_776_000_000],
    ['0s', 0],
  ])('reads the duration %s as %d ms', (text, ms) => {
    expect(parseDuration(text)).toBe(ms);
  });

  it.each(['', '10', '10 s', '-5s', '5sec', 's', '1e3s', '10S', ' 5s'])('does not take %j for a duration', (text) => {
    expect(parseDuration(text)).toBeUndefined();
  });

  it('reads what it writes', () => {
    fc.assert(fc.property(fc.integer({ min: 0, max: 1e12 }), (ms) => parseDuration(formatDuration(ms)) === ms));
  });

  it.each([
    ['64kB', 64_000],
    ['64KB', 64_000],
    ['1.5 MB', 1_500_000],
    ['2GiB', 2_147_483_648],
    ['17B', 17],
  ])('reads the size %s as %d bytes', (text, bytes) => {
    expect(parseSize(text)).toBe(bytes);
  });

  it.each(['64', '64Mb', '64 mb', 'MB', '-1MB', '__proto__'])('does not take %j for a size', (text) => {
    expect(parseSize(text)).toBeUndefined();
  });

  it('reads rates and frequencies', () => {
    expect(parseByteRate('200kB/s')).toBe(200_000);
    expect(parseByteRate('200kB')).toBeUndefined();
    expect(parseRate('120/m')).toBe(2);
    expect(parseRate('120/d')).toBeUndefined();
    expect(parseFrequency('1.5kHz')).toBe(1_500);
    expect(parseFrequency('1.5khz')).toBeUndefined();
  });

  it('writes sizes in the unit that keeps them readable', () => {
    expect([0, 999, 1_000, 65_536, 256_000_000, 1_234_567_890].map(formatSize)).toEqual([
      '0B',
      '999B',
      '1kB',
      '65.5kB',
      '256MB',
      '1.2GB',
    ]);
  });
});
