/**
 * Reads what dm-log-writes recorded of a disk: every write in the order in which it became durable, flushes, and marks that programs
 * set. Applied to a copy of the disk as it was at the start, each prefix is what a power cut at that moment would have left, with the
 * drive's cache lost. Layout: drivers/md/dm-log-writes.c of Linux 6.12.
 *
 *   sector 0   magic u64, version u64, entries u64, sector size u32
 *   then       entry: sector u64, sectors u64, flags u64, length u64, padded to a sector (a mark's text follows within it); its data
 */
import { type FileHandle, open } from 'node:fs/promises';

const MAGIC = 0x6a736677736872n;
const ENTRY_BYTES = 32;
const FLAG = { flush: 1, fua: 2, discard: 4, mark: 8 } as const;

export interface WritePoint {
  /** Where in the log this is. */
  readonly index: number;
  /** A flush or forced write ended here, or a program set a mark. */
  readonly kind: 'flush' | 'mark';
  readonly mark: string;
  /** True when anything was written since the point before. */
  readonly changed: boolean;
}

/** Applies the log to the image, and stops after every flush, forced write and mark. */
export async function* replayWrites(log: string, image: string): AsyncGenerator<WritePoint> {
  const source = await open(log, 'r');
  const target = await open(image, 'r+');
  try {
    const head = await read(source, 0, 64);
    if (head.readBigUInt64LE(0) !== MAGIC) throw new Error('no write log');
    const entries = Number(head.readBigUInt64LE(16));
    const sectorSize = head.readUInt32LE(24);
    let position = sectorSize;
    let changed = false;
    for (let index = 0; index < entries; index += 1) {
      const entry = await read(source, position, sectorSize);
      const [sector, sectors, flags, length] = [0, 8, 16, 24].map((at) => Number(entry.readBigUInt64LE(at))) as [
        number,
        number,
        number,
        number,
      ];
      position += sectorSize;
      if (flags & FLAG.mark) {
        yield {
          index,
          kind: 'mark',
          mark: entry.toString('utf8', ENTRY_BYTES, ENTRY_BYTES + length).replace(/\0.*$/, ''),
          changed,
        };
        changed = false;
        continue;
      }
      const bytes = sectors * sectorSize;
      if (flags & FLAG.discard) await target.write(Buffer.alloc(bytes), 0, bytes, sector * sectorSize);
      else if (bytes > 0) {
        await target.write(await read(source, position, bytes), 0, bytes, sector * sectorSize);
        position += bytes;
      }
      changed ||= bytes > 0;
      if (flags & (FLAG.flush | FLAG.fua)) {
        yield { index, kind: 'flush', mark: '', changed };
        changed = false;
      }
    }
  } finally {
    await source.close();
    await target.close();
  }
}

async function read(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const buffer = Buffer.alloc(length);
  await file.read(buffer, 0, length, position);
  return buffer;
}
