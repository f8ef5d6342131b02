/** Damage that comes to a segment after it was read through: it is counted, passed over by everybody, and hides nothing else. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { BlockInfo } from '../../../../src/outbox/format/block-frame.ts';
import { scanSegment } from '../../../../src/outbox/format/segment-file.ts';
import type { Outbox } from '../../../../src/outbox/outbox.ts';
import { MemoryFiles } from '../../../support/memory-files.ts';
import { drain, NO_LIMITS, OutboxFixture, takeAlone } from '../../../support/outbox-fixture.ts';

let fixture: OutboxFixture;
let files: MemoryFiles;
let outbox: Outbox;
let path: string;
/** Where they lay when they were whole. */
let blocks: readonly BlockInfo[];
const signal = new AbortController().signal;

beforeEach(async () => {
  fixture = await OutboxFixture.make({ commitAgeMs: 100 });
  files = new MemoryFiles();
  fixture.files = files;
  outbox = await fixture.open();
  for (const key of ['a', 'b', 'c']) await fixture.commit(outbox, [fixture.entry(key, 1), fixture.entry(key, 2)]);
  path = files.paths.find((one) => one.endsWith('.seg')) ?? '';
  blocks = scanSegment(files.contentOf(path)).blocks;
});
afterEach(() => fixture.remove());

/** In place: whoever has the file open sees it. */
async function damage(block: number): Promise<void> {
  const { offset, bytes } = blocks[block] as BlockInfo;
  const file = await files.open(path, 'update');
  await file.write(Buffer.from('?'), offset + bytes - 1);
  await file.close();
}

async function keysRead(): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key } of outbox.read({}, signal)) keys.push(key);
  return keys;
}

it('is counted by whoever delivers, and the rest goes out', async () => {
  await damage(1);
  expect((await drain(outbox)).map(({ key }) => key)).toEqual(['a', 'a', 'c', 'c']);
  expect(outbox.status()).toMatchObject({ damaged: 2, heldEntries: 0 });
});

it('is no loss of what had arrived of the same block', async () => {
  const [first = -1] = (await outbox.peek('live', NO_LIMITS))?.entries.sequences ?? [];
  outbox.quarantined.add(first);
  expect(await drain(outbox)).toHaveLength(5);
  outbox.quarantined.putBack(first);
  await damage(0);
  expect(await drain(outbox)).toEqual([]);
  expect(outbox.status()).toMatchObject({ damaged: 1, heldEntries: 0 });
});

it('is no loss of what had arrived of the same block when the segment is thinned', async () => {
  await fixture.remove();
  fixture = await OutboxFixture.make({ commitAgeMs: 100, maxBytes: 128 * 1024, order: 'oldest-first' });
  files = new MemoryFiles();
  fixture.files = files;
  outbox = await fixture.open();
  await fixture.commit(outbox, fixture.noise(1_000));
  path = files.paths.find((one) => one.endsWith('.seg')) ?? '';
  const first = scanSegment(files.contentOf(path)).blocks[0]?.firstSequence ?? -1;
  outbox.quarantined.add(first);
  expect(await drain(outbox)).toHaveLength(999);
  outbox.quarantined.putBack(first);
  await fixture.commit(outbox, fixture.noise(1_000, 1_000));
  blocks = scanSegment(files.contentOf(path)).blocks;
  await damage(0);
  for (let block = 2; outbox.status().thinned === 0; block += 1) {
    await fixture.commit(outbox, fixture.noise(1_000, block * 1_000));
    // Where its blocks lay stays known.
    await takeAlone(outbox, first + 1_000);
  }
  expect(outbox.status().damaged).toBe(1);
});

it('is counted once, and a lane in which all is damaged gives nothing', async () => {
  for (const block of [0, 1, 2]) await damage(block);
  expect(await outbox.peek('live', NO_LIMITS)).toBeUndefined();
  expect(await outbox.peek('backlog', NO_LIMITS)).toBeUndefined();
  expect(outbox.status()).toMatchObject({ damaged: 6, heldEntries: 0 });
});

it('is passed over by a reader, by what is sent again, and by what is in quarantine', async () => {
  const [first = -1] = (await outbox.peek('live', NO_LIMITS))?.entries.sequences ?? [];
  outbox.quarantined.add(first + 2);
  await damage(1);
  expect(await keysRead()).toEqual(['a', 'a', 'c', 'c']);
  outbox.quarantined.putBack(first + 2);
  await drain(outbox);
  expect(await outbox.resend({ key: 'b', fromMs: 0, toMs: Number.POSITIVE_INFINITY }, signal)).toBe(0);
  expect(await outbox.resend({ key: 'c', fromMs: 0, toMs: Number.POSITIVE_INFINITY }, signal)).toBe(2);
});

it('at the end of a segment that is not the last is counted when the segment is read', async () => {
  await fixture.remove();
  fixture = await OutboxFixture.make({ commitAgeMs: 100, maxBytes: 64 * 1024 });
  files = new MemoryFiles();
  fixture.files = files;
  outbox = await fixture.open();
  for (let block = 0; block < 10; block += 1) await fixture.commit(outbox, fixture.noise(200, block * 200));
  await fixture.until(outbox.close());
  const segments = files.paths.filter((one) => one.endsWith('.seg'));
  expect(segments.length).toBeGreaterThan(2);
  path = segments[1] ?? '';
  blocks = scanSegment(files.contentOf(path)).blocks;
  await damage(blocks.length - 1);
  outbox = await fixture.open();
  expect(await drain(outbox)).toHaveLength(2_000 - (blocks.at(-1)?.count ?? 0));
  expect(outbox.status()).toMatchObject({ damaged: blocks.at(-1)?.count, heldEntries: 0 });
});

it('does not make a segment be forgotten that can neither be set aside nor removed', async () => {
  fixture.settings = { ...fixture.settings, retain: { forMs: 1_000, bytes: 16_000_000 } };
  await fixture.until(outbox.close());
  const whole = files.contentOf(path);
  whole.write('?', (blocks[1] as BlockInfo).offset);
  // A torn tail: the next start begins another segment.
  files.put(path, Buffer.concat([whole, Buffer.from('torn')]));
  outbox = await fixture.open();
  await drain(outbox);
  await fixture.commit(outbox, [fixture.entry('d', 1)]);
  files.faults = { fail: (operation) => (['rename', 'unlink'].includes(operation) ? { code: 'EROFS' } : undefined) };
  await fixture.clock.advance(130_000);
  expect(outbox.status().segments).toBe(2);
  files.faults = {};
  await fixture.clock.advance(661_000);
  expect(outbox.status()).toMatchObject({ segments: 1, setAside: 1 });
  expect(files.paths.filter((one) => one.includes('/set-aside/'))).toHaveLength(1);
});

it('is noticed when it puts another whole block in the place of one', async () => {
  const file = await files.open(path, 'update');
  const [first, other] = blocks as readonly [BlockInfo, BlockInfo];
  await file.write(files.contentOf(path).subarray(other.offset, other.offset + other.bytes), first.offset);
  await file.close();
  expect((await drain(outbox)).map(({ key }) => key)).toEqual(['b', 'b', 'c', 'c']);
  expect(outbox.status()).toMatchObject({ damaged: 2, heldEntries: 0 });
});
