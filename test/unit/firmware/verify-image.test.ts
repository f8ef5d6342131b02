import { createHash, randomBytes } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import type { FirmwareOffer } from '../../../src/firmware/firmware-offer.ts';
import { ImageSums } from '../../../src/firmware/image-sums.ts';
import { readImageManifest } from '../../../src/firmware/release-archive.ts';
import { parseManifest } from '../../../src/firmware/release-manifest.ts';
import { SIGNATURE_FRAME_BYTES, signatureFrame } from '../../../src/firmware/release-signature.ts';
import { updateFiles } from '../../../src/firmware/update-files.ts';
import {
  expectAnnounced,
  expectFitting,
  expectSigned,
  sumsOf,
  writePayload,
} from '../../../src/firmware/verify-image.ts';
import type { OpenFile } from '../../../src/host/files.ts';
import { silentLog } from '../../../src/host/log.ts';
import { MemoryFiles } from '../../support/memory-files.ts';
import { makeImage, makeKeys } from '../../support/release-image.ts';

const never = new AbortController().signal;
const signer = makeKeys();
const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
const bytes = randomBytes(700_000);
const offer: FirmwareOffer = {
  title: 't',
  version: '1',
  checksum: sha256(bytes),
  algorithm: 'SHA256',
  fingerprint: 'f',
};
let disk: MemoryFiles;
let warnings: string[];

beforeEach(() => {
  disk = new MemoryFiles();
  disk.put('/keys/a.pem', signer.publicPem);
  warnings = [];
});

async function opened(content: Uint8Array): Promise<OpenFile> {
  disk.put('/image', content);
  return disk.open('/image', 'read');
}

function deps(requireSignature = true) {
  const warn = (_fields: object, message: string): void => void warnings.push(message);
  return { files: updateFiles(disk), log: { ...silentLog, warn }, config: { trustedKeys: '/keys', requireSignature } };
}

/** How many bytes are read of a file. */
function counted(file: OpenFile): { readonly file: OpenFile; read: number } {
  const seen = {
    read: 0,
    file: {
      ...file,
      read: async (into: Uint8Array, at: number) => {
        const got = await file.read(into, at);
        seen.read += got;
        return got;
      },
    },
  };
  return seen;
}

describe('an image', () => {
  const announced = async (changes: Partial<FirmwareOffer> = {}, signal = never) => {
    const announcement = { ...offer, ...changes };
    const sums = await sumsOf(await opened(bytes), announcement.algorithm, undefined, signal);
    expectAnnounced(sums, announcement, deps().log);
  };

  it('has the size and the sum that were announced', async () => {
    await announced({ sizeBytes: bytes.length });
    await expect(announced({}, AbortSignal.abort('enough'))).rejects.toBe('enough');
    await expect(announced({ sizeBytes: bytes.length + 1 })).rejects.toMatchObject({ code: 'firmware/wrong-size' });
    await expect(announced({ checksum: sha256(Buffer.from('x')) })).rejects.toMatchObject({
      code: 'firmware/checksum-mismatch',
    });
    expect(warnings).toEqual([]);
  });

  it('is warned of when its sum says nothing about who made it', async () => {
    await announced({ algorithm: 'MD5', checksum: createHash('md5').update(bytes).digest('hex') });
    expect(warnings).toEqual([expect.stringContaining('weak')]);
  });

  it('is signed by a trusted key, or lets pass without one where that is allowed, which is said', async () => {
    const signed = Buffer.concat([
      bytes,
      signatureFrame(createHash('sha256').update(bytes).digest(), signer.privateKey),
    ]);
    expect(await expectSigned(await opened(signed), deps())).toBe(bytes.length);
    expect(warnings).toEqual([]);
    await expect(expectSigned(await opened(bytes), deps())).rejects.toMatchObject({ code: 'firmware/unsigned' });
    expect(await expectSigned(await opened(bytes), deps(false))).toBe(bytes.length);
    expect(warnings).toEqual([expect.stringContaining('not signed by a trusted key')]);
  });

  it('is not read again for the sums of its download, but for those of another length', async () => {
    const signed = Buffer.concat([
      bytes,
      signatureFrame(createHash('sha256').update(bytes).digest(), signer.privateKey),
    ]);
    const whole = new ImageSums('SHA256');
    whole.add(signed);
    const seen = counted(await opened(signed));
    expect(await sumsOf(seen.file, 'SHA256', whole, never)).toBe(whole);
    expect(await expectSigned(seen.file, deps(), whole)).toBe(bytes.length);
    expect(seen.read).toBe(SIGNATURE_FRAME_BYTES);
    const half = new ImageSums('SHA256');
    half.add(signed.subarray(0, 1_000));
    expect((await sumsOf(seen.file, 'SHA256', half, never)).checksum()).toEqual(whole.checksum());
    expect(await expectSigned(seen.file, deps(), half)).toBe(bytes.length);
    const other = new ImageSums('SHA256');
    other.add(Buffer.from(signed).fill(0, 0, 1));
    await expect(expectSigned(seen.file, deps(), other)).rejects.toMatchObject({ code: 'firmware/bad-signature' });
  });

  it('tells its manifest before anything else is unpacked', async () => {
    const image = makeImage({ release: '2.0.0', files: { big: randomBytes(600_000) } });
    const seen = counted(await opened(image.bytes));
    expect((await readImageManifest(seen.file, image.bytes.length, never)).release).toBe('2.0.0');
    expect(seen.read).toBeLessThan(image.bytes.length);
    await expect(readImageManifest(await opened(bytes), bytes.length, never)).rejects.toMatchObject({
      code: 'firmware/bad-archive',
    });
  });

  it('fits when it holds the offered release for this machine', () => {
    const manifest = parseManifest(
      Buffer.from(makeImage({ release: '2.0.0', arch: 'arm64' }).files.get('manifest.json') ?? '').toString(),
    );
    expect(() => expectFitting(manifest, '2.0.0', 'arm64')).not.toThrow();
    expect(() => expectFitting(manifest, '2.0.1', 'arm64')).toThrow(
      expect.objectContaining({
        code: 'firmware/other-version',
        message: 'the image holds release 2.0.0, offered was 2.0.1',
      }),
    );
    expect(() => expectFitting(manifest, '2.0.0', 'x64')).toThrow(
      expect.objectContaining({
        code: 'firmware/other-machine',
        message: 'the image is for arm64, this machine is x64',
      }),
    );
  });
});

describe('the payload of a handler', () => {
  it('is the image without what follows its signed part, durable, for the group to read', async () => {
    disk.put('/image', bytes);
    disk.put('/folder/payload', Buffer.alloc(bytes.length * 2, 'old'));
    await updateFiles(disk).syncFolder('/folder');
    await writePayload(updateFiles(disk), '/image', '/folder/payload', bytes.length - 96);
    expect((await disk.facts('/folder/payload'))?.mode).toBe(0o640);
    disk.cutPower(() => false);
    expect(disk.contentOf('/folder/payload').equals(bytes.subarray(0, -96))).toBe(true);
  });

  it('leaves no file open, whether the disk takes it or not', async () => {
    disk.put('/image', bytes);
    const files = updateFiles(disk);
    let open = 0;
    const counted = (file: OpenFile): OpenFile => {
      open += 1;
      const close = async (): Promise<void> => {
        open -= 1;
      };
      return { ...file, close };
    };
    const counting = {
      ...files,
      openPlain: async (path: string) => counted(await files.openPlain(path)),
      openPart: async (path: string, mode: number) => counted(await files.openPart(path, mode)),
    };
    await writePayload(counting, '/image', '/folder/payload', bytes.length);
    disk.faults = { fail: (operation) => (operation === 'write' ? { code: 'ENOSPC' } : undefined) };
    await expect(writePayload(counting, '/image', '/folder/payload', bytes.length)).rejects.toThrow('ENOSPC');
    expect(open).toBe(0);
  });

  it('is never a part of what was verified', async () => {
    disk.put('/image', 'short');
    await expect(writePayload(updateFiles(disk), '/image', '/folder/payload', 1_000)).rejects.toMatchObject({
      code: 'firmware/wrong-size',
      message: 'the image has 5 bytes, verified were 1000',
    });
  });
});
