/** Thousands of random lives of an outbox against a plain model. OUTBOX_SEQUENCES=20000 runs more of them. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { badReads, calm, crash, diskFault, flooding, hold } from '../support/outbox-lives.ts';
import { OutboxModel, type Step } from '../support/outbox-model.ts';

const SEQUENCES = Number(process.env.OUTBOX_SEQUENCES ?? 2_000);
const TIMEOUT_MS = Math.max(120_000, SEQUENCES * 60);

describe('an outbox and its model agree', () => {
  // Floods take twenty times as long as the rest.
  const flooded = Math.ceil(SEQUENCES / 20);
  const share = Math.ceil((SEQUENCES - 2 * flooded) / 3);

  it(
    'through appends, deliveries, restarts and clock steps',
    () => hold(calm, { settings: {}, runs: share }),
    TIMEOUT_MS,
  );

  it(
    'through kills and power cuts at any operation',
    () =>
      hold(fc.oneof({ weight: 8, arbitrary: calm }, { weight: 2, arbitrary: crash }), { settings: {}, runs: share }),
    TIMEOUT_MS,
  );

  it(
    'on a disk that fails, cannot read, is full or read-only for a while',
    () =>
      hold(
        fc.oneof(
          { weight: 8, arbitrary: calm },
          { weight: 2, arbitrary: diskFault },
          { weight: 2, arbitrary: badReads },
          { weight: 1, arbitrary: crash },
        ),
        { settings: { order: 'oldest-first' }, runs: share },
      ),
    TIMEOUT_MS,
  );

  it(
    'when it is full: what is missing was counted as thinned or dropped',
    async () => {
      const thin = await hold(flooding, {
        steps: 10,
        settings: { maxBytes: 32 * 1024, whenFull: 'thin' },
        runs: flooded,
      });
      const drop = await hold(flooding, {
        steps: 10,
        settings: { maxBytes: 32 * 1024, whenFull: 'drop-oldest' },
        runs: flooded,
      });
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
    await expect(model.run([{ kind: 'append', count: 3, alarm: false, ownTime: false }, cut])).rejects.toThrow(
      /resolved entries are lost/,
    );
  });
});
