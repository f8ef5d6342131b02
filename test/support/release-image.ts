/** Small releases for tests: the archive is the real one, its files are a few bytes. */
import { createHash, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { constants, zstdCompressSync } from 'node:zlib';
import { ARCHIVE_END, archiveEntry } from '../../src/firmware/release-archive.ts';
import { signatureFrame } from '../../src/firmware/release-signature.ts';

export interface ReleaseSpec {
  readonly release: string;
  readonly arch?: string;
  readonly stateFormats?: Readonly<Record<string, readonly number[]>>;
  /** By path; the program `turnstone` is always there. */
  readonly files?: Readonly<Record<string, string | Uint8Array>>;
  /** Signs; without it the image is not signed. */
  readonly key?: KeyObject;
  /** Changes the manifest's JSON or the list of entries before they are packed. */
  readonly tamper?: (parts: TamperedParts) => void;
}

export interface TamperedParts {
  manifest: Record<string, unknown>;
  /** Path and content in the archive's order, without the manifest. */
  entries: { path: string; content: Uint8Array; header?: (header: Buffer) => void }[];
}

export interface ReleaseImage {
  readonly bytes: Buffer;
  readonly sha256: string;
  /** As they would lie unpacked. */
  readonly files: ReadonlyMap<string, Uint8Array>;
}

export function makeKeys(): { readonly privateKey: KeyObject; readonly publicPem: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  return { privateKey, publicPem: publicKey.export({ format: 'pem', type: 'spki' }) as string };
}

export function makeImage(spec: ReleaseSpec): ReleaseImage {
  const files = {
    node: 'a runtime',
    turnstone: `#!/bin/sh\necho ${spec.release}\n`,
    'native/turnstone.node': 'an addon',
    ...spec.files,
  };
  const entries = Object.entries(files)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([path, content]) => ({ path, content: Buffer.from(content) as Uint8Array }));
  const manifest: Record<string, unknown> = {
    format: 'turnstone-release',
    version: 1,
    release: spec.release,
    arch: spec.arch ?? process.arch,
    node: '24.21.0',
    stateFormats: spec.stateFormats ?? { outbox: [1] },
    files: entries.map(({ path, content }) => ({
      path,
      bytes: content.length,
      sha256: sha256(content),
      executable: isExecutable(path),
    })),
  };
  const parts: TamperedParts = { manifest, entries };
  spec.tamper?.(parts);
  const text = Buffer.from(JSON.stringify(parts.manifest));
  const pieces = [...archiveEntry('manifest.json', text, false)];
  for (const { path, content, header } of parts.entries) {
    const entry = [...archiveEntry(path, content, isExecutable(path))].map((piece) => Buffer.from(piece));
    if (header !== undefined && entry[0] !== undefined) header(entry[0]);
    pieces.push(...entry);
  }
  const params = { [constants.ZSTD_c_checksumFlag]: 1 };
  const archive = zstdCompressSync(Buffer.concat([...pieces, ARCHIVE_END]), { params });
  const digest = createHash('sha256').update(archive).digest();
  const bytes = spec.key === undefined ? archive : Buffer.concat([archive, signatureFrame(digest, spec.key)]);
  const unpacked = new Map<string, Uint8Array>([
    ['manifest.json', text],
    ...parts.entries.map(({ path, content }) => [path, content] as const),
  ]);
  return { bytes, sha256: sha256(bytes), files: unpacked };
}

function isExecutable(path: string): boolean {
  return path === 'node' || path === 'turnstone';
}

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
