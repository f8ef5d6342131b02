import { describe, expect, it } from 'vitest';
import { type ChecksumAlgorithm, checksumAlgorithm, expectSum, isWeak, startSum } from '../../../src/firmware/checksum.ts';

/** wire-facts.md, "Firmware"; the four of node:crypto from `md5sum` and `sha*sum`. */
const VECTORS: readonly [ChecksumAlgorithm, string, string][] = [
  ['CRC32', '86a61036', '2639f4cb'],
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

  it.each(['SHA384', 'SHA512', 'MD5', 'CRC32'] as const)('%s refuses another sum and names both', (algorithm) => {
    expect(() => expectSumOf(algorithm, 'hello', '00')).toThrow(expect.objectContaining({ code: 'firmware/checksum-mismatch' }));
  });

  it('of 32 bits takes its bytes the other way round', () => {
    expect(() => expectSumOf('CRC32', 'hello', '3610A686')).not.toThrow();
  });

  it('does not take a long sum the other way round', () => {
    const reversed = Buffer.from('5d41402abc4b2a76b9719d911017c592', 'hex').reverse().toString('hex');
    expect(() => expectSumOf('MD5', 'hello', reversed)).toThrow();
  });

  it('takes a sum whose leading zeros were lost', () => {
    // CRC32 of "n12" begins with a zero.
    expect(() => expectSumOf('CRC32', 'n12', 'a6982b3')).not.toThrow();
  });

  it('knows the names in the forms that people write', () => {
    expect(['sha256', 'SHA-512', ' crc32 '].map(checksumAlgorithm)).toEqual(['SHA256', 'SHA512', 'CRC32']);
    expect([checksumAlgorithm('SHA1'), checksumAlgorithm('MURMUR3_32'), checksumAlgorithm('constructor')]).toEqual(
      Array(3).fill(undefined),
    );
    expect([isWeak('CRC32'), isWeak('MD5'), isWeak('SHA384')]).toEqual([true, true, false]);
  });
});
