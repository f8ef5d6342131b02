import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeFrames, encodeFrame, type Frame, JOURNAL_HEAD } from '../../../src/rpc/journal-frames.ts';

const frame = (n: number): Frame => ({ kind: 'intent', payload: { n, text: 'TSRJ in the text is no frame' } });
const file = (count: number): Buffer =>
  Buffer.concat([JOURNAL_HEAD, ...Array.from({ length: count }, (_, n) => frame(n))].map(encodeFrame));

describe('journal frames', () => {
  it('come back as they were written, longs too', () => {
    const odd: Frame = { kind: 'reply', payload: { long: 9007199254740993n, text: 'ü\u0000', nested: [{ a: null }] } };
    expect(decodeFrames(Buffer.concat([encodeFrame(JOURNAL_HEAD), encodeFrame(odd)])).frames).toEqual([
      JOURNAL_HEAD,
      odd,
    ]);
  });

  it('come back however deep they are', () => {
    const deep: Frame = { kind: 'reply', payload: { reply: JSON.parse(`${'['.repeat(200)}${']'.repeat(200)}`) } };
    expect(decodeFrames(Buffer.concat([encodeFrame(deep), encodeFrame(frame(1))])).frames).toEqual([deep, frame(1)]);
  });

  it('lose only the last one to a torn tail, wherever it tears', () => {
    const bytes = file(3);
    const last = encodeFrame(frame(2)).length;
    for (let cut = 1; cut <= last; cut += 1) {
      const decoded = decodeFrames(bytes.subarray(0, bytes.length - cut));
      expect(decoded.frames.slice(1).map(({ payload }) => payload.n)).toEqual([0, 1]);
      expect(decoded.wholeBytes).toBe(bytes.length - last);
      expect(decoded.damagedBytes).toBe(0);
    }
  });

  it('lose only the damaged one to a flipped bit, wherever it flips', () => {
    const bytes = file(3);
    const start = encodeFrame(JOURNAL_HEAD).length;
    const size = encodeFrame(frame(0)).length;
    for (let at = start; at < start + size; at += 1) {
      const damaged = Buffer.from(bytes);
      damaged[at] = (damaged[at] ?? 0) ^ 0x10;
      const { frames, damagedBytes } = decodeFrames(damaged);
      // The two reserved bytes are covered by the sum as well, so every flip is noticed.
      expect(frames.filter(({ kind }) => kind === 'intent').map(({ payload }) => payload.n)).toEqual([1, 2]);
      expect(damagedBytes).toBe(size);
    }
  });

  it('are not found in noise, and noise throws nothing', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 400 }), (noise) => {
        const { frames } = decodeFrames(Buffer.concat([Buffer.from('TSRJ'), noise, encodeFrame(frame(7))]));
        expect(frames.at(-1)).toEqual(frame(7));
      }),
      { numRuns: 2_000 },
    );
  });

  it('are no longer than any reply makes them: what says it is longer is none', () => {
    const ofText = (length: number): Frame => ({
      kind: 'reply',
      payload: { text: 'x'.repeat(length - '{"text":""}'.length) },
    });
    const [longest, longer] = [ofText(192 * 1024), ofText(192 * 1024 + 1)];
    expect(
      decodeFrames(Buffer.concat([encodeFrame(longest), encodeFrame(longer), encodeFrame(frame(1))])).frames,
    ).toEqual([longest, frame(1)]);
  });

  it('of a kind that is not known are counted too', () => {
    const odd = encodeFrame(frame(1));
    odd.writeUInt8(9, 5);
    odd.writeUInt32LE(crc32(odd.subarray(16), crc32(odd.subarray(4, 12))), 12);
    expect(decodeFrames(odd)).toMatchObject({ frames: [], unknownFrames: 1, damagedBytes: 0 });
  });

  it('of a later version are counted, and not taken for damage', () => {
    const later = encodeFrame(frame(1));
    later.writeUInt8(2, 4);
    later.writeUInt32LE(crc32(later.subarray(16), crc32(later.subarray(4, 12))), 12);
    const known = encodeFrame(frame(2));
    expect(decodeFrames(Buffer.concat([later, known]))).toEqual({
      frames: [frame(2)],
      unknownFrames: 1,
      damagedBytes: 0,
      wholeBytes: later.length + known.length,
    });
  });
});
