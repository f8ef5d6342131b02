import { expect, it } from 'vitest';
import { FrameCutter } from './frame-cutter.ts';

const LENGTH = 512;
const GOOD = Buffer.concat([Buffer.alloc(LENGTH - 1, 0x68), Buffer.of(0x16)]);

/** A frame begins as often as its bytes are the beginning, and is good when it ends with 16. */
function cut(...pieces: readonly Uint8Array[]) {
  let [checked, good] = [0, 0];
  const onFrame = (frame: Buffer): boolean => {
    checked += frame.length;
    const isGood = frame.at(-1) === 0x16;
    good += Number(isGood);
    return isGood;
  };
  const cutter = new FrameCutter({
    frame: { start: '68', length: LENGTH, tail: 0 },
    maxBytes: 4_096,
    onFrame,
    onTooLong: () => {},
  });
  for (const piece of pieces) cutter.splitBytes(piece);
  return { checked, good };
}

it('a flood of beginnings is checked at most sixteen times over', () => {
  const pieces = Array.from({ length: 64 }, () => Buffer.alloc(4_096, 0x68));
  expect(cut(...pieces).checked).toBeLessThan(17 * 64 * 4_096);
});

it('a frame is found behind a beginning that is cut off, and in a stream of frames from any place on', () => {
  expect(cut(Buffer.from('6801', 'hex'), GOOD).good).toBe(1);
  for (const from of [1, 17, 300])
    expect(cut(GOOD.subarray(from), ...Array.from({ length: 60 }, () => GOOD)).good).toBeGreaterThan(0);
});
