/** The same few hundred random lives each time; test/integration/outbox-model.test.ts lives thousands of others. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { badReads, calm, crash, diskFault, flooding, hold } from '../../support/outbox-lives.ts';

const SEED = 20_261_122;

it('keeps, gives, counts and orders entries as its model does', () =>
  hold(calm, { settings: {}, runs: 120, seed: SEED }).then(() => {}));

it('gives the oldest first when it is told to', () =>
  hold(calm, { settings: { order: 'oldest-first' }, runs: 60, seed: SEED }).then(() => {}));

it('loses nothing by kills, power cuts and failing disks', async () => {
  const killed = fc.oneof({ weight: 8, arbitrary: calm }, { weight: 2, arbitrary: crash });
  const failing = fc.oneof(
    { weight: 8, arbitrary: calm },
    { weight: 2, arbitrary: diskFault },
    { weight: 2, arbitrary: badReads },
    { weight: 1, arbitrary: crash },
  );
  await hold(killed, { settings: {}, runs: 100, seed: SEED });
  await hold(failing, { settings: { order: 'oldest-first' }, runs: 100, seed: SEED });
});

it('counts as thinned or dropped what a full disk costs', async () => {
  const thin = await hold(flooding, {
    settings: { maxBytes: 32 * 1024, whenFull: 'thin' },
    runs: 6,
    steps: 15,
    seed: SEED,
  });
  const drop = await hold(flooding, {
    settings: { maxBytes: 32 * 1024, whenFull: 'drop-oldest' },
    runs: 6,
    steps: 15,
    seed: SEED,
  });
  expect(thin.thinned).toBeGreaterThan(0);
  expect(drop.thinned).toBe(0);
  expect(drop.dropped).toBeGreaterThan(0);
});
