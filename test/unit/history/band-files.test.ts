import { expect, it } from 'vitest';
import { BandFiles } from '../../../src/history/band-files.ts';
import { packHours } from '../../../src/history/band-lines.ts';
import { HOUR_MS, MIDNIGHT } from '../../support/bands-bench.ts';
import { MemoryFiles } from '../../support/memory-files.ts';

it('goes on in another file when a day has outgrown one, and removes the oldest past the bound', async () => {
  const files = new MemoryFiles();
  const bands = new BandFiles({
    folder: '/bands',
    files,
    maxBytes: 2_000,
    fileBytes: 600,
    onDamaged: () => expect.unreachable(),
  });
  const band = { at: 0, least: 1, greatest: 2, last: 1, lastMs: 0 };
  const keys = Array.from({ length: 5 }, (_, at) => ({ device: 'self', key: `key${at}`, bands: [band] }));
  for (let hour = 0; hour < 24; hour += 1) {
    await bands.add(MIDNIGHT, await packHours([{ hourMs: MIDNIGHT + hour * HOUR_MS, keys }]));
    await bands.prune(MIDNIGHT + hour * HOUR_MS);
    expect(files.usedBytes).toBeLessThanOrEqual(2_000);
  }
  const hours: number[] = [];
  for await (const { hourMs } of bands.read(MIDNIGHT, MIDNIGHT + 24 * HOUR_MS))
    hours.push((hourMs - MIDNIGHT) / HOUR_MS);
  expect(hours.at(-1)).toBe(23);
  expect(hours.length).toBeGreaterThan(5);
  expect(hours).toEqual(hours.map((_, at) => 24 - hours.length + at));
  expect(files.paths.length).toBeGreaterThan(1);
});
