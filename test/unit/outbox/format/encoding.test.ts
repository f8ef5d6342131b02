import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type BlockLabel, frameBlock, readBlockInfo, unpackBlock } from '../../../../src/outbox/format/block-frame.ts';
import { type BlockEntries, decodePayload, PayloadEncoder } from '../../../../src/outbox/format/block-payload.ts';
import { ByteReader } from '../../../../src/outbox/format/byte-reader.ts';
import type { JsonValue } from '../../../../src/values/json.ts';

const label: BlockLabel = { alarm: false, bootId: '0d3f6c1e-52b7-4f0e-9a57-3c2b8f0e71aa', firstSequence: 2 ** 40 };

function roundTrip(entries: BlockEntries, more: Partial<BlockLabel> = {}): BlockEntries {
  const { bytes } = frameBlock(new PayloadEncoder(), entries, { ...label, ...more });
  const info = readBlockInfo(bytes, 0);
  if (info === undefined) throw new Error('no block');
  return unpackBlock(bytes, 0, info);
}

function ofValues(values: readonly JsonValue[]): BlockEntries {
  return {
    devices: values.map(() => 'self'),
    keys: values.map(() => 'key'),
    values,
    monotonicMs: values.map((_value, at) => 1_000 + at),
  };
}

/** Everything that telemetry may be: text with lone surrogates, longs past int64, nesting, -0, denormals. */
const { value: anyValue } = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom<JsonValue>(null, true, false, -0, 0.1, 21.37, 1e-7, 5e-324, 1.7976931348623157e308, 2 ** 53),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.integer(),
    fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }),
    fc.string({ unit: 'binary' }),
    fc.string().map((text) => `${text}\ud800`),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(
      fc.string().filter((key) => key !== '__proto__'),
      tie('value'),
      { maxKeys: 4 },
    ),
  ),
}));

/** JSON has no -0, and a long within a double's range is a number again once it was inside an object. */
function asJson(value: JsonValue): JsonValue {
  if (typeof value === 'bigint')
    return BigInt.asIntN(54, value) === value && value >= -(2n ** 53n) + 1n && value < 2n ** 53n
      ? Number(value)
      : value;
  if (Object.is(value, -0)) return 0;
  if (Array.isArray(value)) return value.map(asJson);
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, asJson(part as JsonValue)]));
  return value;
}

/** A whole double past 2^53 reads back as a long inside an object; both are written with the same digits or the same value. */
function sameJson(a: JsonValue, b: JsonValue): boolean {
  if (typeof a === 'bigint' || typeof b === 'bigint') return Number(a) === Number(b);
  if (Array.isArray(a))
    return Array.isArray(b) && a.length === b.length && a.every((part, at) => sameJson(part, b[at] as JsonValue));
  if (typeof a === 'object' && a !== null && typeof b === 'object' && b !== null)
    return (
      Object.keys(a).length === Object.keys(b).length &&
      Object.entries(a).every(([key, part]) =>
        sameJson(part ?? null, (b as Record<string, JsonValue>)[key] as JsonValue),
      )
    );
  return Object.is(a, b);
}

describe('a block', () => {
  it('gives every value back exactly', () => {
    fc.assert(
      fc.property(fc.array(anyValue, { minLength: 1, maxLength: 40 }), (values) => {
        roundTrip(ofValues(values)).values.forEach((back, at) => {
          const value = values[at] as JsonValue;
          if (typeof value === 'object' && value !== null) expect(sameJson(asJson(back), asJson(value))).toBe(true);
          else expect(back).toBe(value);
        });
      }),
      { numRuns: 500 },
    );
  });

  it('gives decimals of sensors back as the very same doubles', () => {
    const decimal = fc
      .tuple(fc.integer({ min: -1_000_000, max: 1_000_000 }), fc.integer({ min: 0, max: 6 }))
      .map(([whole, places]) => Number(`${whole}e-${places}`));
    fc.assert(
      fc.property(fc.array(decimal, { minLength: 1 }), (values) => {
        expect(roundTrip(ofValues(values)).values).toEqual(values);
      }),
    );
  });

  it('keeps 64-bit longs, and tells them from numbers', () => {
    const values = [2n ** 53n + 1n, -(2n ** 63n), 5n, 5, { deep: [2n ** 53n + 1n] }];
    expect(roundTrip(ofValues(values)).values).toEqual(values);
  });

  it('of more entries than it has bytes is refused before any room is taken for them', () => {
    const raw = Buffer.from(new PayloadEncoder().encode(ofValues([1, 2, 3])));
    const before = process.memoryUsage().arrayBuffers;
    expect(() => decodePayload(new ByteReader(raw), { count: 200_000_000, ownTime: false, gaps: false })).toThrow(
      RangeError,
    );
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(1e6);
  });

  it('keeps devices, keys, order, times and gaps apart', () => {
    const entries: BlockEntries = {
      devices: ['self', 'meter "7"', 'self', 'meter "7"', 'self'],
      keys: ['a', 'a', 'ключ', 'a', 'a'],
      values: [1, 'x', 2.5, 'y', 3],
      monotonicMs: [10, 10, 5_000_000_000, 11, 12],
      takenAtMs: [1_780_000_000_000, 0, -1, 1_600_000_000_000, 1_780_000_000_001],
      sequences: [100, 102, 110, 111, 200],
    };
    expect(roundTrip(entries, { firstSequence: 100, lastSequence: 205 })).toEqual(entries);
  });

  it('says in its header what is in it', () => {
    const { bytes } = frameBlock(new PayloadEncoder(), ofValues([1, 2, 3]), {
      ...label,
      alarm: true,
      bootId: 'not a uuid',
    });
    expect(readBlockInfo(Buffer.concat([Buffer.from('before'), bytes]), 6)).toMatchObject({
      offset: 6,
      bytes: bytes.length,
      alarm: true,
      count: 3,
      firstSequence: 2 ** 40,
      lastSequence: 2 ** 40 + 2,
      firstMs: 1_000,
      lastMs: 1_002,
      bootId: 'not a uuid',
    });
  });

  it('is not there when any bit of it is another', () => {
    const { bytes } = frameBlock(new PayloadEncoder(), ofValues([1.5, 2.5]), label);
    for (let bit = 0; bit < bytes.length * 8; bit += 1) {
      const flipped = Buffer.from(bytes);
      flipped[bit >> 3] = (flipped[bit >> 3] as number) ^ (1 << (bit & 7));
      expect(readBlockInfo(flipped, 0)).toBeUndefined();
    }
  });

  it.each([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])(
    'takes two bytes for a reading of %i decimals that moves little',
    (places) => {
      const values = Array.from({ length: 50 }, (_none, at) => Number(`${1_001 + ((at * 7) % 50)}e-${places}`));
      const [few, many] = [values.slice(0, 10), values].map(
        (some) => frameBlock(new PayloadEncoder(), ofValues(some), label).bytes.length,
      );
      expect(((many ?? 0) - (few ?? 0)) / 40).toBeLessThan(3.1);
      expect(roundTrip(ofValues(values)).values).toEqual(values);
    },
  );

  it.each([
    ['whole numbers at the end of what is packed', [2 ** 51 - 1, -(2 ** 51) + 1]],
    ['whole numbers past it', [2 ** 51, -(2 ** 51)]],
    ['whole numbers past it among others', [null, 2 ** 51, -(2 ** 51), 2 ** 53, -(2 ** 53)]],
    ['a zero below zero among decimals', [0.5, -0, 0]],
    ['a zero below zero among others', [null, -0, 0]],
    ['more places later in a column', [0.1, 0.123456789, 1e9]],
    ['a number too large for the places of another', [1e-9, 3_000_000.5]],
    ['text with half a character', ['a', '\ud800']],
    ['numbers, texts and longs side by side', [1, 'one', 1n, true, false, null, 1.5]],
  ])('gives back %s', (_name, values: readonly JsonValue[]) => {
    expect(roundTrip(ofValues(values)).values.every((back, at) => Object.is(back, values[at]))).toBe(true);
  });

  it.each([
    ['a list of more values than anybody else may send', Array.from({ length: 100_001 }, (_none, at) => at % 10)],
    [
      'what is nested as deep as the platform takes it',
      JSON.parse(`${'['.repeat(240)}${']'.repeat(240)}`) as JsonValue,
    ],
    ['a long of more digits than anybody else may send', [10n ** 500n]],
  ])('gives back %s, and what lies beside it', (_name, value: JsonValue) => {
    expect(roundTrip(ofValues([21.5, value])).values).toEqual([21.5, value]);
  });

  it('gives back numbers in which there is nothing to pack, in a block of some size', () => {
    const values = Array.from({ length: 400 }, (_none, at) => Math.sin(at * 12.9898) * 43758.5453123);
    expect(roundTrip(ofValues(values)).values).toEqual(values);
  });

  it('of one key is read after one of many, and the other way round', () => {
    const many = Array.from({ length: 60 }, (_none, at) => `a key with a long name ${at}`);
    const ofKeys = (keys: readonly string[]): BlockEntries => ({ ...ofValues(keys.map((_key, at) => at)), keys });
    for (const keys of [many, ['k'], ['k'], many]) expect(roundTrip(ofKeys(keys))).toEqual(ofKeys(keys));
  });

  it('tells keys apart whose names could be mistaken for the key of another device', () => {
    const entries: BlockEntries = {
      devices: ['self', 'meter', 'self', 'meter', 'self'],
      keys: ['meter\0a', 'a', 'a', 'meter\0a', 'meter\0a'],
      values: [1, 2, 3, 4, 5],
      monotonicMs: [1, 2, 3, 4, 5],
    };
    expect(roundTrip(entries)).toEqual(entries);
  });

  it('takes a fraction of what its entries take as JSON', () => {
    const values = Array.from({ length: 50 }, (_none, at) => Number((21.4 + Math.sin(at) * 0.05).toFixed(2)));
    expect(frameBlock(new PayloadEncoder(), ofValues(values), label).bytes.length).toBeLessThan(50 * 124 * 0.06);
  });
});
