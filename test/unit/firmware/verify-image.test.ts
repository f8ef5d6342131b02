import { createHash, randomBytes } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import type { FirmwareOffer } from '../../../src/firmware/firmware-offer.ts';
import { ImageDigest } from '../../../src/firmware/image-digest.ts';
import { discard, ImageWriter } from '../../../src/firmware/image-writer.ts';
import { readImageManifest } from '../../../src/firmware/release-archive.ts';
import { parseManifest } from '../../../src/firmware/release-manifest.ts';
import { SIGNATURE_FRAME_BYTES, signatureFrame } from '../../../src/firmware/release-signature.ts';
import { updateFiles } from '../../../src/firmware/update-files.ts';
import { expectAnnounced, expectFitting, expectSigned, writePayload } from '../../../src/firmware/verify-image.ts';
import type { OpenFile } from '../../../src/host/files.ts';
import { silentLog } from '../../../src/host/log.ts';
import { MemoryFiles } from '../../support/memory-files.ts';
import { makeImage, makeKeys } from '../../support/release-image.ts';

const never = new AbortController().signal;
const signer = makeKeys();
const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
const bytes = randomBytes(700_000);
const offer: FirmwareOffer = { title: 't', version: '1', checksum: sha256(bytes), algorithm: 'SHA256', fingerprint: 'f' };
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
  const announced = async (changes: Partial<FirmwareOffer> = {}, digest?: ImageDigest) =>
    expectAnnounced(await opened(bytes), { ...offer, ...changes }, digest, deps(), never);

  it('has the size and the sum that were announced', async () => {
    expect((await announced({ sizeBytes: bytes.length })).bytes).toBe(bytes.length);
    await expect(announced({ sizeBytes: bytes.length + 1 })).rejects.toMatchObject({ code: 'firmware/wrong-size' });
    await expect(announced({ checksum: sha256(Buffer.from('x')) })).rejects.toMatchObject({ code: 'firmware/checksum-mismatch' });
    expect(warnings).toEqual([]);
  });

  it('is warned of when its sum says nothing about who made it', async () => {
    await announced({ algorithm: 'MD5', checksum: createHash('md5').update(bytes).digest('hex') });
    expect(warnings).toEqual([expect.stringContaining('weak')]);
  });

  it('is read once more only when the download did not add it up whole', async () => {
    const { file: stored, ...reading } = counted(await opened(bytes));
    const whole = new ImageDigest('SHA256');
    whole.update(bytes);
    expect(await expectAnnounced(stored, offer, whole, deps(), never)).toBe(whole);
    expect(reading.read).toBe(0);
    const half = new ImageDigest('SHA256');
    half.update(bytes.subarray(0, 1_000));
    expect(await expectAnnounced(stored, offer, half, deps(), never)).not.toBe(half);
  });

  it('is signed by a trusted key, or lets pass without one where that is allowed, which is said', async () => {
    const signed = Buffer.concat([bytes, signatureFrame(createHash('sha256').update(bytes).digest(), signer.privateKey)]);
    expect(await expectSigned(await opened(signed), undefined, deps())).toBe(bytes.length);
    expect(warnings).toEqual([]);
    await expect(expectSigned(await opened(bytes), undefined, deps())).rejects.toMatchObject({ code: 'firmware/unsigned' });
    expect(await expectSigned(await opened(bytes), undefined, deps(false))).toBe(bytes.length);
    expect(warnings).toEqual([expect.stringContaining('not signed by a trusted key')]);
  });

  it('is not hashed again for its signature when its sums are there', async () => {
    const signed = Buffer.concat([bytes, signatureFrame(createHash('sha256').update(bytes).digest(), signer.privateKey)]);
    const digest = new ImageDigest('SHA256');
    digest.update(signed);
    const seen = counted(await opened(signed));
    await expectSigned(seen.file, digest, deps());
    expect(seen.read).toBe(SIGNATURE_FRAME_BYTES);
    const other = new ImageDigest('SHA256');
    other.update(bytes);
    await expect(expectSigned(seen.file, other, deps())).rejects.toMatchObject({ code: 'firmware/bad-signature' });
  });

  it('tells its manifest before anything else is unpacked', async () => {
    const image = makeImage({ release: '2.0.0', files: { big: randomBytes(600_000) } });
    const seen = counted(await opened(image.bytes));
    expect((await readImageManifest(seen.file, image.bytes.length, never)).release).toBe('2.0.0');
    expect(seen.read).toBeLessThan(image.bytes.length);
    await expect(readImageManifest(await opened(bytes), bytes.length, never)).rejects.toMatchObject({ code: 'firmware/bad-archive' });
  });

  it('fits when it holds the offered release for this machine', () => {
    const manifest = parseManifest(Buffer.from(makeImage({ release: '2.0.0', arch: 'arm64' }).files.get('manifest.json') ?? '').toString());
    expect(() => expectFitting(manifest, '2.0.0', 'arm64')).not.toThrow();
    expect(() => expectFitting(manifest, '2.0.1', 'arm64')).toThrow(
      expect.objectContaining({ code: 'firmware/other-version', message: 'the image holds release 2.0.0, offered was 2.0.1' }),
    );
    expect(() => expectFitting(manifest, '2.0.0', 'x64')).toThrow(
      expect.objectContaining({ code: 'firmware/other-machine', message: 'the image is for arm64, this machine is x64' }),
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

describe('the sums of an image', () => {
  it('leave out the frame at its end, in whatever pieces it comes', () => {
    for (const step of [1, 7, 95, 96, 97, 1_000]) {
      const digest = new ImageDigest('MD5');
      const content = bytes.subarray(0, 2_000);
      for (let at = 0; at < content.length; at += step) digest.update(content.subarray(at, at + step));
      expect(digest.bytes).toBe(2_000);
      expect(digest.signedSha256().toString('hex'), String(step)).toBe(sha256(content.subarray(0, -SIGNATURE_FRAME_BYTES)));
      expect(() => digest.expectChecksum(createHash('md5').update(content).digest('hex'))).not.toThrow();
    }
  });

  it('of fewer bytes than a frame has are those of nothing, and the checksum counts them all', () => {
    const digest = new ImageDigest('SHA256');
    digest.update(bytes.subarray(0, 50));
    expect(digest.signedSha256().toString('hex')).toBe(sha256(Buffer.alloc(0)));
    expect(() => digest.expectChecksum(sha256(bytes.subarray(0, 50)))).not.toThrow();
    expect(() => digest.expectChecksum(sha256(bytes.subarray(0, 49)))).toThrow(
      expect.objectContaining({ code: 'firmware/checksum-mismatch' }),
    );
  });

  it('catch up from the disk, no further than asked, and end with the file or the signal', async () => {
    const file = await opened(bytes);
    const digest = new ImageDigest('SHA256');
    await digest.catchUp(file, 1_000, never);
    expect(digest.bytes).toBe(1_000);
    await digest.catchUp(file, bytes.length + 5, never);
    expect(digest.bytes).toBe(bytes.length);
    expect(() => digest.expectChecksum(sha256(bytes))).not.toThrow();
    await expect(new ImageDigest('SHA256').catchUp(file, 1, AbortSignal.abort('enough'))).rejects.toBe('enough');
  });
});

describe('writing an image', () => {
  async function* pieces(...parts: Uint8Array[]): AsyncGenerator<Uint8Array> {
    yield* parts;
  }
  const open = async (): Promise<{ writer: ImageWriter; part: OpenFile }> => {
    const part = await disk.open('/part', 'keep');
    return { part, writer: new ImageWriter(part, 'SHA256') };
  };
  const anything = { at: 0, allow: () => {}, taken: async () => {} };
  const [a, b] = [Buffer.from('first '), Buffer.from('second')];

  it('puts pieces one behind the other, says so, and adds them up', async () => {
    const { writer } = await open();
    const allowed: number[] = [];
    const taken: number[][] = [];
    const pour = {
      at: 0,
      allow: (received: number) => void allowed.push(received),
      taken: async (...received: number[]) => void taken.push(received),
    };
    expect(await writer.pour(pieces(a, b), pour, never)).toBe(12);
    expect([allowed, taken]).toEqual([
      [6, 12],
      [
        [6, 6],
        [6, 12],
      ],
    ]);
    const digest = await writer.finish(12, never);
    expect(() => digest.expectChecksum(sha256(Buffer.from('first second')))).not.toThrow();
    await disk.syncFolder('/');
    disk.cutPower(() => false);
    expect(disk.contentOf('/part').toString()).toBe('first second');
  });

  it('does not write what is not allowed', async () => {
    const { writer } = await open();
    const allow = (received: number): void => {
      if (received > 6) throw new Error('too much');
    };
    await expect(writer.pour(pieces(a, b), { ...anything, allow }, never)).rejects.toThrow('too much');
    expect(disk.contentOf('/part').toString()).toBe('first ');
  });

  it('rejects with what the disk said, once the write under way has ended', async () => {
    const { writer } = await open();
    disk.faults = { fail: (operation) => (operation === 'write' ? { code: 'ENOSPC' } : undefined) };
    await expect(writer.pour(pieces(a), anything, never)).rejects.toThrow('ENOSPC');
    await expect(writer.pour(pieces(a, b), anything, AbortSignal.abort('enough'))).rejects.toBe('enough');
  });

  it('catches up on what it did not see, or saw twice', async () => {
    const { writer, part } = await open();
    await part.write(Buffer.from('before '), 0);
    await writer.pour(pieces(a, b), { ...anything, at: 7 }, never);
    (await writer.finish(19, never)).expectChecksum(sha256(Buffer.from('before first second')));
    await writer.cut(7);
    await writer.pour(pieces(b), { ...anything, at: 7 }, never);
    (await writer.finish(13, never)).expectChecksum(sha256(Buffer.from('before second')));
    expect(disk.contentOf('/part').toString()).toBe('before second');
  });

  it('keeps its sums when nothing that they count is cut off', async () => {
    const { writer, part } = await open();
    await writer.pour(pieces(a), anything, never);
    await part.write(b, 6);
    await writer.cut(6);
    const seen = counted(part);
    expect((await writer.finish(6, never)).bytes).toBe(6);
    expect(seen.read).toBe(0);
  });

  it('makes what is there durable when asked', async () => {
    const { writer } = await open();
    await disk.syncFolder('/');
    await writer.pour(pieces(a), anything, never);
    await writer.sync();
    disk.cutPower(() => false);
    expect(disk.contentOf('/part').toString()).toBe('first ');
  });

  it('ends an answer that nobody wants, whole or broken', async () => {
    let ended = 0;
    async function* answer(fails: boolean): AsyncGenerator<Uint8Array> {
      try {
        if (fails) throw new Error('cut');
        yield a;
        yield b;
      } finally {
        ended += 1;
      }
    }
    for (const fails of [true, false]) await discard({ stream: answer(fails) });
    expect(ended).toBe(2);
  });
});
