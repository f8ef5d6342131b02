/** Numbers and texts as bytes: what is written comes back, in as few bytes as it needs, and nothing is read past the end. */
import { describe, expect, it } from 'vitest';
import { ByteReader } from '../../../../src/outbox/format/byte-reader.ts';
import { ByteWriter } from '../../../../src/outbox/format/byte-writer.ts';

function bytesOf(write: (to: ByteWriter) => void): Buffer {
  const to = new ByteWriter(1);
  write(to);
  return Buffer.from(to.view());
}

describe('a whole number', () => {
  it.each([
    [0, 1],
    [127, 1],
    [128, 2],
    [2 ** 14 - 1, 2],
    [2 ** 14, 3],
    [2 ** 28 - 1, 4],
    [2 ** 28, 5],
    [2 ** 28 + 200, 5],
    [2 ** 35 - 1, 5],
    [2 ** 49, 8],
    [Number.MAX_SAFE_INTEGER, 8],
  ])('%i takes %i bytes', (value, length) => {
    const bytes = bytesOf((to) => to.varint(value));
    expect([bytes.length, new ByteReader(bytes).varint()]).toEqual([length, value]);
  });

  it.each([-1, 2 ** 53])('%i is refused', (value) => {
    expect(() => bytesOf((to) => to.varint(value))).toThrow(RangeError);
  });

  it.each([0, -1, 1, -64, 63, 64, -65, 2 ** 52 - 1, -(2 ** 52)])('with a sign comes back: %i', (value) => {
    const bytes = bytesOf((to) => to.zigzag(value));
    expect(new ByteReader(bytes).zigzag()).toBe(value);
    expect(bytes.length === 1).toBe(value >= -64 && value < 64);
  });
});

describe('a writer', () => {
  it('grows without losing what it has, and begins anew when it is cleared', () => {
    const to = new ByteWriter(1);
    for (let at = 0; at < 40; at += 1) to.byte(at);
    to.double(0.1);
    to.text('ключ');
    to.append(Buffer.from([7, 8]));
    to.varint(300);
    const from = new ByteReader(Buffer.from(to.view()));
    expect(Array.from({ length: 40 }, () => from.byte())).toEqual(Array.from({ length: 40 }, (_none, at) => at));
    expect([from.double(), from.text(), from.byte(), from.byte(), from.varint(), from.remaining]).toEqual([
      0.1,
      'ключ',
      7,
      8,
      300,
      0,
    ]);
    expect(to.length).toBe(from.position);
    to.clear();
    to.byte(1);
    expect([...to.view()]).toEqual([1]);
  });
});

describe('a reader', () => {
  it('ends at the end', () => {
    const past = (read: (from: ByteReader) => unknown, ...bytes: number[]) =>
      expect(() => read(new ByteReader(Buffer.from(bytes)))).toThrow(RangeError);
    past((from) => from.byte());
    past((from) => from.varint(), 0x80);
    past((from) => from.double(), 1, 2, 3, 4, 5, 6, 7);
    past((from) => from.text(), 2, 65);
    expect(new ByteReader(Buffer.from([2, 65, 66])).text()).toBe('AB');
  });

  it('passes over what it expects, and over nothing else', () => {
    const from = new ByteReader(Buffer.from([1, 2, 3, 4]), 1);
    expect(from.skip(Buffer.from([2, 4]))).toBe(false);
    expect(from.skip(Buffer.from([2, 3, 4, 5]))).toBe(false);
    expect([from.position, from.remaining]).toEqual([1, 3]);
    expect(from.skip(Buffer.from([2, 3]))).toBe(true);
    expect([...from.copySince(1)]).toEqual([2, 3]);
    expect(from.skip(Buffer.from([4]))).toBe(true);
    expect(from.remaining).toBe(0);
  });
});
