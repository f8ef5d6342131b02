/**
 * The journal's file format: a run of self-describing frames, so that any whole frame can be found again after damage before it.
 *
 *   magic "TSRJ" | version u8 | kind u8 | 0 u16 | length u32 | CRC-32 u32 | payload (JSON, UTF-8)        (little-endian)
 *
 * The CRC covers everything from version to length, and the payload.
 */
import { crc32 } from 'node:zlib';
import { isJsonObject, type JsonObject, OWN_JSON, parseJson, stringifyJson } from '../values/json.ts';

/** Content of a frame. `head` names format and version; `entry` is a whole request as compaction leaves it. */
export type FrameKind = 'head' | 'intent' | 'reply' | 'answered' | 'entry';

export interface Frame {
  readonly kind: FrameKind;
  readonly payload: JsonObject;
}

export interface DecodedFrames {
  readonly frames: readonly Frame[];
  /** Where the last whole frame ends; a torn tail lies behind it. */
  readonly wholeBytes: number;
  /** Bytes before that which belong to no whole frame. */
  readonly damagedBytes: number;
  /** Frames of a version this release does not know. */
  readonly unknownFrames: number;
}

export const JOURNAL_HEAD: Frame = { kind: 'head', payload: { format: 'turnstone/rpc-journal', version: 1 } };

const MAGIC = Buffer.from('TSRJ', 'latin1');
const VERSION = 1;
const HEADER_BYTES = 16;
/** A stored reply has at most 64 KiB (the platform's limit); JSON of a record adds little. */
const MAX_PAYLOAD_BYTES = 192 * 1024;
const KINDS: readonly FrameKind[] = ['head', 'intent', 'reply', 'answered', 'entry'];

export function encodeFrame(frame: Frame): Buffer {
  const payload = Buffer.from(stringifyJson(frame.payload));
  const bytes = Buffer.alloc(HEADER_BYTES + payload.length);
  MAGIC.copy(bytes, 0);
  bytes.writeUInt8(VERSION, 4);
  bytes.writeUInt8(KINDS.indexOf(frame.kind) + 1, 5);
  bytes.writeUInt32LE(payload.length, 8);
  payload.copy(bytes, HEADER_BYTES);
  bytes.writeUInt32LE(sumOf(bytes), 12);
  return bytes;
}

/** Every whole frame of a file, in order; what lies between and behind them is skipped and counted. */
export function decodeFrames(bytes: Buffer): DecodedFrames {
  const frames: Frame[] = [];
  let wholeBytes = 0;
  let damagedBytes = 0;
  let unknownFrames = 0;
  let from = 0;
  for (let at = bytes.indexOf(MAGIC); at !== -1; at = bytes.indexOf(MAGIC, from)) {
    const end = endOfFrame(bytes, at);
    from = end ?? at + 1;
    if (end === undefined) continue;
    damagedBytes += at - wholeBytes;
    wholeBytes = end;
    const frame = frameOf(bytes.subarray(at, end));
    if (frame === undefined) unknownFrames += 1;
    else frames.push(frame);
  }
  return { frames, wholeBytes, damagedBytes, unknownFrames };
}

function endOfFrame(bytes: Buffer, at: number): number | undefined {
  if (at + HEADER_BYTES > bytes.length) return undefined;
  const length = bytes.readUInt32LE(at + 8);
  const end = at + HEADER_BYTES + length;
  if (length > MAX_PAYLOAD_BYTES || end > bytes.length) return undefined;
  return sumOf(bytes.subarray(at, end)) === bytes.readUInt32LE(at + 12) ? end : undefined;
}

function frameOf(bytes: Buffer): Frame | undefined {
  const kind = KINDS[bytes.readUInt8(5) - 1];
  if (bytes.readUInt8(4) !== VERSION || kind === undefined) return undefined;
  const payload = parseJson(bytes.subarray(HEADER_BYTES).toString('utf8'), OWN_JSON);
  return isJsonObject(payload) ? { kind, payload } : undefined;
}

function sumOf(frame: Buffer): number {
  return crc32(frame.subarray(HEADER_BYTES), crc32(frame.subarray(4, 12)));
}
