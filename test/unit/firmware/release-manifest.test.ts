import { describe, expect, it } from 'vitest';
import { isSafePath, MAX_MANIFEST_BYTES, parseManifest } from '../../../src/firmware/release-manifest.ts';

const file = (changes: object = {}) => ({
  path: 'node',
  bytes: 3,
  sha256: 'a'.repeat(64),
  executable: true,
  ...changes,
});
const manifest = (changes: object = {}) => ({
  format: 'turnstone-release',
  version: 1,
  release: '2.0.0',
  arch: 'arm64',
  node: '24.21.0',
  stateFormats: { outbox: [1, 2] },
  files: [file()],
  ...changes,
});
const parse = (changes: object) => parseManifest(JSON.stringify(manifest(changes)));

describe('a manifest', () => {
  it('is read whole, and knows no more than it says', () => {
    expect(parse({ more: 'later', files: [file(), file({ path: 'lib/a', executable: 'yes', more: 1 })] })).toEqual({
      ...manifest(),
      files: [file(), file({ path: 'lib/a', executable: false })],
    });
  });

  it.each([
    [{ format: 'turnstone-outbox' }, 'not a release manifest'],
    [{ version: 2 }, 'a newer format than this agent reads'],
    [{ release: '../1' }, 'its version is not one'],
    [{ release: 7 }, 'its version is not one'],
    [{ arch: undefined }, 'arch and node are needed'],
    [{ node: 24 }, 'arch and node are needed'],
    [{ files: {} }, '1 to 1000 files are taken'],
    [{ files: [] }, '1 to 1000 files are taken'],
    [{ files: Array.from({ length: 1_001 }, (_, n) => file({ path: `f${n}` })) }, '1 to 1000 files are taken'],
    [{ files: [file(), file()] }, 'a path occurs twice'],
    [{ files: [null] }, 'a file is not an object'],
    [{ files: [file({ path: 7 })] }, 'the path 7 is refused'],
    [{ files: [file({ path: `/${'x'.repeat(200)}` })] }, `the path "/${'x'.repeat(78)} is refused`],
    [{ files: [file({ bytes: '3' })] }, 'node has no size'],
    [{ files: [file({ bytes: 1.5 })] }, 'node has no size'],
    [{ files: [file({ bytes: -1 })] }, 'node has no size'],
    [{ files: [file({ bytes: 2 ** 60 })] }, 'node has no size'],
    [{ files: [file({ sha256: 'A'.repeat(64) })] }, 'node has no SHA-256'],
    [{ files: [file({ sha256: 'a'.repeat(65) })] }, 'node has no SHA-256'],
    [{ files: [file({ sha256: 1 })] }, 'node has no SHA-256'],
    [
      { files: [file({ bytes: 400 * 1024 * 1024 }), file({ path: 'b', bytes: 1 })] },
      '419430401 bytes unpacked, at most 419430400 are taken',
    ],
    [{ stateFormats: undefined }, 'stateFormats is needed'],
    [{ stateFormats: { outbox: 1 } }, 'stateFormats.outbox is no list'],
    [{ stateFormats: { outbox: [1, '2'] } }, 'stateFormats.outbox is no list'],
  ])('is refused, and says why %#', (changes, why) => {
    expect(() => parse(changes)).toThrow(
      expect.objectContaining({
        code: 'firmware/bad-manifest',
        message: `the release is refused: ${why}`,
        recovery: 'drop',
      }),
    );
  });

  it.each(['[]', '"x"', 'null'])('is refused when it is %s', (text) => {
    expect(() => parseManifest(text)).toThrow('not a release manifest');
  });

  it('may be as large as is allowed, and no larger', () => {
    const files = Array.from({ length: 1_000 }, (_, n) => file({ path: `f${n}`, bytes: 400 * 1024 }));
    expect(parse({ files }).files).toHaveLength(1_000);
    expect(parse({ files: [file({ bytes: 400 * 1024 * 1024 })] }).files).toHaveLength(1);
    const filled = (bytes: number): string => {
      const text = JSON.stringify(manifest({ more: '' }));
      return JSON.stringify(manifest({ more: 'x'.repeat(bytes - text.length) }));
    };
    expect(parseManifest(filled(MAX_MANIFEST_BYTES)).release).toBe('2.0.0');
    expect(() => parseManifest(filled(MAX_MANIFEST_BYTES + 1))).toThrow(
      expect.objectContaining({ code: 'json/too-large' }),
    );
  });
});

describe('a path of a release', () => {
  it('stays below its folder, as plain names', () => {
    const safe = ['node', 'native/turnstone.node', 'node_modules/@types/x-y_z+1', 'a/b/c', 'x'.repeat(100)];
    expect(safe.filter((path) => !isSafePath(path))).toEqual([]);
    const unsafe = [
      '',
      '/a',
      'a//b',
      'a/',
      '.',
      '..',
      'a/../b',
      '.hidden',
      'a/.b',
      'a b',
      'ä',
      'a\\b',
      'manifest.json',
      'x'.repeat(101),
    ];
    expect(unsafe.filter(isSafePath)).toEqual([]);
  });
});
