import { describe, expect, it } from 'vitest';
import { compareVersions, isVersion } from '../../../src/firmware/release-version.ts';

describe('isVersion', () => {
  it('takes what may be a folder name and nothing that leads out of the folder', () => {
    expect(['1.2.3', '2.0.0-rc.1+build-7', 'a', '0'.repeat(64)].map(isVersion)).toEqual([true, true, true, true]);
    expect(['', '.', '..', '...', '-1', '+1', '1/2', '1 2', '1\n', 'ä', '0'.repeat(65), '../x'].map(isVersion)).toEqual(
      new Array(12).fill(false),
    );
  });
});

describe('compareVersions', () => {
  it('follows the order of semantic versioning', () => {
    const ordered = [
      '0.9',
      '1.0.0-alpha',
      '1.0.0-alpha.1',
      '1.0.0-alpha.beta',
      '1.0.0-beta.2',
      '1.0.0-beta.11',
      '1.0.0-rc.1',
      '1.0.0',
      '1.0.10',
    ];
    for (const [a, left] of ordered.entries()) {
      for (const [b, right] of ordered.entries())
        expect(Math.sign(compareVersions(left, right)), `${left} ${right}`).toBe(Math.sign(a - b));
    }
  });

  it('does not count a leading v, a missing zero or build metadata', () => {
    expect([
      compareVersions('v1.2', '1.2.0'),
      compareVersions('1.2.3+a', '1.2.3+b'),
      compareVersions('1.02', '1.2'),
    ]).toEqual([0, 0, 0]);
  });

  it('puts a number before a word, whatever the word begins with', () => {
    expect(compareVersions('1.0.0-1', '1.0.0--a')).toBeLessThan(0);
    expect(compareVersions('1.0.0--a', '1.0.0-1')).toBeGreaterThan(0);
  });

  it('takes a missing part for zero', () => {
    expect([compareVersions('1', '1.0.1'), compareVersions('1.0.1', '1'), compareVersions('1.0.0', '1')]).toEqual([
      -1, 1, 0,
    ]);
    expect(compareVersions('1.0.0-a', '1.0.0-a.b')).toBeLessThan(0);
    expect(compareVersions('1.0.0-a.b', '1.0.0-a')).toBeGreaterThan(0);
  });

  it('compares numbers that a double cannot hold', () => {
    expect(compareVersions('1.9007199254740993', '1.9007199254740992')).toBe(1);
  });
});
