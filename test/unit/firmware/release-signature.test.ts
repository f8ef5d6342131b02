import { createHash, generateKeyPairSync, randomBytes } from 'node:crypto';
import { zstdCompressSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import {
  parseTrustedKey,
  SIGNATURE_FRAME_BYTES,
  signatureFrame,
  verifySignature,
} from '../../../src/firmware/release-signature.ts';
import type { OpenFile } from '../../../src/host/files.ts';
import { MemoryFiles } from '../../support/memory-files.ts';
import { makeKeys } from '../../support/release-image.ts';

const signer = makeKeys();
const keys = [parseTrustedKey(makeKeys().publicPem, 'other.pem'), parseTrustedKey(signer.publicPem, 'release.pem')];
/** More than is read at once. */
const archive = zstdCompressSync(randomBytes(150_000));
const digest = createHash('sha256').update(archive).digest();
const frame = signatureFrame(digest, signer.privateKey);
const signed = Buffer.concat([archive, frame]);

async function opened(bytes: Uint8Array): Promise<OpenFile> {
  const disk = new MemoryFiles();
  disk.put('/image', bytes);
  return disk.open('/image', 'read');
}

const verified = async (bytes: Uint8Array, options: Partial<Parameters<typeof verifySignature>[1]> = {}) =>
  verifySignature(await opened(bytes), { keys, required: true, ...options });

describe('a signature', () => {
  it('is a skippable zstd frame, as written down for other programs', () => {
    expect(archive.length).toBeGreaterThan(64 * 1024);
    expect(frame.length).toBe(SIGNATURE_FRAME_BYTES);
    expect(frame.subarray(0, 8).toString('hex')).toBe('502a4d1858000000');
    expect(frame.subarray(8, 24).toString()).toBe('turnstone-sig-1\n');
    const raw = Buffer.from(signer.publicPem.split('\n')[1] ?? '', 'base64').subarray(12);
    expect(frame.subarray(24, 32)).toEqual(createHash('sha256').update(raw).digest().subarray(0, 8));
  });

  it('of a trusted key passes, and names the key', async () => {
    expect(await verified(signed)).toEqual({ archiveBytes: archive.length, signedBy: 'release.pem' });
  });

  it.each([0, 100_000, archive.length - 1])('does not fit when byte %i of the release is another', async (at) => {
    const changed = Buffer.from(signed);
    changed.writeUInt8(changed.readUInt8(at) ^ 1, at);
    await expect(verified(changed)).rejects.toMatchObject({ code: 'firmware/bad-signature', recovery: 'drop' });
    await expect(verified(changed, { required: false })).rejects.toMatchObject({ code: 'firmware/bad-signature' });
  });

  it.each([
    ['magic', 0],
    ['length', 4],
    ['label', 8],
  ])('is none when its %s is another', async (_part, at) => {
    const changed = Buffer.from(signed);
    changed.writeUInt8(changed.readUInt8(archive.length + at) ^ 1, archive.length + at);
    await expect(verified(changed)).rejects.toMatchObject({ code: 'firmware/unsigned' });
  });

  it('may be missing only where none is required', async () => {
    await expect(verified(archive)).rejects.toMatchObject({ code: 'firmware/unsigned' });
    expect(await verified(archive, { required: false })).toEqual({ archiveBytes: archive.length });
    expect(await verified(Buffer.alloc(5), { required: false })).toEqual({ archiveBytes: 5 });
    await expect(verified(Buffer.alloc(SIGNATURE_FRAME_BYTES - 1))).rejects.toMatchObject({
      code: 'firmware/unsigned',
    });
    expect(
      await verified(
        Buffer.concat([frame.subarray(0, 0), signatureFrame(createHash('sha256').digest(), signer.privateKey)]),
      ),
    ).toEqual({
      archiveBytes: 0,
      signedBy: 'release.pem',
    });
  });

  it('of a key that nobody trusts is refused by the name of the key, and passes as none where none is required', async () => {
    await expect(verified(signed, { keys: keys.slice(0, 1) })).rejects.toMatchObject({
      code: 'firmware/unknown-key',
      message: expect.stringContaining(`key ${frame.subarray(24, 32).toString('hex')}, which is not trusted`),
    });
    expect(await verified(signed, { keys: [], required: false })).toEqual({ archiveBytes: archive.length });
  });

  it('is refused of a file that becomes shorter meanwhile, or hides its end', async () => {
    const file = await opened(signed);
    const shrinking: OpenFile = {
      ...file,
      read: (into, at) => (at > 0 && at < archive.length ? Promise.resolve(0) : file.read(into, at)),
    };
    await expect(verifySignature(shrinking, { keys, required: true })).rejects.toMatchObject({
      code: 'firmware/bad-signature',
      message: expect.stringContaining('shorter'),
    });
    const halfFrame: OpenFile = {
      ...file,
      read: async (into, at) => (await file.read(into, at)) - (at === archive.length ? 1 : 0),
    };
    await expect(verifySignature(halfFrame, { keys, required: true })).rejects.toMatchObject({
      code: 'firmware/unsigned',
    });
  });
});

describe('a trusted key', () => {
  it('is an Ed25519 public key in PEM, and anything else is named', () => {
    const { publicKey } = generateKeyPairSync('x25519');
    for (const pem of [publicKey.export({ format: 'pem', type: 'spki' }) as string, 'no key', '']) {
      expect(() => parseTrustedKey(pem, 'b.pem')).toThrow(
        expect.objectContaining({
          code: 'firmware/bad-trusted-key',
          recovery: 'stop',
          message: expect.stringContaining('trusted-keys/b.pem'),
        }),
      );
    }
  });
});
