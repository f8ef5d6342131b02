/** The values that the status shows after conversion: the last of each key, and of no more keys than a small heap takes. */
import { expect, it } from 'vitest';
import { LatestValues } from '../../../src/telemetry/latest-values.ts';

it('are the last of each key, and the first of too many is forgotten', () => {
  const latest = new LatestValues();
  for (let at = 0; at < 10_000; at += 1) latest.note('line', `k${at}`, at);
  latest.note('line', 'k0', 'newer');
  expect(latest.get('line', 'k0')).toBe('newer');
  latest.note('tank', 'k1', 'another');
  expect(['k0', 'k1', 'k9999'].map((key) => latest.get('line', key))).toEqual([undefined, 1, 9_999]);
  expect(latest.get('tank', 'k1')).toBe('another');
});
