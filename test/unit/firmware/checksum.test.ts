import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import murmur from 'murmurhash3js-revisited';
import { describe, expect, it } from 'vitest';
import {
  type ChecksumAlgorithm,
  checksumAlgorithm,
  expectSum,
  isWeak,
  startSum,
} from '../../../src/firmware/checksum.ts';
import { Murmur3With32Bits, Murmur3With128Bits } from '../../../src/firmware/murmur3.ts';

/** wire-facts.md, "Firmware"; the four of node:crypto from `md5sum` and `sha*sum`. */
const VECTORS: readonly [ChecksumAlgorithm, string, string][] = [
  ['CRC32', '86a61036', '2639f4cb'],
  ['MURMUR3_32', '47fa8b24', '82f3feb4'],
  ['MURMUR3_128', '029bbd41b3a7d8cb191dae486a901e5b', 'a4cc66db5e64843c05a11e3ac7faf899'],
  ['MD5', '5d41402abc4b2a76b9719d911017c592', '25f9e794323b453885f5181f1b624d0b'],
  [
    'SHA256',
    '2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824',
    '15e2b0d3c33891ebb0f1ef609ec419420c20e320ce94c65fbc8c3312448eb225',
  ],
];

/** The sum of a text in pieces of a letter, held against another. */
function expectSumOf(algorithm: ChecksumAlgorithm, text: string, announced: string): void {
  const sum = startSum(algorithm);
  for (const letter of text) sum.update(Buffer.from(letter));
  expectSum(algorithm, sum.digest(), announced);
}

describe('a checksum', () => {
  it.each(VECTORS)('%s gives the published sums of "hello" and "123456789"', (algorithm, hello, digits) => {
    for (const [text, sum] of [
      ['hello', hello],
      ['123456789', digits],
    ] as const) {
      expect(() => expectSumOf(algorithm, text, sum)).not.toThrow();
    }
  });

  it.each(['SHA384', 'SHA512', 'MD5', 'MURMUR3_128', 'CRC32'] as const)(
    '%s refuses another sum and names both',
    (algorithm) => {
      expect(() => expectSumOf(algorithm, 'hello', '00')).toThrow(
        expect.objectContaining({ code: 'firmware/checksum-mismatch' }),
      );
    },
  );

  it.each([
    ['CRC32', '3610A686'],
    ['MURMUR3_32', '248bfa47'],
  ] as const)('%s takes its bytes the other way round', (algorithm, sum) => {
    expect(() => expectSumOf(algorithm, 'hello', sum)).not.toThrow();
  });

  it('does not take a long sum the other way round', () => {
    const reversed = Buffer.from('5d41402abc4b2a76b9719d911017c592', 'hex').reverse().toString('hex');
    expect(() => expectSumOf('MD5', 'hello', reversed)).toThrow();
  });

  it('takes a sum whose leading zeros were lost', () => {
    let text = '';
    for (let n = 0; ; n += 1) {
      text = `n${n}`;
      const probe = new Murmur3With32Bits();
      probe.update(Buffer.from(text));
      if (probe.digest()[0] === 0x03) break;
    }
    const hash = new Murmur3With32Bits();
    hash.update(Buffer.from(text));
    expect(() => expectSumOf('MURMUR3_32', text, hash.digest().toString('hex').replace(/^0/, ''))).not.toThrow();
  });

  it('knows the names in the forms that people write', () => {
    expect(['sha256', 'SHA-512', 'murmur3_32', 'MURMUR3-128', ' crc32 '].map(checksumAlgorithm)).toEqual([
      'SHA256',
      'SHA512',
      'MURMUR3_32',
      'MURMUR3_128',
      'CRC32',
    ]);
    expect([checksumAlgorithm('SHA1'), checksumAlgorithm('constructor')]).toEqual([undefined, undefined]);
    expect([isWeak('CRC32'), isWeak('MD5'), isWeak('MURMUR3_128'), isWeak('SHA384')]).toEqual([
      true,
      true,
      true,
      false,
    ]);
  });
});

describe('MurmurHash3', () => {
  it('agrees with murmurhash3js on any bytes, in whatever pieces they come', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), fc.array(fc.nat(40), { maxLength: 8 }), (bytes, cuts) => {
        const hashes = [new Murmur3With32Bits(), new Murmur3With128Bits()] as const;
        let at = 0;
        for (const cut of [...cuts, bytes.length]) {
          for (const hash of hashes) hash.update(bytes.subarray(at, at + cut));
          at = Math.min(at + cut, bytes.length);
        }
        expect(hashes[0].digest().readUInt32LE()).toBe(murmur.x86.hash32(bytes));
        const halves = hashes[1].digest();
        const wordsReversed = Buffer.concat([halves.subarray(0, 8).reverse(), halves.subarray(8).reverse()]).toString(
          'hex',
        );
        expect(wordsReversed).toBe(murmur.x64.hash128(bytes));
      }),
      { numRuns: 500 },
    );
  });

  it.each(['59738478', 'b54cda26', '78dde6c4', 'daa66d13'])(
    'agrees where the product of %s is at the edge of a carry',
    (low) => {
      const bytes = Buffer.from(`${Buffer.from(low, 'hex').reverse().toString('hex')}00000000`.repeat(2), 'hex');
      const hash = new Murmur3With128Bits();
      hash.update(bytes);
      const halves = hash.digest();
      expect(Buffer.concat([halves.subarray(0, 8).reverse(), halves.subarray(8).reverse()]).toString('hex')).toBe(
        murmur.x64.hash128(bytes),
      );
    },
  );

  it('agrees with murmurhash3js on a large random file', () => {
    const bytes = randomBytes(300_001);
    const hash = new Murmur3With128Bits();
    for (let at = 0; at < bytes.length; at += 4_093) hash.update(bytes.subarray(at, at + 4_093));
    const halves = hash.digest();
    expect(Buffer.concat([halves.subarray(0, 8).reverse(), halves.subarray(8).reverse()]).toString('hex')).toBe(
      murmur.x64.hash128(bytes),
    );
  });
});
