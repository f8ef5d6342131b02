import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { withPlain } from '../../../src/firmware/file-pieces.ts';
import { guardLines, parseRequest, type ReleasePaths, releasePaths } from '../../../src/firmware/guard-state.ts';
import {
  copyPlain,
  copyWhereRoom,
  incomingFolder,
  readTrustedKeys,
  unpackImage,
} from '../../../src/firmware/release-folder.ts';
import { parseTrustedKey } from '../../../src/firmware/release-signature.ts';
import { silentLog } from '../../../src/host/log.ts';
import { makeImage, makeKeys, type ReleaseSpec } from '../../support/release-image.ts';
import { systemUpdateFiles } from '../../support/system-update-files.ts';

const FLIPS = 500;
const signer = makeKeys();
const keys = [parseTrustedKey(signer.publicPem, 'signer')];
const never = new AbortController().signal;
let root: string;
let paths: ReleasePaths;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'turnstone-releases-'));
  paths = releasePaths(root);
  for (const folder of [paths.home, join(paths.home, 'releases'), paths.guard])
    await systemUpdateFiles.makeFolder(folder, 0o755);
});
afterEach(() => rm(root, { recursive: true, force: true }));

async function unpack(bytes: Uint8Array, options: { readonly signatureRequired?: boolean } = {}) {
  const path = join(root, 'image');
  await writeFile(path, bytes);
  const { signatureRequired = true } = options;
  return unpackImage({ files: systemUpdateFiles, paths }, { path, keys, signatureRequired }, () => {}, never);
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
    'a negative size': {
      tamper: ({ manifest }) => Object.assign((manifest.files as object[])[0] ?? {}, { bytes: -1 }),
    },
    'a version that leads out': { tamper: ({ manifest }) => Object.assign(manifest, { release: '..' }) },
  };

  it.each(Object.keys(hostile))('is refused with %s in it, though the signature is good', async (name) => {
    const image = makeImage({ release: '2.0.0', key: signer.privateKey, ...hostile[name] });
    await expect(unpack(image.bytes)).rejects.toMatchObject({
      code: expect.stringMatching(/^firmware\/bad-(archive|manifest)$/),
    });
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
    await expect(unpack(Buffer.concat([bytes, Buffer.from('more')]))).rejects.toMatchObject({
      code: 'firmware/unsigned',
    });
  });
});

describe('the folders of releases', () => {
  it('get the rights they are made with, whatever the umask and whoever made them before', async () => {
    const before = process.umask(0o077);
    try {
      for (const path of [join(root, 'new'), paths.guard]) {
        await systemUpdateFiles.makeFolder(path, 0o700);
        await systemUpdateFiles.makeFolder(path, 0o755);
        expect((await stat(path)).mode & 0o777).toBe(0o755);
      }
    } finally {
      process.umask(before);
    }
  });

  it('go with all that is in them; nothing there is no fault', async () => {
    const folder = join(root, 'a');
    await mkdir(join(folder, 'b/c'), { recursive: true });
    await writeFile(join(folder, 'b/c/d'), '');
    await symlink(paths.guard, join(folder, 'link'));
    await systemUpdateFiles.remove(folder);
    await systemUpdateFiles.remove(folder);
    await systemUpdateFiles.remove(join(folder, 'b/c'));
    const names = await readdir(root);
    expect([names.includes('a'), (await stat(paths.guard)).isDirectory()]).toEqual([false, true]);
  });

  it('keep a link in one step, whatever was left beside it', async () => {
    const link = join(root, 'current');
    await writeFile(`${link}.tmp`, 'left');
    await systemUpdateFiles.link('releases/1', link);
    await systemUpdateFiles.link('releases/2', link);
    expect(await systemUpdateFiles.readLink(link)).toBe('releases/2');
    expect(await systemUpdateFiles.list(root)).not.toContain('current.tmp');
    expect(await systemUpdateFiles.list(join(root, 'none'))).toEqual([]);
  });
});

describe('what root reads of others', () => {
  it('is never reached through a link, and never waited for', async () => {
    await writeFile(join(root, 'secret'), 'secret');
    await symlink(join(root, 'secret'), join(root, 'image-link'));
    await expect(copyPlain(systemUpdateFiles, join(root, 'image-link'), join(root, 'copy'), 1_000)).rejects.toThrow();
    const { execFileSync } = await import('node:child_process');
    execFileSync('mkfifo', [join(root, 'pipe')]);
    await expect(copyPlain(systemUpdateFiles, join(root, 'pipe'), join(root, 'copy'), 1_000)).rejects.toThrow(
      /not a regular file/,
    );
  });

  it('is no larger than allowed, whatever it said of its size before', async () => {
    await writeFile(join(root, 'image'), Buffer.alloc(101));
    await expect(copyPlain(systemUpdateFiles, join(root, 'image'), join(root, 'copy'), 100)).rejects.toMatchObject({
      code: 'firmware/too-large',
      message: 'the image has 101 bytes, at most 100 are taken',
    });
    const growing = {
      ...systemUpdateFiles,
      openPlain: async (path: string) => {
        const file = await systemUpdateFiles.openPlain(path);
        return { ...file, size: async () => 100, read: file.read.bind(file), close: file.close.bind(file) };
      },
    };
    await expect(copyPlain(growing, join(root, 'image'), join(root, 'copy'), 100)).rejects.toMatchObject({
      code: 'firmware/too-large',
      message: 'a file grew while it was copied',
    });
    await copyPlain(systemUpdateFiles, join(root, 'image'), join(root, 'copy'), 101);
    expect(await readFile(join(root, 'copy'))).toEqual(Buffer.alloc(101));
  });

  it('is made only where as many as are going to lie there fit, with 32 MB to spare', async () => {
    await writeFile(join(root, 'image'), Buffer.alloc(100));
    const copyWith = (freeBytes: number): Promise<void> =>
      withPlain(systemUpdateFiles, join(root, 'image'), (file) =>
        copyWhereRoom({ ...systemUpdateFiles, freeBytes: async () => freeBytes }, file, join(root, 'copy'), 100, 2),
      );
    const needed = 200 + 32 * 1024 * 1024;
    await expect(copyWith(needed - 1)).rejects.toMatchObject({ code: 'firmware/no-space' });
    await copyWith(needed);
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

  it('takes keys of up to 4096 bytes, and files of no other name', async () => {
    await writeFile(join(root, 'b.pem'), signer.publicPem.padEnd(4096, '\n'));
    await writeFile(join(root, 'a.pem'), makeKeys().publicPem);
    await writeFile(join(root, 'notes.txt'), 'no key');
    expect(await trusted()).toEqual(['a.pem', 'b.pem']);
    await writeFile(join(root, 'b.pem'), signer.publicPem.padEnd(4097, '\n'));
    expect(await trusted()).toEqual(['a.pem']);
  });

  it.each([
    ['is none', async () => writeFile(join(root, 'bad.pem'), 'not a key'), 'no Ed25519 public key'],
    [
      'is private',
      async () => writeFile(join(root, 'bad.pem'), signer.privateKey.export({ format: 'pem', type: 'pkcs8' })),
      'private key',
    ],
    ['is a folder', async () => void (await mkdir(join(root, 'bad.pem'))), 'cannot read'],
  ])('passes a key over that %s, and says so: the others are trusted all the same', async (_how, lay, why) => {
    await writeFile(join(root, 'good.pem'), makeKeys().publicPem);
    await lay();
    expect(await trusted()).toEqual(['good.pem']);
    expect(said).toEqual([expect.objectContaining({ file: 'bad.pem', error: expect.stringContaining(why) })]);
  });

  const said: object[] = [];
  async function trusted(): Promise<string[]> {
    said.length = 0;
    const log = { ...silentLog, error: (fields: object) => void said.push(fields) };
    return (await readTrustedKeys({ files: systemUpdateFiles, log }, root)).map(({ name }) => name);
  }
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
