/** A configuration on trial is kept for what was seen to work under it, and for nothing from before. */
import { expect, it } from 'vitest';
import { english } from '../../../src/names/sentences.ts';
import { isDueWithin, judgeTrial, type SeenOnTrial } from '../../../src/remote-config/trial-judge.ts';

const TERMS = { beganAtMs: 100_000, trialMs: 300_000, sensors: ['roof', 'tank'] };

function well(change: Partial<SeenOnTrial> = {}): SeenOnTrial {
  return {
    nowMs: 130_000,
    acknowledgedAtMs: 120_000,
    standing: { commands: true, attributes: true },
    readAtMs: new Map([
      ['roof', 120_000],
      ['tank', 121_000],
    ]),
    faulty: [],
    ...change,
  };
}

it('is kept as soon as it works as before, and not in its first ten seconds', () => {
  expect(judgeTrial(TERMS, well())).toEqual({ verdict: 'kept' });
  expect(judgeTrial(TERMS, well({ nowMs: 109_999 }))).toEqual({ verdict: 'open', missing: [] });
  expect(judgeTrial(TERMS, well({ nowMs: 110_000 }))).toEqual({ verdict: 'kept' });
});

it.each<[string, Partial<SeenOnTrial>, string]>([
  ['an upload', { acknowledgedAtMs: undefined }, 'no upload was acknowledged'],
  ['an upload of before', { acknowledgedAtMs: 100_000 }, 'no upload was acknowledged'],
  ['commands', { standing: { commands: false, attributes: true } }, 'the poll for commands does not stand'],
  ['attributes', { standing: { commands: true, attributes: false } }, 'the poll for attributes does not stand'],
  ['a sensor', { readAtMs: new Map([['roof', 120_000]]) }, 'no reading of tank'],
  [
    'a sensor read before',
    {
      readAtMs: new Map([
        ['roof', 100_000],
        ['tank', 99_000],
      ]),
    },
    'no reading of roof, tank',
  ],
])('waits for %s, and is returned with the reason when the time is over', (_what, change, words) => {
  const missing = (nowMs: number): readonly string[] | undefined => {
    const judged = judgeTrial(TERMS, well({ ...change, nowMs }));
    return judged.verdict === 'open' ? judged.missing.map(english) : undefined;
  };
  expect([missing(130_000), missing(399_999)]).toEqual([[words], [words]]);
  expect(judgeTrial(TERMS, well({ ...change, nowMs: 400_000 }))).toEqual({
    verdict: 'returned',
    reason: `within 5m: ${words}`,
  });
});

it('is returned at once when an output ends in fault', () => {
  const faulty = [{ name: 'pump', fault: 'the line is held by another' }];
  expect(judgeTrial(TERMS, well({ faulty }))).toEqual({
    verdict: 'returned',
    reason: 'the output pump is in fault: the line is held by another',
  });
});

it('names five sensors, and counts the others', () => {
  const sensors = Array.from({ length: 8 }, (_, at) => `s${at}`);
  expect(judgeTrial({ ...TERMS, sensors }, well({ nowMs: 500_000 }))).toEqual({
    verdict: 'returned',
    reason: 'within 5m: no reading of s0, s1, s2, s3, s4 and 3 more',
  });
});

it('waits for no sensor whose next reading may come at the end of the trial', () => {
  expect([30_000, 48_000, 48_001, 60_000].map((periodMs) => isDueWithin(60_000, periodMs))).toEqual([
    true,
    true,
    false,
    false,
  ]);
});
