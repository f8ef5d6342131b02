/**
 * The timeline on disk: a line for each event, with a check value of its own. Lines are appended and never synced one by one; the file is written
 * anew when it has twice of what is kept. A line that is damaged, or was half written, is passed over.
 */
import { dirname } from 'node:path';
import { GROUP_MODE, readWhole, writeDurably } from '../host/durable-file.ts';
import type { Files } from '../host/files.ts';
import { fieldsOf, isSealed, sealJson, unsealJson } from '../host/sealed-json.ts';
import { isJsonObject } from '../values/json.ts';
import { eventJson, eventOf, type TimelineEvent } from './event.ts';

const TIMELINE_FORMAT = { format: 'turnstone/timeline', version: 1 } as const;

/** Its name in the state folder. */
export const TIMELINE_FILE = 'timeline.jsonl';
/** Kept of the newest events. */
export const MAX_EVENTS = 2_000;
export const MAX_EVENT_BYTES = 400_000;
/** Twice of what is kept, and what one flush may add to it. */
const MAX_FILE_BYTES = 3 * MAX_EVENT_BYTES;

export interface TimelineFile {
  /** Events in the order of their numbers; none where there is no file, or one that is no timeline. @throws what the disk says. */
  read(): Promise<readonly TimelineEvent[]>;
  /** Adds `added` to the file, or writes `all` in its place where that is due. @throws what the disk says: the next call writes all. */
  write(added: readonly TimelineEvent[], all: readonly TimelineEvent[]): Promise<void>;
}

export function timelineFile(files: Files, path: string): TimelineFile {
  let bytes = 0;
  let lines = 0;
  /** Undefined: the file is not known to be whole, and is written anew. */
  let state: 'whole' | 'torn' | undefined;
  const writeAll = async (all: readonly TimelineEvent[]): Promise<void> => {
    const content = Buffer.from(`${sealJson(TIMELINE_FORMAT)}\n${linesOf(all)}`);
    await files.makeFolder(dirname(path));
    await writeDurably(files, path, content, { mode: GROUP_MODE });
    [state, bytes, lines] = ['whole', content.length, all.length];
  };
  const append = async (added: readonly TimelineEvent[]): Promise<void> => {
    const content = Buffer.from(`${state === 'torn' ? '\n' : ''}${linesOf(added)}`);
    state = undefined;
    const file = await files.open(path, 'update');
    try {
      await file.write(content, bytes);
    } finally {
      await file.close();
    }
    [state, bytes, lines] = ['whole', bytes + content.length, lines + added.length];
  };
  return {
    read: async () => {
      const text = (await readWhole(files, path, { limitBytes: MAX_FILE_BYTES }))?.toString('utf8');
      const rows = text?.split('\n') ?? [];
      if (text === undefined || isOfOthers(rows.shift() ?? '')) return [];
      const events = rows.flatMap(eventIn);
      [state, bytes, lines] = [text.endsWith('\n') ? 'whole' : 'torn', Buffer.byteLength(text), rows.length];
      // Bytes that were no text are longer as text: the next write begins anew rather than in a wrong place.
      if (text.includes('\ufffd')) state = undefined;
      return inOrder(events);
    },
    write: async (added, all) => {
      const isTwice = lines + added.length > 2 * MAX_EVENTS || bytes > 2 * MAX_EVENT_BYTES;
      if (state === undefined || isTwice) await writeAll(all);
      else await append(added);
    },
  };
}

/** Length of an event's line. */
export function lineBytes(event: TimelineEvent): number {
  return Buffer.byteLength(lineOf(event)) + 1;
}

function linesOf(events: readonly TimelineEvent[]): string {
  return events.map((event) => `${lineOf(event)}\n`).join('');
}

function lineOf(event: TimelineEvent): string {
  return sealJson(eventJson(event));
}

/** True for a whole first line of another format; a damaged one says nothing of the lines after it. */
function isOfOthers(line: string): boolean {
  try {
    unsealJson(line);
  } catch {
    return false;
  }
  try {
    fieldsOf(line, TIMELINE_FORMAT);
    return false;
  } catch {
    return true;
  }
}

function eventIn(line: string): TimelineEvent[] {
  if (!isSealed(line)) return [];
  try {
    const json = unsealJson(line);
    const event = isJsonObject(json) ? eventOf(json) : undefined;
    return event === undefined ? [] : [event];
  } catch {
    return [];
  }
}

/** One of each number, the later of two. */
function inOrder(events: readonly TimelineEvent[]): readonly TimelineEvent[] {
  return [...new Map(events.map((event) => [event.seq, event])).values()].sort((a, b) => a.seq - b.seq);
}
