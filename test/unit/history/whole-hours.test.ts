import { expect, it } from 'vitest';
import { lastWholeHour } from '../../../src/history/whole-hours.ts';

it('is the newest hour of which as many lines are sound as were written', async () => {
  const lines = [
    [1, 1],
    [2, 2],
    [2, 2],
    [3, 3],
    [3, undefined],
    [3, 3],
  ] as const;
  async function* placed() {
    for (const [hourMs, of] of lines) yield { name: '', hourMs, line: String(of) };
  }
  expect(await lastWholeHour(placed(), ({ line }) => (line === 'undefined' ? undefined : Number(line)))).toBe(2);
});

it('is none where nothing is written', async () => {
  expect(await lastWholeHour((async function* () {})(), () => 1)).toBe(0);
});
