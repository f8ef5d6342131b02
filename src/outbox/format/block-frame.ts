/**
 * A block on disk: a header that says all one needs to know without unpacking, and the payload. The checksum covers both, so that
 * a block is whole or it is not there; a reader that meets damage looks for the next magic and goes on.
 *
 *   0 magic u32 · 4 crc u32 over all that follows · 8 version u8 · 9 flags u8 · 10 header length u16 · 12 stored length u32
 *   16 raw length u32 · 20 count u32 · 24 first sequence u48 · 30 sequence span u32 · 34 first ms f64 · 42 ms span u32 · 46 boot id
 */
import { constants, crc32, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { type BlockEntries, decodePayload, type PayloadEncoder } from './block-payload.ts';
import { ByteReader } from './byte-reader.ts';

/** "TSOB" as it lies in the file. */
export const BLOCK_MAGIC = 0x424f5354;
export const BLOCK_VERSION = 1;
const FIXED_HEADER_BYTES = 46;
/** No block of ours comes near; a damaged length must not make us ask for gigabytes. */
const MAX_BLOCK_BYTES = 64 * 1024 * 1024;
/** A smaller block lies in one page of the disk either way, and zstd's set-up would be most of what packing it costs. */
const MIN_COMPRESSED_BYTES = 1024;
/** Measured (npm run bench:outbox, layouts): levels 1, 3 and 9 pack columns to the same size within 2 %. */
const ZSTD_LEVEL = 1;

const ALARM = 1;
const OWN_TIME = 2;
const COMPRESSED = 4;
const GAPS = 8;
/** The boot id is a UUID in 16 bytes, as the kernel's always is; else it is text. */
const UUID_BOOT = 16;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
/** A span of ms that does not fit: the block's end is then unknown, and any later time may be in it. */
const MAX_SPAN_MS = 0xffffffff;

/** Fields of a block's header, and the place of the block. */
export interface BlockInfo {
  /** Where in its segment it begins. */
  readonly offset: number;
  /** With its header. */
  readonly bytes: number;
  readonly alarm: boolean;
  /** Its entries bring their own UTC times. */
  readonly ownTime: boolean;
  /** Thinning left gaps in its sequences. */
  readonly gaps: boolean;
  readonly count: number;
  readonly firstSequence: number;
  readonly lastSequence: number;
  /** Bounds of the entries' times: UTC epoch ms with `ownTime`, else ms since boot. */
  readonly firstMs: number;
  readonly lastMs: number;
  readonly bootId: string;
}

/** Fields that the frame adds to the entries. */
export interface BlockLabel {
  readonly alarm: boolean;
  readonly bootId: string;
  readonly firstSequence: number;
  /** When thinning left gaps: the last sequence that the block stands for. */
  readonly lastSequence?: number;
}

/** Entries in memory that have their numbers and times: they may leave, and be written. */
export interface NumberedBlock {
  readonly info: Omit<BlockInfo, 'offset' | 'bytes' | 'gaps'>;
  readonly entries: BlockEntries;
}

/** A finished block in memory; `info.offset` is relative to the commit it is part of. */
export interface FramedBlock {
  readonly bytes: Buffer;
  readonly info: BlockInfo;
}

export function frameBlock(encoder: PayloadEncoder, entries: BlockEntries, label: BlockLabel): FramedBlock {
  const raw = encoder.encode(entries);
  const packed = raw.length < MIN_COMPRESSED_BYTES ? raw : compress(raw);
  const compressed = packed.length < raw.length;
  const stored = compressed ? packed : raw;
  const uuid = UUID.test(label.bootId);
  const boot = uuid ? Buffer.from(label.bootId.replaceAll('-', ''), 'hex') : Buffer.from(label.bootId);
  const headerLength = FIXED_HEADER_BYTES + boot.length;
  const count = entries.keys.length;
  const times = entries.takenAtMs ?? entries.monotonicMs;
  const [firstMs, lastMs] = boundsOf(times);
  const lastSequence = label.lastSequence ?? label.firstSequence + count - 1;
  const bytes = Buffer.allocUnsafe(headerLength + stored.length);
  bytes.writeUInt32LE(BLOCK_MAGIC, 0);
  bytes[8] = BLOCK_VERSION;
  bytes[9] =
    (label.alarm ? ALARM : 0) |
    (entries.takenAtMs === undefined ? 0 : OWN_TIME) |
    (compressed ? COMPRESSED : 0) |
    (entries.sequences === undefined ? 0 : GAPS) |
    (uuid ? UUID_BOOT : 0);
  bytes.writeUInt16LE(headerLength, 10);
  bytes.writeUInt32LE(stored.length, 12);
  bytes.writeUInt32LE(raw.length, 16);
  bytes.writeUInt32LE(count, 20);
  bytes.writeUIntLE(label.firstSequence, 24, 6);
  bytes.writeUInt32LE(lastSequence - label.firstSequence, 30);
  bytes.writeDoubleLE(firstMs, 34);
  bytes.writeUInt32LE(Math.min(lastMs - firstMs, MAX_SPAN_MS), 42);
  bytes.set(boot, FIXED_HEADER_BYTES);
  bytes.set(stored, headerLength);
  bytes.writeUInt32LE(crc32(bytes.subarray(8)), 4);
  return {
    bytes,
    info: {
      offset: 0,
      bytes: bytes.length,
      alarm: label.alarm,
      ownTime: entries.takenAtMs !== undefined,
      gaps: entries.sequences !== undefined,
      count,
      firstSequence: label.firstSequence,
      lastSequence,
      firstMs,
      lastMs,
      bootId: label.bootId,
    },
  };
}

/** The block at `at`, when a whole one of a known version begins there; `headerOnly` believes a header whose payload is not at hand. */
export function readBlockInfo(
  bytes: Buffer,
  at: number,
  options: { readonly headerOnly?: boolean } = {},
): BlockInfo | undefined {
  if (
    at + FIXED_HEADER_BYTES > bytes.length ||
    bytes.readUInt32LE(at) !== BLOCK_MAGIC ||
    bytes[at + 8] !== BLOCK_VERSION
  )
    return undefined;
  const headerLength = bytes.readUInt16LE(at + 10);
  const length = headerLength + bytes.readUInt32LE(at + 12);
  if (headerLength < FIXED_HEADER_BYTES || length > MAX_BLOCK_BYTES || at + headerLength > bytes.length)
    return undefined;
  if (
    options.headerOnly !== true &&
    (at + length > bytes.length || crc32(bytes.subarray(at + 8, at + length)) !== bytes.readUInt32LE(at + 4))
  )
    return undefined;
  const flags = bytes[at + 9] as number;
  const firstSequence = bytes.readUIntLE(at + 24, 6);
  const firstMs = bytes.readDoubleLE(at + 34);
  const spanMs = bytes.readUInt32LE(at + 42);
  return {
    offset: at,
    bytes: length,
    alarm: (flags & ALARM) !== 0,
    ownTime: (flags & OWN_TIME) !== 0,
    gaps: (flags & GAPS) !== 0,
    count: bytes.readUInt32LE(at + 20),
    firstSequence,
    lastSequence: firstSequence + bytes.readUInt32LE(at + 30),
    firstMs,
    lastMs: spanMs === MAX_SPAN_MS ? Number.POSITIVE_INFINITY : firstMs + spanMs,
    bootId: bootIdOf(bytes.subarray(at + FIXED_HEADER_BYTES, at + headerLength), (flags & UUID_BOOT) !== 0),
  };
}

/** True when the block that was found there is still there, and whole. */
export function isWholeBlock(bytes: Buffer, at: number, info: BlockInfo): boolean {
  return (
    at + info.bytes <= bytes.length &&
    bytes.readUInt32LE(at) === BLOCK_MAGIC &&
    bytes.readUIntLE(at + 24, 6) === info.firstSequence &&
    crc32(bytes.subarray(at + 8, at + info.bytes)) === bytes.readUInt32LE(at + 4)
  );
}

/** Unpacks the entries of a block that is whole. @throws when its payload is not what its header says. */
export function unpackBlock(bytes: Buffer, at: number, info: BlockInfo): BlockEntries {
  const stored = bytes.subarray(at + bytes.readUInt16LE(at + 10), at + info.bytes);
  const rawLength = bytes.readUInt32LE(at + 16);
  const compressed = ((bytes[at + 9] as number) & COMPRESSED) !== 0;
  const raw = compressed
    ? zstdDecompressSync(stored, { maxOutputLength: Math.min(rawLength, MAX_BLOCK_BYTES) })
    : stored;
  return decodePayload(new ByteReader(raw), info);
}

/** Blocks that follow each other mostly are of one boot. */
let lastBoot = { bytes: Buffer.alloc(0), uuid: false, id: '' };

function bootIdOf(bytes: Buffer, uuid: boolean): string {
  if (lastBoot.uuid !== uuid || !lastBoot.bytes.equals(bytes)) {
    const id = uuid
      ? bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
      : bytes.toString();
    lastBoot = { bytes: Buffer.from(bytes), uuid, id };
  }
  return lastBoot.id;
}

/** Synchronous: a block takes tens of microseconds, and a thread of the pool may be stuck in a sync. */
function compress(raw: Buffer): Buffer {
  return zstdCompressSync(raw, { params: { [constants.ZSTD_c_compressionLevel]: ZSTD_LEVEL } });
}

/** The earliest and the latest. */
export function boundsOf(times: readonly number[]): readonly [number, number] {
  let first = Number.POSITIVE_INFINITY;
  let last = Number.NEGATIVE_INFINITY;
  for (const ms of times) {
    if (ms < first) first = ms;
    if (ms > last) last = ms;
  }
  return [first, last];
}
