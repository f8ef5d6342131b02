/** Random lives of an outbox: what may happen to it, drawn by fast-check, each held against the model. */
import fc from 'fast-check';
import type { OutboxConfig } from '../../src/config/schema/agent-config.ts';
import { OutboxModel, type Step } from './outbox-model.ts';

const append = fc.record({
  kind: fc.constant('append' as const),
  count: fc.oneof(
    { weight: 4, arbitrary: fc.integer({ min: 1, max: 8 }) },
    { weight: 1, arbitrary: fc.integer({ min: 50, max: 300 }) },
  ),
  alarm: fc.boolean(),
  ownTime: fc.oneof({ weight: 5, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) }),
});
const flood = fc.record({
  kind: fc.constant('append' as const),
  count: fc.integer({ min: 300, max: 1_500 }),
  alarm: fc.constant(false),
  ownTime: fc.constant(false),
});
const pass = fc.record({
  kind: fc.constant('pass' as const),
  ms: fc.constantFrom(1, 100, 4_000, 6_000, 40_000, 70_000),
});
const lane = fc.constantFrom('alarm' as const, 'live' as const, 'backlog' as const);
const deliver = fc.record({
  kind: fc.constant('deliver' as const),
  lane,
  maxEntries: fc.integer({ min: 1, max: 200 }),
  maxBytes: fc.constantFrom(200, 3_000, 1 << 20),
  batches: fc.integer({ min: 1, max: 2 }),
  acknowledge: fc.boolean(),
});

export const calm: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: append },
  { weight: 4, arbitrary: pass },
  { weight: 5, arbitrary: deliver },
  { weight: 1, arbitrary: fc.constant<Step>({ kind: 'reject' }) },
  { weight: 1, arbitrary: fc.constant<Step>({ kind: 'reopen' }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('setAside' as const), lane }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('endAside' as const), giveUp: fc.boolean() }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('resend' as const), key: fc.constantFrom('key0', 'key1', 'alarm2') }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('stepClock' as const),
      ms: fc.constantFrom(-7_200_000, -500, 900, 3_600_000),
    }),
  },
);

export const crash: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ kind: fc.constant('kill' as const), afterOperations: fc.integer({ min: 0, max: 12 }) }),
  fc.record({
    kind: fc.constant('powerCut' as const),
    afterOperations: fc.integer({ min: 0, max: 12 }),
    keepsPercent: fc.constantFrom(0, 30, 100),
    synchronised: fc.boolean(),
  }),
);

export const diskFault: fc.Arbitrary<Step> = fc.record({
  kind: fc.constant('failDisk' as const),
  code: fc.constantFrom('EIO', 'ENOSPC', 'EROFS'),
  operations: fc.integer({ min: 1, max: 6 }),
});

/** Fewer failing reads than the tries of whoever reads: nothing may be given up for them. */
export const badReads: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom('reopenFromBadDisk' as const, 'failReads' as const),
  reads: fc.integer({ min: 1, max: 2 }),
});

export const flooding: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: calm },
  { weight: 6, arbitrary: flood },
  { weight: 2, arbitrary: fc.constant<Step>({ kind: 'pass', ms: 100 }) },
);

export interface Lives {
  readonly settings: Partial<OutboxConfig>;
  readonly runs: number;
  /** The fewest steps of a life; default 1. */
  readonly steps?: number;
  /** Fixed where the same lives are to be lived each time. */
  readonly seed?: number;
}

/** @throws when one of the lives and its model part. */
export async function hold(
  steps: fc.Arbitrary<Step>,
  { settings, runs, steps: minLength = 1, seed }: Lives,
): Promise<{ thinned: number; dropped: number }> {
  const counted = { thinned: 0, dropped: 0 };
  await fc.assert(
    fc.asyncProperty(fc.array(steps, { minLength, maxLength: 25 }), fc.integer(), async (sequence, own) => {
      const model = new OutboxModel(settings, own);
      await model.run(sequence);
      counted.thinned += model.counted.thinned;
      counted.dropped += model.counted.dropped;
    }),
    { numRuns: runs, ...(seed === undefined ? {} : { seed, endOnFailure: true }) },
  );
  return counted;
}
