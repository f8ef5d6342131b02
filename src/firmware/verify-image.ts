/** Everything that is known about an image before anybody acts on it: size, checksum, signature, and for a release its manifest. */

import type { FirmwareConfig } from '../config/schema/agent-config.ts';
import { refusal } from '../errors/agent-error.ts';
import type { OpenFile } from '../host/files.ts';
import { type ChecksumAlgorithm, expectSum, isWeak } from './checksum.ts';
import { copyPieces, withPlain } from './file-pieces.ts';
import type { FirmwareOffer } from './firmware-offer.ts';
import { ImageSums } from './image-sums.ts';
import { readTrustedKeys } from './release-folder.ts';
import type { ReleaseManifest } from './release-manifest.ts';
import { verifySignature } from './release-signature.ts';
import type { UpdateFiles } from './update-files.ts';
import type { UpdaterDeps } from './updater-deps.ts';

export interface VerifyDeps extends Pick<UpdaterDeps, 'files' | 'log'> {
  readonly config: Pick<FirmwareConfig, 'trustedKeys' | 'requireSignature'>;
}

/** Returns the sums of a whole image: those of its download where they count as many bytes as the file has, else of what is read. */
export async function sumsOf(
  file: OpenFile,
  algorithm: ChecksumAlgorithm,
  downloaded: ImageSums | undefined,
  signal: AbortSignal,
): Promise<ImageSums> {
  const size = await file.size();
  if (downloaded?.bytes === size) return downloaded;
  const sums = new ImageSums(algorithm);
  await sums.catchUp(file, size, signal);
  return sums;
}

/** Verifies size and checksum, as far as the offer names them. @throws AgentError `firmware/wrong-size`, `firmware/checksum-mismatch` (drop). */
export function expectAnnounced(sums: ImageSums, offer: FirmwareOffer, log: VerifyDeps['log']): void {
  if (offer.sizeBytes !== undefined && sums.bytes !== offer.sizeBytes)
    throw refusal('firmware/wrong-size', `the image has ${sums.bytes} bytes, announced were ${offer.sizeBytes}`);
  if (offer.checksum === undefined) return;
  expectSum(offer.algorithm, sums.checksum(), offer.checksum);
  if (isWeak(offer.algorithm))
    log.warn({ algorithm: offer.algorithm }, 'the checksum of this image is weak: it finds accidents, not intent');
}

/**
 * Verifies the signature, of the file's own bytes without `sums`; resolves with the length of what is signed.
 * @throws AgentError `firmware/unsigned`, `firmware/unknown-key`, `firmware/bad-signature` (drop).
 */
export async function expectSigned(file: OpenFile, deps: VerifyDeps, sums?: ImageSums): Promise<number> {
  const keys = await readTrustedKeys(deps, deps.config.trustedKeys);
  const { archiveBytes, signedBy } = await verifySignature(file, {
    keys,
    required: deps.config.requireSignature,
    sums,
  });
  if (signedBy === undefined)
    deps.log.warn({}, 'this image is not signed by a trusted key; signatures are switched off');
  else deps.log.info({ signedBy }, 'the signature is good');
  return archiveBytes;
}

/** Checks that a release is the offered one and for this machine. @throws AgentError `firmware/other-version`, `firmware/other-machine` (drop). */
export function expectFitting(manifest: ReleaseManifest, version: string, arch: string): void {
  if (manifest.release !== version)
    throw refusal('firmware/other-version', `the image holds release ${manifest.release}, offered was ${version}`);
  if (manifest.arch !== arch)
    throw refusal('firmware/other-machine', `the image is for ${manifest.arch}, this machine is ${arch}`);
}

/**
 * Copies the signed part of an image to where a handler finds it, without the signature's frame behind it.
 * @throws AgentError `firmware/wrong-size` (drop) when there is less of it by now.
 */
export async function writePayload(files: UpdateFiles, image: string, payload: string, bytes: number): Promise<void> {
  await withPlain(files, image, async (source) => {
    const target = await files.openPart(payload, 0o640);
    const copied = await copyPieces(source, target, bytes).finally(() => target.close());
    if (copied < bytes) throw refusal('firmware/wrong-size', `the image has ${copied} bytes, verified were ${bytes}`);
  });
}
