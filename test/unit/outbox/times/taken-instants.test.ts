import { describe, expect, it } from 'vitest';
import { TakenInstants } from '../../../../src/outbox/times/taken-instants.ts';

function place(spacing: TakenInstants, name: string, ms: number): number {
  const free = spacing.freeFrom(name, ms);
  spacing.take(name, free);
  return free;
}

describe('instants of one key', () => {
  it('are given away once each, and free ones are left as they are', () => {
    const spacing = new TakenInstants();
    const given = [10, 10, 10, 11, 20, 20, 12, 21].map((ms) => place(spacing, 'a', ms));
    expect(given).toEqual([10, 11, 12, 13, 20, 21, 14, 22]);
    expect(place(spacing, 'b', 10)).toBe(10);
  });

  it('are given away once each to values that come out of their order', () => {
    const spacing = new TakenInstants();
    expect([1, 0, 1].map((ms) => place(spacing, 'edge', ms))).toEqual([1, 0, 2]);
    expect([100, 90, 80, 70, 90, 100, 99, 98, 80].map((ms) => place(spacing, 'a', ms))).toEqual([
      100, 90, 80, 70, 91, 101, 99, 98, 81,
    ]);
    expect([99, 98, 92, 100].map((ms) => place(spacing, 'a', ms))).toEqual([102, 103, 92, 104]);
  });

  it('that touch a stretch make it longer, and join two', () => {
    const spacing = new TakenInstants();
    expect([5, 6, 6, 5].map((ms) => place(spacing, 'a', ms))).toEqual([5, 6, 7, 8]);
    for (const ms of [3, 4]) spacing.take('a', ms);
    expect(spacing.freeFrom('a', 3)).toBe(9);
  });

  it('may be taken twice', () => {
    const spacing = new TakenInstants();
    for (const ms of [5, 6, 7, 6, 5, 6]) spacing.take('a', ms);
    expect([4, 5, 7, 8].map((ms) => spacing.freeFrom('a', ms))).toEqual([4, 8, 8, 8]);
  });

  it('are as many as any model says, in whatever order they come', () => {
    const spacing = new TakenInstants();
    const model = new Set<number>();
    let seed = 1;
    for (let step = 0; step < 3_000; step += 1) {
      seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0;
      let ms = (seed >>> 8) % 4_000;
      const given = place(spacing, 'a', ms);
      while (model.has(ms)) ms += 1;
      model.add(ms);
      expect(given).toBe(ms);
    }
  });
});

describe('what is remembered', () => {
  it('is bounded over all keys: the earliest of a key go, and half of what one may have stays', () => {
    const spacing = new TakenInstants();
    for (let at = 0; at <= 50_000; at += 1) spacing.take('a', 10 * at);
    expect(spacing.freeFrom('a', 10 * 25_000)).toBe(10 * 25_000);
    expect(spacing.freeFrom('a', 10 * 25_001)).toBe(10 * 25_001 + 1);
    expect(spacing.freeFrom('a', 500_000)).toBe(500_001);
  });

  it('is of every key at least eight stretches around the one that came last, also below all others', () => {
    const spacing = new TakenInstants();
    for (let key = 0; key < 9_999; key += 1) spacing.take(`k${key}`, 0);
    for (let at = 0; at < 16; at += 1) spacing.take('a', 1_000 + 10 * at);
    spacing.take('a', 500);
    expect([500, 1_000, 1_060].map((ms) => spacing.freeFrom('a', ms))).toEqual([501, 1_001, 1_061]);
    expect(spacing.freeFrom('a', 1_150)).toBe(1_150);
  });

  it('is of ten thousand keys, and then nothing', () => {
    const spacing = new TakenInstants();
    for (let key = 0; key < 10_000; key += 1) spacing.take(`k${key}`, 5);
    expect(spacing.freeFrom('k0', 5)).toBe(6);
    spacing.take('one more', 5);
    expect([spacing.freeFrom('k0', 5), spacing.freeFrom('one more', 5)]).toEqual([5, 6]);
  });
});
