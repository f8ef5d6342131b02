/** The timeline on disk: a log of events. They are appended and never synced one by one; the log is bound to twice of what is kept. */
import type { Files } from '../host/files.ts';
import { RecordLog, sealedObject } from '../store/record-log.ts';
import { sealJson } from '../store/sealed-json.ts';
import { eventJson, eventOf, type TimelineEvent } from './event.ts';

/** Its name in the state folder. */
export const TIMELINE_FILE = 'timeline.jsonl';
/** Kept of the newest events. */
export const MAX_EVENTS = 2_000;
export const MAX_EVENT_BYTES = 600_000;

export function timelineFile(files: Files, path: string): RecordLog<TimelineEvent> {
  return new RecordLog({
    files,
    path,
    format: 'turnstone/timeline',
    version: 1,
    limitBytes: 3 * MAX_EVENT_BYTES,
    compactAfterBytes: MAX_EVENT_BYTES,
    lineOf,
    recordOf: (line) => {
      const json = sealedObject(line);
      return json === undefined ? undefined : eventOf(json);
    },
  });
}

/** Length of an event's line. */
export function lineBytes(event: TimelineEvent): number {
  return Buffer.byteLength(lineOf(event)) + 1;
}

/** One of each number, the later of two. */
export function inOrder(events: readonly TimelineEvent[]): readonly TimelineEvent[] {
  return [...new Map(events.map((event) => [event.seq, event])).values()].sort((a, b) => a.seq - b.seq);
}

function lineOf(event: TimelineEvent): string {
  return sealJson(eventJson(event));
}
