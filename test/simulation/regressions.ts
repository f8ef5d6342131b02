/** Worlds that once contradicted a sentence, and what was wrong: they are tried first. A richer world may make another of a seed. */
import type { PlanOptions } from './plan.ts';

export interface Regression {
  readonly seed: number;
  /** Options that it was drawn with: with others the seed is another world. */
  readonly options?: PlanOptions;
  readonly why: string;
}

const WITHOUT_FAILING_DISK: PlanOptions = { without: ['disk fails', 'bad sectors'] };

export const REGRESSIONS: readonly Regression[] = [
  {
    seed: 30,
    why: 'an unsynchronised clock that was wrong by 11 s was believed, as the platform’s date was less than a minute away',
  },
  { seed: 49, why: 'the same, by 16 s' },
  {
    seed: 67,
    why: 'an interrupted toggle was answered with what was found at the start, and not with what the output showed',
  },
  { seed: 70, why: 'the same' },
  {
    seed: 745_555_637,
    options: WITHOUT_FAILING_DISK,
    why: 'a pulse on pins that answered nothing was ended only when they had not been read back either',
  },
  { seed: 1_328_688_205, options: WITHOUT_FAILING_DISK, why: 'the same' },
  {
    seed: 998_766_131,
    options: WITHOUT_FAILING_DISK,
    why: 'behind a proxy that takes little, small posts went without a bound on their number',
  },
  {
    seed: 2_009_361_636,
    options: WITHOUT_FAILING_DISK,
    why: 'a host that answered half of all requests well was not spared the others',
  },
  {
    seed: 18,
    options: WITHOUT_FAILING_DISK,
    why: 'each of 620 readings that waited for a stuck disk had a line of the log to itself',
  },
  { seed: 910_023, why: 'a key switch that could not be read at the start locked the pump, as it is to' },
];
