/** The sums of an image that comes in pieces. */
import { createHash, randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { ImageSums } from '../../../src/firmware/image-sums.ts';
import { SIGNATURE_FRAME_BYTES } from '../../../src/firmware/release-signature.ts';
import { MemoryFiles } from '../../support/memory-files.ts';

const never = new AbortController().signal;
const content = randomBytes(2_000);
const sumOf = (algorithm: string, bytes: Uint8Array): Buffer => createHash(algorithm).update(bytes).digest();

it.each([1, 7, 95, 96, 97, 1_000, 2_000])(
  'leave out the frame at its end, which comes in pieces of %d bytes',
  (step) => {
    const sums = new ImageSums('MD5');
    for (let at = 0; at < content.length; at += step) sums.add(content.subarray(at, at + step));
    expect(sums.bytes).toBe(content.length);
    expect(sums.signedSha256()).toEqual(sumOf('sha256', content.subarray(0, -SIGNATURE_FRAME_BYTES)));
    expect(sums.checksum()).toEqual(sumOf('md5', content));
  },
);

it('count every byte of an image that is shorter than a frame', () => {
  const sums = new ImageSums('SHA256');
  sums.add(content.subarray(0, 50));
  expect(sums.signedSha256()).toEqual(sumOf('sha256', new Uint8Array()));
  expect(sums.checksum()).toEqual(sumOf('sha256', content.subarray(0, 50)));
});

it('catch up from the disk, no further than asked, and end with the file or the signal', async () => {
  const disk = new MemoryFiles();
  disk.put('/image', content);
  const file = await disk.open('/image', 'read');
  const sums = new ImageSums('SHA256');
  await sums.catchUp(file, 1_000, never);
  expect(sums.bytes).toBe(1_000);
  await sums.catchUp(file, content.length + 5, never);
  expect(sums.checksum()).toEqual(sumOf('sha256', content));
  await expect(new ImageSums('SHA256').catchUp(file, 1, AbortSignal.abort('enough'))).rejects.toBe('enough');
});
