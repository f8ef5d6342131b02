/**
 * Reads what each kind of file was given from the lines of strace (`-f -ttt -y`), which name the file of a descriptor:
 *
 *   812 1795947901.625336 pwrite64(26</mnt/state/link.json.tmp>, ""..., 385, 0) = 385
 *
 * A page that is written twice before its sync reaches the disk once, so pages count from sync to sync. Where a file is not synced, the kernel writes
 * its pages after half a minute. Segments are opened with O_DSYNC: each write of theirs is synced.
 */

export interface Written {
  readonly kind: string;
  /** In pages of 4 KiB that reached the disk. */
  readonly mbPerDay: number;
  readonly syncs: number;
}

interface Span {
  /** Files outside of it are left out. */
  readonly folder: string;
  /** UTC epoch ms. */
  readonly fromMs: number;
  readonly untilMs: number;
  /** The time by which a day is reckoned. */
  readonly countedMs: number;
}

interface FileWrites {
  pages: number;
  syncs: number;
  readonly pending: Map<number, number>;
}

const PAGE_BYTES = 4096;
const DAY_MS = 86_400_000;
/** `vm.dirty_expire_centisecs`, as kernels have it. */
const EXPIRES_MS = 30_000;
const LINE = /^\d+ +(\d+\.\d+) (\w+)\(\d+<([^>]*)>(?:.*?, (\d+)(?:, (\d+))?)?/;

/** Returns the kinds that were written, the largest first. */
export function writtenByKind(trace: string, { folder, fromMs, untilMs, countedMs }: Span): readonly Written[] {
  const files = new Map<string, FileWrites>();
  for (const line of trace.split('\n')) {
    const [, seconds, call = '', path = '', length, offset] = LINE.exec(line) ?? [];
    const atMs = Number(seconds) * 1000;
    if (!path.startsWith(folder) || !(atMs >= fromMs && atMs <= untilMs)) continue;
    const file = files.get(path) ?? { pages: 0, syncs: 0, pending: new Map<number, number>() };
    files.set(path, file);
    const isSync = call.includes('sync');
    if (!isSync) note(file, { atMs, from: Number(offset ?? 0), bytes: Number(length ?? 0) });
    if (!isSync && !path.endsWith('.seg')) continue;
    file.syncs += 1;
    file.pages += file.pending.size;
    file.pending.clear();
  }
  const kinds = Map.groupBy(files, ([path]) => kindOf(path.slice(folder.length + 1)));
  const perDay = (PAGE_BYTES * DAY_MS) / countedMs / 1e6;
  return [...kinds]
    .map(([kind, ofKind]) => ({
      kind,
      mbPerDay: ofKind.reduce((sum, [, { pages, pending }]) => sum + pages + pending.size, 0) * perDay,
      syncs: ofKind.reduce((sum, [, { syncs }]) => sum + syncs, 0),
    }))
    .sort((a, b) => b.mbPerDay - a.mbPerDay || b.syncs - a.syncs);
}

function note(file: FileWrites, write: { readonly atMs: number; readonly from: number; readonly bytes: number }): void {
  const { atMs, from, bytes } = write;
  for (let page = Math.floor(from / PAGE_BYTES); page * PAGE_BYTES < from + bytes; page += 1) {
    const sinceMs = file.pending.get(page);
    if (sinceMs !== undefined && atMs - sinceMs < EXPIRES_MS) continue;
    if (sinceMs !== undefined) file.pages += 1;
    file.pending.set(page, atMs);
  }
}

/** `outbox/0000000000000001-0.seg` is `outbox/*.seg`; a file that replaces another is of its kind. */
function kindOf(path: string): string {
  const name = path
    .replace(/\.tmp$/, '')
    .replace(/\d{6,}[-\d]*/g, '*')
    .replace(/-[01]\.state$/, '-*.state');
  return name === '' ? '(folders)' : name;
}
