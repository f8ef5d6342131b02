/** Bounds that the boots beside it give for a boot whose clock was never right. */
import { expect, it } from 'vitest';
import type { BootOffset, BootRecord } from '../../../../src/outbox/times/boot-table.ts';
import { KnownBoots } from '../../../../src/outbox/times/known-boots.ts';

const boot = (
  bootId: string,
  ...offsets: readonly (readonly [offsetMs: number, BootOffset['certainty']])[]
): BootRecord => ({
  bootId,
  lastMs: 1_000,
  guessMs: 1,
  offsets: offsets.map(([offsetMs, certainty], at) => ({ fromMs: at * 100, offsetMs, certainty, frozen: true })),
});

it('is decided between times that were known, and by no guess', () => {
  const lost = boot('lost');
  const after = boot('after', [1_000_000, 'synchronised']);
  const decidedAfter = (before: BootRecord): number | undefined =>
    new KnownBoots([before, lost, after]).decide(lost)?.offsetMs;
  expect(decidedAfter(boot('before', [990_000, 'synchronised']))).toBe(995_000);
  expect(decidedAfter(boot('before', [990_000, 'guessed']))).toBeUndefined();
  expect(decidedAfter(boot('before', [990_000, 'synchronised'], [500_000, 'guessed']))).toBe(995_000);
});
