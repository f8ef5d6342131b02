/** Header of a segment, and the blocks that are found between damage. */
import { describe, expect, it } from 'vitest';
import { BLOCK_MAGIC } from '../../../../src/outbox/format/block-frame.ts';
import {
  parseSegmentName,
  readSegmentHeader,
  SEGMENT_HEADER_BYTES,
  scanSegment,
  segmentFileName,
  segmentHeader,
} from '../../../../src/outbox/format/segment-file.ts';
import { MemoryFiles } from '../../../support/memory-files.ts';
import { OutboxFixture } from '../../../support/outbox-fixture.ts';

/** A segment of some blocks as an outbox wrote it, with its zeros. */
async function segmentOf(blocks: number): Promise<Buffer> {
  const fixture = await OutboxFixture.make({ commitAgeMs: 100 });
  const files = new MemoryFiles();
  fixture.files = files;
  const outbox = await fixture.open();
  for (let block = 0; block < blocks; block += 1) await fixture.commit(outbox, fixture.noise(20, block * 20));
  await fixture.remove();
  const path = files.paths.find((one) => one.endsWith('.seg')) ?? '';
  return files.contentOf(path);
}

describe('a header', () => {
  it('says how often a segment was thinned, and what that left', () => {
    expect(segmentHeader()).toHaveLength(SEGMENT_HEADER_BYTES);
    expect(readSegmentHeader(segmentHeader())).toEqual({ kind: 'ours', thinned: 0, count: 0 });
    expect(readSegmentHeader(segmentHeader(3, 1_234))).toEqual({ kind: 'ours', thinned: 3, count: 1_234 });
  });

  it.each([
    [
      'a number that is none',
      '{"format":"turnstone-outbox-segment","version":1,"thinned":1.5,"count":"7"}',
      { kind: 'ours', thinned: 0, count: 0 },
    ],
    ['a later version', '{"format":"turnstone-outbox-segment","version":2}', { kind: 'newer' }],
    ['no version', '{"format":"turnstone-outbox-segment"}', { kind: 'foreign' }],
    ['another format', '{"format":"other","version":1}', { kind: 'foreign' }],
    ['null', 'null', { kind: 'foreign' }],
    ['no JSON', 'hello', { kind: 'foreign' }],
  ])('with %s', (_name, text, expected) => {
    expect(readSegmentHeader(Buffer.from(text.padEnd(SEGMENT_HEADER_BYTES)))).toEqual(expected);
  });

  it('that is damaged is told from a foreign one by the blocks behind it', async () => {
    const bytes = await segmentOf(2);
    bytes.fill(0x20, 0, 20);
    expect(readSegmentHeader(bytes).kind).toBe('damaged');
    expect(readSegmentHeader(Buffer.alloc(SEGMENT_HEADER_BYTES)).kind).toBe('damaged');
  });

  it('belongs to a file whose name carries the first sequence and the try', () => {
    const name = { firstSequence: 1_234, generation: 7 };
    expect(segmentFileName(name)).toBe('0000000000001234-7.seg');
    expect(parseSegmentName(segmentFileName(name))).toEqual(name);
    for (const other of ['1234-7.seg', '0000000000001234.seg', '0000000000001234-7.seg.tmp', 'x0000000000001234-7.seg'])
      expect(parseSegmentName(other)).toBeUndefined();
  });
});

describe('a scan', () => {
  it('finds every block, and where the zeros begin', async () => {
    const bytes = await segmentOf(5);
    const { blocks, damaged, end, cleanTail } = scanSegment(bytes);
    expect([blocks.length, damaged, cleanTail]).toEqual([5, [], true]);
    expect(bytes.subarray(end).every((byte) => byte === 0)).toBe(true);
    expect(bytes[end - 1] === 0 && end - 1 === SEGMENT_HEADER_BYTES).toBe(false);
    expect(blocks.map(({ offset }) => offset)[0]).toBe(SEGMENT_HEADER_BYTES);
  });

  it('says between which bytes no block is, and goes on behind them', async () => {
    const bytes = await segmentOf(5);
    const { blocks } = scanSegment(bytes);
    const [, second, third] = blocks;
    bytes.writeUInt8((bytes[(second?.offset ?? 0) + 10] ?? 0) ^ 0xff, (second?.offset ?? 0) + 10);
    const scan = scanSegment(bytes);
    expect(scan.damaged).toEqual([[second?.offset, third?.offset]]);
    expect(scan.blocks.map(({ firstSequence }) => firstSequence)).toEqual(
      blocks.filter((block) => block !== second).map(({ firstSequence }) => firstSequence),
    );
    expect(scan.cleanTail).toBe(true);
  });

  it('finds a cut tail, and does not take the mark of a block for a block', async () => {
    const bytes = await segmentOf(3);
    const { blocks, end } = scanSegment(bytes);
    bytes.writeUInt32LE(BLOCK_MAGIC, end + 1);
    expect(scanSegment(bytes)).toMatchObject({ end, cleanTail: false, damaged: [] });
    const last = blocks.at(-1);
    expect(scanSegment(bytes.subarray(0, end - 1))).toMatchObject({ end: last?.offset, cleanTail: false });
  });
});
