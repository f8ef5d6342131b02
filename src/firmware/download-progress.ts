/**
 * The part of a download on disk, and how much of it may be trusted after a restart. Within one boot every byte that was written is still
 * there, so whole chunks are counted by the part file's length; after a power cut only what was synced counts.
 */
import { fieldsOf, sealJson } from '../store/sealed-json.ts';
import type { UpdateFiles } from './update-files.ts';

export interface DownloadProgress {
  readonly fingerprint: string;
  /** `whole`: the server has no chunks; after a cut the download begins again, unless there is a `validator`. */
  readonly mode: 'chunks' | 'whole';
  /** The server's ETag, when it can send the rest of a whole file. */
  readonly validator?: string;
  readonly chunkBytes: number;
  /** Bytes that a sync has made durable. */
  readonly syncedBytes: number;
  readonly bootId: string;
  /** Time spent by the runs before. */
  readonly elapsedMs: number;
}

const FORMAT = { format: 'turnstone-download', version: 1 };

/** The progress of this very offer with this chunk size; undefined when there is none, or none that can be read. */
export async function readProgress(
  files: UpdateFiles,
  path: string,
  expected: Pick<DownloadProgress, 'fingerprint' | 'chunkBytes'>,
): Promise<DownloadProgress | undefined> {
  try {
    const text = (await files.read(path))?.toString('utf8') ?? '';
    const { fingerprint, mode, validator, chunkBytes, syncedBytes, bootId, elapsedMs } = fieldsOf(text, FORMAT);
    if (fingerprint !== expected.fingerprint || chunkBytes !== expected.chunkBytes) return undefined;
    if ((mode !== 'chunks' && mode !== 'whole') || typeof bootId !== 'string') return undefined;
    if (typeof syncedBytes !== 'number' || typeof elapsedMs !== 'number') return undefined;
    return {
      fingerprint,
      mode,
      chunkBytes,
      syncedBytes,
      bootId,
      elapsedMs,
      ...(typeof validator === 'string' ? { validator } : {}),
    };
  } catch {
    return undefined;
  }
}

export async function writeProgress(files: UpdateFiles, path: string, progress: DownloadProgress): Promise<void> {
  await files.write(path, sealJson({ ...FORMAT, ...progress }), 0o600);
}

/** How many bytes of the part file can be kept: whole chunks, or the beginning of a file of which the rest can be asked for. */
export function keptBytes(progress: DownloadProgress, partBytes: number, bootId: string): number {
  if (progress.mode === 'whole' && progress.validator === undefined) return 0;
  const trusted = progress.bootId === bootId ? partBytes : Math.min(progress.syncedBytes, partBytes);
  return progress.mode === 'whole' ? trusted : trusted - (trusted % progress.chunkBytes);
}
