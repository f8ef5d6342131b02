/**
 * The signature of a release file and the keys that are trusted to make one. It lies behind the compressed archive as a zstd
 * skippable frame (RFC 8878, section 3.1.2), so that every byte is verified before any is decompressed, and `zstd -d` still works:
 *
 *   │ zstd frame: the archive … │ 50 2A 4D 18 │ length │ "turnstone-sig-1\n" │ key id, 8 bytes │ Ed25519 signature, 64 bytes │
 *
 * The signed message is a label and the SHA-256 of all bytes before the frame; Ed25519 itself would want the whole file in memory.
 */
import { createHash, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import { AgentError, refusal } from '../errors/agent-error.ts';
import type { OpenFile } from '../host/files.ts';
import { sha256Of } from './file-pieces.ts';
import type { ImageSums } from './image-sums.ts';

const SKIPPABLE_MAGIC = 0x184d2a50;
const LABEL = Buffer.from('turnstone-sig-1\n');
const KEY_ID_BYTES = 8;
const SIGNATURE_BYTES = 64;
const PAYLOAD_BYTES = LABEL.length + KEY_ID_BYTES + SIGNATURE_BYTES;
export const SIGNATURE_FRAME_BYTES = 8 + PAYLOAD_BYTES;

export interface TrustedKey {
  readonly name: string;
  readonly key: KeyObject;
  /** First bytes of the SHA-256 of the raw key; a hint that finds the key, never a proof. */
  readonly id: Buffer;
}

/**
 * A key of /etc/turnstone/trusted-keys: an Ed25519 public key in PEM, as `openssl pkey -pubout` writes it.
 * @throws AgentError `firmware/bad-trusted-key` (stop) that names the file.
 */
export function parseTrustedKey(pem: string, name: string): TrustedKey {
  // Node would make a public key of it. Whoever can read it here can sign what this device installs.
  if (pem.includes('PRIVATE KEY'))
    throw badKey(`trusted-keys/${name} holds a private key; trusted are public keys only`);
  try {
    const key = createPublicKey(pem);
    if (key.asymmetricKeyType !== 'ed25519') throw new Error(`a key of type ${key.asymmetricKeyType}`);
    return { name, key, id: keyId(key) };
  } catch (cause) {
    throw badKey(`trusted-keys/${name} is no Ed25519 public key in PEM`, cause);
  }
}

/** The frame to be put behind an archive whose SHA-256 is given. */
export function signatureFrame(archiveSha256: Uint8Array, privateKey: KeyObject): Buffer {
  const frame = Buffer.alloc(8);
  frame.writeUInt32LE(SKIPPABLE_MAGIC, 0);
  frame.writeUInt32LE(PAYLOAD_BYTES, 4);
  const id = keyId(createPublicKey(privateKey));
  return Buffer.concat([frame, LABEL, id, sign(null, signedMessage(archiveSha256), privateKey)]);
}

export interface VerifiedSignature {
  /** Where the archive ends and the frame begins. */
  readonly archiveBytes: number;
  /** Name of the key; undefined for a file without a signature. */
  readonly signedBy?: string;
}

/**
 * Verifies a release file from its first byte to its last, in pieces. Without `required` a file with no signature passes; a wrong one never does.
 * @throws AgentError `firmware/unsigned`, `firmware/unknown-key` or `firmware/bad-signature` (drop).
 */
export async function verifySignature(
  file: OpenFile,
  options: {
    readonly keys: readonly TrustedKey[];
    readonly required: boolean;
    /** Sums of the file, when it was added up already; not believed when the file has another length by now. */
    readonly sums?: ImageSums | undefined;
  },
): Promise<VerifiedSignature> {
  const size = await file.size();
  const frame = await readFrame(file, size);
  if (frame === undefined) {
    if (options.required) throw refusal('firmware/unsigned', 'the release is not signed');
    return { archiveBytes: size };
  }
  const archiveBytes = size - SIGNATURE_FRAME_BYTES;
  const trusted = options.keys.find((key) => key.id.equals(frame.keyId));
  if (trusted === undefined) {
    if (!options.required) return { archiveBytes };
    throw refusal(
      'firmware/unknown-key',
      `the release is signed by key ${frame.keyId.toString('hex')}, which is not trusted`,
    );
  }
  const { sums } = options;
  const digest = sums?.bytes === size ? sums.signedSha256() : await digestOf(file, archiveBytes);
  if (!verify(null, signedMessage(digest), trusted.key, frame.signature))
    throw refusal('firmware/bad-signature', 'the signature does not fit the release');
  return { archiveBytes, signedBy: trusted.name };
}

async function readFrame(file: OpenFile, size: number): Promise<{ keyId: Buffer; signature: Buffer } | undefined> {
  if (size < SIGNATURE_FRAME_BYTES) return undefined;
  const frame = Buffer.alloc(SIGNATURE_FRAME_BYTES);
  const bytesRead = await file.read(frame, size - frame.length);
  const labelled = frame.subarray(8, 8 + LABEL.length).equals(LABEL);
  if (
    bytesRead < frame.length ||
    frame.readUInt32LE(0) !== SKIPPABLE_MAGIC ||
    frame.readUInt32LE(4) !== PAYLOAD_BYTES ||
    !labelled
  )
    return undefined;
  const keyIdAt = 8 + LABEL.length;
  return { keyId: frame.subarray(keyIdAt, keyIdAt + KEY_ID_BYTES), signature: frame.subarray(keyIdAt + KEY_ID_BYTES) };
}

async function digestOf(file: OpenFile, archiveBytes: number): Promise<Buffer> {
  const { sha256, bytes } = await sha256Of(file, archiveBytes);
  if (bytes < archiveBytes) throw refusal('firmware/bad-signature', 'the release became shorter while it was verified');
  return sha256;
}

function signedMessage(archiveSha256: Uint8Array): Buffer {
  return Buffer.concat([LABEL, archiveSha256]);
}

/** Over the 32 raw bytes, which end the key's DER form (RFC 8410, section 4). */
function keyId(key: KeyObject): Buffer {
  const raw = key.export({ format: 'der', type: 'spki' }).subarray(-32);
  return createHash('sha256').update(raw).digest().subarray(0, KEY_ID_BYTES);
}

function badKey(message: string, cause?: unknown): AgentError {
  return new AgentError('firmware/bad-trusted-key', message, { recovery: 'stop', cause });
}
