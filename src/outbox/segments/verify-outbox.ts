/** Reads every block of an outbox's segments and says what is whole. Changes nothing, and needs no agent to stand still. */
import { messageOf } from '../../errors/agent-error.ts';
import { readWhole } from '../../host/whole-file.ts';
import { parseSegmentName, readSegmentHeader, scanSegment } from '../format/segment-file.ts';
import { MAX_FILE_BYTES, SET_ASIDE } from './outbox-folder.ts';
import type { OutboxPlace } from './outbox-place.ts';

type PlaceToRead = Pick<OutboxPlace, 'files' | 'folder'>;

export interface SegmentVerdict {
  readonly name: string;
  readonly bytes: number;
  readonly blocks: number;
  readonly entries: number;
  /** In words; absent when all of it is whole. */
  readonly damage?: string;
}

export interface OutboxVerdict {
  readonly segments: readonly SegmentVerdict[];
  readonly entries: number;
  /** Files that an earlier start could not understand. */
  readonly setAside: readonly string[];
  readonly isWhole: boolean;
}

export async function verifyOutbox(
  { files, folder }: PlaceToRead,
  onProgress: (done: number, total: number) => void,
  signal: AbortSignal,
): Promise<OutboxVerdict> {
  const names = (await files.list(folder)).filter((name) => parseSegmentName(name) !== undefined).sort();
  const segments: SegmentVerdict[] = [];
  for (const [index, name] of names.entries()) {
    signal.throwIfAborted();
    onProgress(index, names.length);
    const verdict = await readVerdict({ files, folder }, name, index === names.length - 1);
    if (verdict !== undefined) segments.push(verdict);
  }
  const setAside = await files.list(`${folder}/${SET_ASIDE}`).catch(() => []);
  return {
    segments,
    entries: segments.reduce((sum, { entries }) => sum + entries, 0),
    setAside,
    isWhole: segments.every(({ damage }) => damage === undefined) && setAside.length === 0,
  };
}

/** The folder is the service's own, and root reads here: what is no file of ours is named, and not read. Undefined for one that was delivered meanwhile. */
async function readVerdict(
  { files, folder }: PlaceToRead,
  name: string,
  isNewest: boolean,
): Promise<SegmentVerdict | undefined> {
  try {
    const bytes = await readWhole(files, `${folder}/${name}`, { limitBytes: MAX_FILE_BYTES });
    if (bytes === undefined) return undefined;
    const header = readSegmentHeader(bytes);
    const { blocks, damaged, cleanTail, end } = scanSegment(bytes);
    const faults = [
      ...(header.kind === 'ours' ? [] : [`its header is ${header.kind}`]),
      ...damaged.map(([from, to]) => `${to - from} bytes at ${from} are no block`),
      // The end of the newest may be in the middle of a commit.
      ...(cleanTail || isNewest ? [] : [`${bytes.length - end} bytes at its end are no block`]),
    ];
    const entries = blocks.reduce((sum, { count }) => sum + count, 0);
    return {
      name,
      bytes: bytes.length,
      blocks: blocks.length,
      entries,
      ...(faults.length === 0 ? {} : { damage: faults.join(', ') }),
    };
  } catch (error) {
    return { name, bytes: 0, blocks: 0, entries: 0, damage: messageOf(error) };
  }
}
