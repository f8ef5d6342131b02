/**
 * Opens the outbox's folder whatever is in it: takes the segments on the shelf, clears what a crash left, and quarantines in `set-aside` what
 * is not ours to read. Only the newest segment is read through; the rest waits until it is needed. When the disk does not give the newest, it
 * waits like the others, and so many sequences are left to it that no new entry gets one of them.
 */
import { AgentError } from '../../errors/agent-error.ts';
import { isLost } from '../../host/files.ts';
import { readWhole } from '../../host/whole-file.ts';
import { readBlockInfo } from '../format/block-frame.ts';
import {
  farthestEnd,
  parseSegmentName,
  readSegmentHeader,
  SEGMENT_HEADER_BYTES,
  type SegmentScan,
} from '../format/segment-file.ts';
import type { OutboxPlace } from './outbox-place.ts';
import type { Segment, SegmentShelf } from './segment-shelf.ts';
import type { UnreadFiles } from './small-file.ts';

export const SET_ASIDE = 'set-aside';
/** A segment is a megabyte; what is far larger was not written by us, and is not to be read into memory. */
export const MAX_FILE_BYTES = 64 * 1024 * 1024;
/** A sector may read well at the second try. */
const TRIES = 3;
/** The header and the first block's. */
const HEAD_BYTES = 512;
/** As if nothing had been written there: what cannot be read may be ours. */
const UNKNOWN = Buffer.alloc(HEAD_BYTES);
const OURS =
  /^(boots(\.twin)?\.json|delivered-[01]\.state|dead-letters\.jsonl|ledger-\d{10}\.jsonl|rejected(\.old)?\.jsonl|set-aside|lost\+found)$/;

interface FolderDeps extends Omit<OutboxPlace, 'clock'> {
  readonly unread: UnreadFiles;
  /** Size of the quarantine `set-aside`; beyond it its oldest files are evicted. */
  readonly setAsideBytes: number;
  readonly onSetAside: () => void;
}

/** The segment that may be written on, and all that is in it. */
export interface NewestSegment {
  readonly segment: Segment;
  readonly scan: SegmentScan;
}

export class OutboxFolder {
  readonly #deps: FolderDeps;

  constructor(deps: FolderDeps) {
    this.#deps = deps;
  }

  /** Moves a file out of the way for a person to look at; on a file system that cannot be written it stays, and is left alone. */
  async setAside(name: string): Promise<void> {
    const { files, folder, log, onSetAside } = this.#deps;
    try {
      await files.makeFolder(`${folder}/${SET_ASIDE}`);
      const taken = new Set(await files.list(`${folder}/${SET_ASIDE}`));
      let target = name;
      for (let copy = 1; taken.has(target); copy += 1) target = `${name}.${copy}`;
      await files.rename(`${folder}/${name}`, `${folder}/${SET_ASIDE}/${target}`);
      log.warn({ file: name }, 'outbox file set aside');
      onSetAside();
      await this.#boundSetAside().catch(() => {});
    } catch (error) {
      log.warn({ file: name, err: error }, 'outbox file cannot be set aside');
    }
  }

  /** Fills the shelf; returns the newest segment, if it can be read now. @throws what the disk says when it does not tell a file's size yet. */
  async load(shelf: SegmentShelf): Promise<NewestSegment | undefined> {
    const { files, folder } = this.#deps;
    const found: Segment[] = [];
    for (const name of [...(await files.list(folder))].sort()) {
      const parsed = parseSegmentName(name);
      if (parsed !== undefined) {
        const segment = await this.#look(name, parsed.firstSequence);
        if (segment !== undefined) found.push(segment);
      } else if (name.endsWith('.tmp')) await this.#clear(name);
      else if (!OURS.test(name)) await this.setAside(name);
    }
    const kept = await this.#withoutSuperseded(found);
    kept.forEach((segment, at) => {
      const next = kept[at + 1];
      if (next !== undefined) segment.lastSequence = next.firstSequence - 1;
      if (segment.thinned === 0) segment.count = segment.lastSequence - segment.firstSequence + 1;
      shelf.add(segment);
    });
    return this.#scanNewest(shelf);
  }

  async #scanNewest(shelf: SegmentShelf): Promise<NewestSegment | undefined> {
    for (;;) {
      const segment = shelf.segments.at(-1);
      if (segment === undefined) return undefined;
      segment.lastSequence = Number.MAX_SAFE_INTEGER;
      if (segment.thinned === 0) segment.count = 0;
      const scan = await this.#scan(shelf, segment);
      if (scan === undefined) {
        segment.lastSequence = farthestEnd(segment.firstSequence);
        return undefined;
      }
      if (scan.blocks.length > 0) return { segment, scan };
      // A first commit that never became durable, or damage from end to end.
      shelf.forget(segment);
      if (scan.cleanTail && scan.damaged.length === 0) await this.#clear(segment.name);
      else await this.setAside(segment.name);
    }
  }

  /** Undefined when the disk does not give it now. */
  async #scan(shelf: SegmentShelf, segment: Segment): Promise<SegmentScan | undefined> {
    for (let tries = 0; tries < TRIES; tries += 1) {
      try {
        return await shelf.scan(segment);
      } catch (error) {
        if (!(error instanceof AgentError) || !isLost(error.cause)) throw error;
      }
    }
    return undefined;
  }

  async #look(name: string, firstSequence: number): Promise<Segment | undefined> {
    const { files, folder, unread } = this.#deps;
    const path = `${folder}/${name}`;
    const facts = await files.facts(path).catch((error: unknown) => {
      if (!isLost(error) || !unread.wasRefused(name)) throw error;
      return undefined;
    });
    if (facts !== undefined) unread.wasRead(name);
    if (facts === undefined || facts.bytes > MAX_FILE_BYTES) return void (await this.setAside(name));
    const { bytes } = facts;
    if (bytes === 0) return void (await this.#clear(name));
    const head = Buffer.alloc(HEAD_BYTES);
    const file = await files.open(path, 'read').catch(() => undefined);
    await file?.read(head, 0).catch(() => 0);
    await file?.close();
    let header = readSegmentHeader(head);
    if (header.kind === 'foreign')
      header = readSegmentHeader(
        (await readWhole(files, path, { limitBytes: MAX_FILE_BYTES }).catch(() => UNKNOWN)) ?? head,
      );
    if (!('thinned' in header)) return void (await this.setAside(name));
    const { thinned, count } = header;
    const first = readBlockInfo(head, SEGMENT_HEADER_BYTES, { headerOnly: true });
    const segment: Segment = {
      name,
      firstSequence,
      lastSequence: firstSequence,
      bytes,
      thinned,
      count,
      damagedBytes: 0,
    };
    if (first !== undefined) segment.first = { bootId: first.bootId, ms: first.firstMs, ownTime: first.ownTime };
    return segment;
  }

  /** Removes a file that a crash left and nobody needs. */
  async #clear(name: string): Promise<void> {
    const { files, folder, log } = this.#deps;
    await files
      .unlink(`${folder}/${name}`)
      .catch((error: unknown) => log.warn({ file: name, err: error }, 'outbox file cannot be removed'));
  }

  /** Keeps the latest generation of each first sequence; it was begun because the ones before it failed. */
  async #withoutSuperseded(found: readonly Segment[]): Promise<Segment[]> {
    const kept = new Map<number, Segment>();
    const generation = (segment: Segment): number => parseSegmentName(segment.name)?.generation ?? 0;
    for (const segment of [...found].sort((a, b) => generation(a) - generation(b))) {
      const older = kept.get(segment.firstSequence);
      if (older !== undefined) await this.setAside(older.name);
      kept.set(segment.firstSequence, segment);
    }
    return [...kept.values()].sort((a, b) => a.firstSequence - b.firstSequence);
  }

  async #boundSetAside(): Promise<void> {
    const { files, folder, setAsideBytes } = this.#deps;
    const names = await files.list(`${folder}/${SET_ASIDE}`).catch(() => []);
    let sum = 0;
    for (const name of [...names].sort().reverse()) {
      sum += (await files.facts(`${folder}/${SET_ASIDE}/${name}`))?.bytes ?? 0;
      if (sum > setAsideBytes) await files.unlink(`${folder}/${SET_ASIDE}/${name}`).catch(() => {});
    }
  }
}
