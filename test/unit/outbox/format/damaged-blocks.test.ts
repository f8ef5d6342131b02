/** Damaged blocks are none of ours, and no length in them is believed before it is checked. */
import { describe, expect, it } from 'vitest';
import { BLOCK_MAGIC, frameBlock, isWholeBlock, readBlockInfo } from '../../../../src/outbox/format/block-frame.ts';
import { type BlockEntries, PayloadEncoder } from '../../../../src/outbox/format/block-payload.ts';
import { ByteReader } from '../../../../src/outbox/format/byte-reader.ts';
import { readColumn } from '../../../../src/outbox/format/value-column.ts';

const HEADER_BYTES = 46;
const MAX_BYTES = 64 * 1024 * 1024;
const label = { alarm: false, bootId: 'boot', firstSequence: 7 };

function ofTimes(monotonicMs: readonly number[], values: readonly number[] = monotonicMs): BlockEntries {
  return { devices: monotonicMs.map(() => 'self'), keys: monotonicMs.map(() => 'k'), values, monotonicMs };
}

const frame = (entries: BlockEntries, bootId = 'boot') =>
  frameBlock(new PayloadEncoder(), entries, { ...label, bootId });

describe('a block', () => {
  it('is not there when any of its last bytes is missing', () => {
    const { bytes, info } = frame(ofTimes([1, 2, 3]));
    for (let length = 0; length < bytes.length; length += 1)
      expect(readBlockInfo(bytes.subarray(0, length), 0)).toBeUndefined();
    expect(readBlockInfo(bytes, 0)).toEqual(info);
  });

  it('may be known by its header alone, which has to be whole', () => {
    const { bytes, info } = frame(ofTimes([1, 2, 3]));
    const header = bytes.subarray(0, HEADER_BYTES + 'boot'.length);
    expect(readBlockInfo(header, 0, { headerOnly: true })).toEqual(info);
    for (let length = 0; length < header.length; length += 1)
      expect(readBlockInfo(header.subarray(0, length), 0, { headerOnly: true })).toBeUndefined();
  });

  it('is of another version, or announces what no block of ours has: it is left alone', () => {
    const { bytes } = frame(ofTimes([1, 2, 3]));
    const changedBy = (change: (header: Buffer) => void) => {
      const changed = Buffer.from(bytes);
      change(changed);
      return readBlockInfo(changed, 0, { headerOnly: true });
    };
    expect(changedBy((header) => header.writeUInt8(2, 8))).toBeUndefined();
    expect(changedBy((header) => header.writeUInt32LE(BLOCK_MAGIC + 1, 0))).toBeUndefined();
    expect(changedBy((header) => header.writeUInt16LE(HEADER_BYTES - 1, 10))).toBeUndefined();
    expect(changedBy((header) => header.writeUInt16LE(HEADER_BYTES, 10))).toMatchObject({ bootId: '' });
    const stored = MAX_BYTES - HEADER_BYTES - 'boot'.length;
    expect(changedBy((header) => header.writeUInt32LE(stored, 12))).toMatchObject({ bytes: MAX_BYTES });
    expect(changedBy((header) => header.writeUInt32LE(stored + 1, 12))).toBeUndefined();
  });

  it('is no longer whole when it was cut, overwritten or replaced since it was found', () => {
    const { bytes, info } = frame(ofTimes([1, 2, 3]));
    const moved = Buffer.concat([Buffer.alloc(9), bytes]);
    expect([isWholeBlock(bytes, 0, info), isWholeBlock(moved, 9, info)]).toEqual([true, true]);
    expect(isWholeBlock(bytes.subarray(0, -1), 0, info)).toBe(false);
    expect(isWholeBlock(moved, 8, info)).toBe(false);
    expect(isWholeBlock(bytes, 0, { ...info, firstSequence: 8 })).toBe(false);
    for (const at of [0, HEADER_BYTES, bytes.length - 1]) {
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] as number) ^ 1;
      expect(isWholeBlock(changed, 0, info)).toBe(false);
    }
  });

  it('over more time than its header can say ends at no known time', () => {
    const spans = [2 ** 32 - 2, 2 ** 32 - 1, 2 ** 33].map(
      (span) => readBlockInfo(frame(ofTimes([5, 5 + span])).bytes, 0)?.lastMs,
    );
    expect(spans).toEqual([5 + 2 ** 32 - 2, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]);
  });

  it('has the bounds of its times, in whatever order they came', () => {
    expect(frame(ofTimes([7, 3, 9, 4])).info).toMatchObject({ firstMs: 3, lastMs: 9 });
  });

  it('tells the boots of neighbouring blocks apart', () => {
    const uuid = '61626364-6566-6768-696a-6b6c6d6e6f70';
    const ids = [uuid, 'abcdefghijklmnop', uuid, 'boot', 'boot', `${uuid}x`, uuid.toUpperCase()];
    expect(ids.map((id) => readBlockInfo(frame(ofTimes([1]), id).bytes, 0)?.bootId)).toEqual(ids);
  });

  it('is packed only when that makes it smaller and it is more than a page is worth', () => {
    const isPacked = (bytes: Buffer): boolean => ((bytes[9] as number) & 4) !== 0;
    const steady = (count: number): Buffer =>
      frame(
        ofTimes(
          Array.from({ length: count }, (_none, at) => at * 1_000),
          Array(count).fill(1),
        ),
      ).bytes;
    expect([isPacked(steady(200)), isPacked(steady(2_000))]).toEqual([false, true]);
  });
});

describe('a column', () => {
  it('of an unknown form is refused, and so is a value', () => {
    const read = (...bytes: number[]) => readColumn(new ByteReader(Buffer.from(bytes)), [], new Uint32Array([0]), 0, 1);
    expect(() => read(4)).toThrow(RangeError);
    expect(() => read(3, 8)).toThrow(RangeError);
    expect(() => read()).toThrow(RangeError);
  });
});
