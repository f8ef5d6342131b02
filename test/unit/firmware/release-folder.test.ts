import { mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { guardLines, parseRequest, type ReleasePaths, releasePaths } from '../../../src/firmware/guard-state.ts';
import { copyPlain, incomingFolder, readTrustedKeys, unpackImage } from '../../../src/firmware/release-folder.ts';
import { parseTrustedKey } from '../../../src/firmware/release-signature.ts';
import { systemFiles } from '../../../src/firmware/update-files.ts';
import { makeImage, makeKeys, type ReleaseSpec } from '../../support/release-image.ts';

const FLIPS = 500;
const signer = makeKeys();
const keys = [parseTrustedKey(signer.publicPem, 'signer')];
const never = new AbortController().signal;
let root: string;
let paths: ReleasePaths;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'turnstone-releases-'));
  paths = releasePaths(root);
  for (const folder of [paths.home, join(paths.home, 'releases'), paths.guard]) await systemFiles.makeFolder(folder, 0o755);
});
afterEach(() => rm(root, { recursive: true, force: true }));

async function unpack(bytes: Uint8Array, options: { readonly signatureRequired?: boolean } = {}) {
  const path = join(root, 'image');
  await writeFile(path, bytes);
  const { signatureRequired = true } = options;
  return unpackImage({ files: systemFiles, paths }, { path, keys, signatureRequired }, () => {}, never);
}

async function unpacked(path: string): Promise<string> {
  return readFile(join(incomingFolder(paths), path), 'utf8');
}

describe('an image', () => {
  it('is unpacked as it was packed', async () => {
    const manifest = await unpack(makeImage({ release: '2.0.0', key: signer.privateKey }).bytes);
    expect(manifest.release).toBe('2.0.0');
    expect(await unpacked('native/turnstone.node')).toBe('an addon');
    expect((await stat(join(incomingFolder(paths), 'turnstone'))).mode & 0o777).toBe(0o755);
    expect((await stat(join(incomingFolder(paths), 'native/turnstone.node'))).mode & 0o777).toBe(0o644);
  });

  it(`is refused with any one of ${FLIPS} bits flipped`, async () => {
    const { bytes } = makeImage({ release: '2.0.0', key: signer.privateKey });
    const survivors: number[] = [];
    for (let flip = 0; flip < FLIPS; flip += 1) {
      const bit = Math.floor((flip / FLIPS) * bytes.length * 8);
      const flipped = Buffer.from(bytes);
      flipped.writeUInt8(flipped.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
      await unpack(flipped).then(
        () => survivors.push(bit),
        () => undefined,
      );
    }
    expect(survivors).toEqual([]);
  });

  it(`brings nothing wrong to the disk with any one of ${FLIPS} bits flipped, even where signatures are switched off`, async () => {
    const image = makeImage({ release: '2.0.0' });
    const wrong: string[] = [];
    for (let flip = 0; flip < FLIPS; flip += 1) {
      const bit = Math.floor((flip / FLIPS) * image.bytes.length * 8);
      const flipped = Buffer.from(image.bytes);
      flipped.writeUInt8(flipped.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
      const manifest = await unpack(flipped, { signatureRequired: false }).catch(() => undefined);
      if (manifest === undefined) continue;
      for (const [path, content] of image.files)
        if ((await unpacked(path)) !== Buffer.from(content).toString()) wrong.push(`${bit} ${path}`);
    }
    expect(wrong).toEqual([]);
  });

  const hostile: Readonly<Record<string, Partial<ReleaseSpec>>> = {
    'a symbolic link': { tamper: ({ entries }) => Object.assign(entries[0] ?? {}, { header: typed('2') }) },
    'a hard link': { tamper: ({ entries }) => Object.assign(entries[0] ?? {}, { header: typed('1') }) },
    'a device': { tamper: ({ entries }) => Object.assign(entries[0] ?? {}, { header: typed('3') }) },
    'a folder': { tamper: ({ entries }) => Object.assign(entries[0] ?? {}, { header: typed('5') }) },
    'an absolute path': { tamper: ({ manifest }) => rename(manifest, '/etc/passwd') },
    'a path with ..': { tamper: ({ manifest }) => rename(manifest, 'native/../../../x') },
    'a name of one dot': { tamper: ({ manifest }) => rename(manifest, './node') },
    'a line break in a path': { tamper: ({ manifest }) => rename(manifest, 'no\nde') },
    'a second manifest': { tamper: ({ manifest }) => rename(manifest, 'manifest.json') },
    'one path twice': { tamper: ({ manifest }) => rename(manifest, 'turnstone') },
    'another sum': { tamper: ({ entries }) => Object.assign(entries[0] ?? {}, { content: Buffer.from('another!!') }) },
    'a file too few': { tamper: ({ entries }) => entries.pop() },
    'a file too many': { tamper: ({ entries }) => entries.push({ path: 'more', content: Buffer.from('x') }) },
    'a negative size': { tamper: ({ manifest }) => Object.assign((manifest.files as object[])[0] ?? {}, { bytes: -1 }) },
    'a version that leads out': { tamper: ({ manifest }) => Object.assign(manifest, { release: '..' }) },
  };

  it.each(Object.keys(hostile))('is refused with %s in it, though the signature is good', async (name) => {
    const image = makeImage({ release: '2.0.0', key: signer.privateKey, ...hostile[name] });
    await expect(unpack(image.bytes)).rejects.toMatchObject({ code: expect.stringMatching(/^firmware\/bad-(archive|manifest)$/) });
    expect(await readdir(root)).toEqual(expect.not.arrayContaining(['x', 'etc']));
  });

  it('is refused when it is a bomb: what it unpacks to is said first and kept to', async () => {
    const zeros = Buffer.alloc(50_000_000);
    const tamper: ReleaseSpec['tamper'] = ({ entries }) => Object.assign(entries[0] ?? {}, { content: zeros });
    const image = makeImage({ release: '2.0.0', key: signer.privateKey, tamper });
    expect(image.bytes.length).toBeLessThan(100_000);
    await expect(unpack(image.bytes)).rejects.toMatchObject({ code: 'firmware/bad-archive' });
    expect(await readdir(incomingFolder(paths))).not.toContain('node');
  });

  it('is refused with something behind its end', async () => {
    const { bytes } = makeImage({ release: '2.0.0', key: signer.privateKey });
    await expect(unpack(Buffer.concat([bytes, Buffer.from('more')]))).rejects.toMatchObject({ code: 'firmware/unsigned' });
  });
});

describe('what root reads of others', () => {
  it('is never reached through a link, and never waited for', async () => {
    await writeFile(join(root, 'secret'), 'secret');
    await symlink(join(root, 'secret'), join(root, 'image-link'));
    await expect(copyPlain(systemFiles, join(root, 'image-link'), join(root, 'copy'), 1_000)).rejects.toThrow();
    const { execFileSync } = await import('node:child_process');
    execFileSync('mkfifo', [join(root, 'pipe')]);
    await expect(copyPlain(systemFiles, join(root, 'pipe'), join(root, 'copy'), 1_000)).rejects.toThrow(/no plain file/);
  });

  it('is swap or reboot, in these words only', () => {
    const swap = { request: 'swap', id: 'a-1', version: '1.2.3', source: 'image' } as const;
    expect(parseRequest(Buffer.from(guardLines(swap)))).toEqual(swap);
    expect(parseRequest(Buffer.from('request=reboot\nid=7\n'))).toEqual({ request: 'reboot', id: '7' });
    for (const text of [
      '',
      'request=rm',
      'request=swap\nid=a\nversion=..\nsource=image',
      'request=swap\nid=a\nversion=../x\nsource=image',
      'request=swap\nid=a b\nversion=1\nsource=image',
      'request=swap\nid=a\nversion=1\nsource=/etc/passwd',
      `request=reboot\nid=${'x'.repeat(65)}`,
      '\0\0\0',
    ])
      expect(parseRequest(Buffer.from(text)), text).toBeUndefined();
  });

  it('names the key that is none', async () => {
    await writeFile(join(root, 'bad.pem'), 'not a key');
    await expect(readTrustedKeys(systemFiles, root)).rejects.toMatchObject({
      code: 'firmware/bad-trusted-key',
      message: expect.stringContaining('bad.pem'),
    });
  });
});

/** A header of another type, with a target, sealed by its own sum as tar wants it. */
function typed(type: string): (header: Buffer) => void {
  return (header) => {
    header.write(type, 156, 'latin1');
    header.write('/etc/passwd', 157, 'latin1');
    header.write('        ', 148, 'latin1');
    const sum = header.reduce((total, byte) => total + byte, 0);
    header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  };
}

function rename(manifest: Record<string, unknown>, path: string): void {
  Object.assign((manifest.files as object[])[0] ?? {}, { path });
}
