/** Two hundred configurations sent to gateways in virtual time; `npm run bench:configuration` sends ten thousand. */
import { expect, it } from 'vitest';
import { Ground } from '../bench/configuration-bench/ground.ts';
import { isGood, sendMany } from '../bench/configuration-bench/tally.ts';

it('no configuration locks a gateway out, and no file is lost', async () => {
  const ground = await Ground.make();
  const tally = await sendMany(ground, { count: 200, fromSeed: 1, hasSafeStart: true, hasLateRules: false });
  await ground.remove();
  expect(tally.failures).toEqual([]);
  expect(isGood(tally)).toBe(true);
});
