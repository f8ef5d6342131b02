import { describe, expect, it } from 'vitest';
import { LineReader } from '../../../src/values/line-reader.ts';

describe('the line reader', () => {
  it('cuts whatever pieces come into the same lines', () => {
    const text = `${'eins\n\nzwei ü\n'.repeat(50)}rest`;
    const bytes = Buffer.from(text);
    for (const size of [1, 2, 3, 7, 100, bytes.length]) {
      const reader = new LineReader(1_000);
      const lines: string[] = [];
      for (let at = 0; at < bytes.length; at += size)
        lines.push(...(reader.readLines(bytes.subarray(at, at + size)) ?? ['too long']));
      expect(lines).toEqual(text.split('\n').slice(0, -1));
    }
  });

  it('gives up on a line past its limit, complete or not, and takes one of just that length', () => {
    expect(new LineReader(3).readLines(Buffer.from('abc\n'))).toEqual(['abc']);
    expect(new LineReader(3).readLines(Buffer.from('abcd\n'))).toBeUndefined();
    expect(new LineReader(3).readLines(Buffer.from('abcd'))).toBeUndefined();
    const reader = new LineReader(3);
    expect(reader.readLines(Buffer.from('ab'))).toEqual([]);
    expect(reader.readLines(Buffer.from('cd\n'))).toBeUndefined();
  });

  it('holds an unfinished line in single bytes at no more than a few times its size', () => {
    const reader = new LineReader(256 * 1024);
    const before = process.memoryUsage();
    for (let n = 0; n < 200_000; n += 1) reader.readLines(Buffer.allocUnsafeSlow(1).fill(65));
    const { external, arrayBuffers } = process.memoryUsage();
    expect(arrayBuffers - before.arrayBuffers + external - before.external).toBeLessThan(200_000 * 20);
    expect(reader.readLines(Buffer.from('\n'))).toEqual(['A'.repeat(200_000)]);
  });
});
