/**
 * The journal's file of the release before: commands that it carried out are not carried out again. It stays where it is: that release finds it when
 * an update is rolled back, and may add to it before the next update.
 *
 *   magic "TSRJ" | version u8 | kind u8 | 0 u16 | length u32 | CRC-32 u32 | payload (JSON, UTF-8)        (little-endian)
 *
 * The CRC covers everything from version to length, and the payload.
 */
import { crc32 } from 'node:zlib';
import type { Files } from '../host/files.ts';
import { readWhole } from '../host/whole-file.ts';
import { isJsonObject, type JsonObject, OWN_JSON, parseJson } from '../values/json.ts';

const MAGIC = Buffer.from('TSRJ', 'latin1');
const HEADER_BYTES = 16;
/** Records of this release by the kinds of a frame, which begin with 1: head, intent, reply, answered, entry. */
const KINDS = ['boot', 'entry', 'entry', 'answered', 'entry'] as const;

export interface FormerJournal {
  /** CRC-32 of the file. */
  readonly sum: number;
  /** Payloads of all whole frames, in order, each with the kind of its record. */
  readonly payloads: readonly JsonObject[];
}

/** Undefined without a file. @throws as `readWhole`. */
export async function readFormerJournal(
  files: Files,
  path: string,
  limitBytes: number,
): Promise<FormerJournal | undefined> {
  const bytes = await readWhole(files, path, { limitBytes });
  return bytes === undefined ? undefined : { sum: crc32(bytes), payloads: payloadsIn(bytes) };
}

function payloadsIn(bytes: Buffer): JsonObject[] {
  const found: JsonObject[] = [];
  for (let at = bytes.indexOf(MAGIC); at !== -1; ) {
    const end = endOfFrame(bytes, at);
    const kind = end === undefined ? undefined : KINDS[bytes.readUInt8(at + 5) - 1];
    const payload = end === undefined ? undefined : payloadOf(bytes.subarray(at + HEADER_BYTES, end));
    if (payload !== undefined && kind !== undefined) found.push({ ...payload, kind });
    at = bytes.indexOf(MAGIC, end ?? at + 1);
  }
  return found;
}

function endOfFrame(bytes: Buffer, at: number): number | undefined {
  if (at + HEADER_BYTES > bytes.length) return undefined;
  const end = at + HEADER_BYTES + bytes.readUInt32LE(at + 8);
  if (end > bytes.length) return undefined;
  const sum = crc32(bytes.subarray(at + HEADER_BYTES, end), crc32(bytes.subarray(at + 4, at + 12)));
  return sum === bytes.readUInt32LE(at + 12) ? end : undefined;
}

function payloadOf(bytes: Buffer): JsonObject | undefined {
  const json = parseJson(bytes.toString('utf8'), OWN_JSON);
  return isJsonObject(json) ? json : undefined;
}
