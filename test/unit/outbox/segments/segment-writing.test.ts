/** Full segments: the zeros behind the last block go back to the disk, and the next one begins. */
import { afterEach, expect, it } from 'vitest';
import { scanSegment } from '../../../../src/outbox/format/segment-file.ts';
import { MemoryFiles } from '../../../support/memory-files.ts';
import { drain, OutboxFixture } from '../../../support/outbox-fixture.ts';

let fixture: OutboxFixture;
afterEach(() => fixture.remove());

it('gives back what it had taken ahead, and every entry is in one segment only', async () => {
  fixture = await OutboxFixture.make({ commitAgeMs: 100, maxBytes: 4 * 1024 * 1024 });
  const files = new MemoryFiles();
  fixture.files = files;
  const outbox = await fixture.open();
  for (let block = 0; block < 120; block += 1) await fixture.commit(outbox, fixture.noise(1_500, block * 1_500));
  const segments = files.paths.filter((path) => path.endsWith('.seg'));
  expect(segments.length).toBeGreaterThan(2);
  const scans = segments.map((path) => ({ bytes: files.contentOf(path), scan: scanSegment(files.contentOf(path)) }));
  for (const { bytes, scan } of scans.slice(0, -1)) {
    expect(bytes.length - scan.end).toBeLessThan(4_096);
    expect(scan.damaged).toEqual([]);
  }
  const blocks = scans.flatMap(({ scan }) => scan.blocks);
  blocks.forEach((block, at) => {
    expect(block.firstSequence).toBe((blocks[at - 1]?.lastSequence ?? 0) + 1);
  });
  const { heldEntries, bytes } = outbox.status();
  expect(heldEntries).toBe(120 * 1_500);
  expect(bytes).toBe(scans.reduce((sum, one) => sum + one.bytes.length, 0));
  expect((await drain(outbox, { maxEntries: 10_000, maxBytes: 1 << 30 })).length).toBe(120 * 1_500);
});
