/** Thousands of random lives of an outbox against a plain model. OUTBOX_SEQUENCES=20000 runs more of them. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { OutboxModel, type Step } from '../support/outbox-model.ts';

const SEQUENCES = Number(process.env.OUTBOX_SEQUENCES ?? 2_000);
const TIMEOUT_MS = Math.max(120_000, SEQUENCES * 60);

const append = fc.record({
  kind: fc.constant('append' as const),
  count: fc.oneof({ weight: 4, arbitrary: fc.integer({ min: 1, max: 8 }) }, { weight: 1, arbitrary: fc.integer({ min: 50, max: 300 }) }),
  alarm: fc.boolean(),
  ownTime: fc.oneof({ weight: 5, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) }),
});
const flood = fc.record({
  kind: fc.constant('append' as const),
  count: fc.integer({ min: 300, max: 1_500 }),
  alarm: fc.constant(false),
  ownTime: fc.constant(false),
});
const pass = fc.record({ kind: fc.constant('pass' as const), ms: fc.constantFrom(1, 100, 4_000, 6_000, 40_000, 70_000) });
const deliver = fc.record({
  kind: fc.constant('deliver' as const),
  lane: fc.constantFrom('alarm' as const, 'live' as const, 'backlog' as const),
  maxEntries: fc.integer({ min: 1, max: 200 }),
  acknowledge: fc.boolean(),
});
const calm: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: append },
  { weight: 4, arbitrary: pass },
  { weight: 5, arbitrary: deliver },
  { weight: 1, arbitrary: fc.constant<Step>({ kind: 'reject' }) },
  { weight: 1, arbitrary: fc.constant<Step>({ kind: 'reopen' }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('stepClock' as const), ms: fc.constantFrom(-7_200_000, -500, 900, 3_600_000) }) },
);
const crash: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ kind: fc.constant('kill' as const), afterOperations: fc.integer({ min: 0, max: 12 }) }),
  fc.record({
    kind: fc.constant('powerCut' as const),
    afterOperations: fc.integer({ min: 0, max: 12 }),
    keepsPercent: fc.constantFrom(0, 30, 100),
    synchronised: fc.boolean(),
  }),
);
const diskFault: fc.Arbitrary<Step> = fc.record({
  kind: fc.constant('failDisk' as const),
  code: fc.constantFrom('EIO', 'ENOSPC', 'EROFS'),
  operations: fc.integer({ min: 1, max: 6 }),
});

type Settings = ConstructorParameters<typeof OutboxModel>[0];

async function hold(steps: fc.Arbitrary<Step>, settings: Settings, runs: number): Promise<{ thinned: number; dropped: number }> {
  const counted = { thinned: 0, dropped: 0 };
  await fc.assert(
    fc.asyncProperty(fc.array(steps, { minLength: 1, maxLength: 25 }), fc.integer(), async (sequence, seed) => {
      const model = new OutboxModel(settings, seed);
      await model.run(sequence);
      counted.thinned += model.counted.thinned;
      counted.dropped += model.counted.dropped;
    }),
    { numRuns: runs },
  );
  return counted;
}

describe('an outbox and its model agree', () => {
  // Floods take twenty times as long as the rest.
  const flooded = Math.ceil(SEQUENCES / 20);
  const share = Math.ceil((SEQUENCES - 2 * flooded) / 3);

  it('through appends, deliveries, restarts and clock steps', () => hold(calm, {}, share), TIMEOUT_MS);

  it(
    'through kills and power cuts at any operation',
    () => hold(fc.oneof({ weight: 8, arbitrary: calm }, { weight: 2, arbitrary: crash }), {}, share),
    TIMEOUT_MS,
  );

  it(
    'on a disk that fails, is full or read-only for a while',
    () =>
      hold(
        fc.oneof({ weight: 8, arbitrary: calm }, { weight: 2, arbitrary: diskFault }, { weight: 1, arbitrary: crash }),
        { order: 'oldest-first' },
        share,
      ),
    TIMEOUT_MS,
  );

  it(
    'when it is full: what is missing was counted as thinned or dropped',
    async () => {
      const steps = fc.oneof(
        { weight: 6, arbitrary: calm },
        { weight: 6, arbitrary: flood },
        { weight: 2, arbitrary: fc.constant<Step>({ kind: 'pass', ms: 100 }) },
      );
      const thin = await hold(steps, { maxBytes: 32 * 1024, whenFull: 'thin' }, flooded);
      const drop = await hold(steps, { maxBytes: 32 * 1024, whenFull: 'drop-oldest' }, flooded);
      expect(thin.thinned).toBeGreaterThan(0);
      expect(drop.thinned).toBe(0);
      expect(drop.dropped).toBeGreaterThan(0);
    },
    TIMEOUT_MS,
  );
});

describe('the model notices', () => {
  it('an outbox that does not sync what it calls durable', async () => {
    const model = new OutboxModel({}, 1, 'forgets-to-sync');
    const cut: Step = { kind: 'powerCut', afterOperations: 20, keepsPercent: 0, synchronised: true };
    await expect(model.run([{ kind: 'append', count: 3, alarm: false, ownTime: false }, cut])).rejects.toThrow(/resolved entries are lost/);
  });
});
