/**
 * Layout of what an IIO buffer gives: scan elements in the order of their index, each aligned to its own size, and the whole to the largest
 * (Linux, Documentation/iio/iio_devbuf.rst; iio_compute_scan_bytes in drivers/iio/industrialio-buffer.c).
 *
 *   voltage0_type be:u12/16>>4 ─┐
 *   timestamp_type le:s64/64>>0 ┴► layout ─► bytes of /dev/iio:device0 ─► scans
 */
import { retryable } from '../errors/agent-error.ts';
import type { IioScan } from './iio-port.ts';

const TYPE = /^(le|be):([su])(\d+)\/(8|16|32|64)>>(\d+)$/;
const NS_PER_MS = 1_000_000n;
export const TIMESTAMP = 'timestamp';

export interface ScanElement {
  /** `voltage0`, or `timestamp`. */
  readonly channel: string;
  readonly index: number;
  /** Form of a value, as its `_type` file has it. */
  readonly type: string;
}

interface PlacedElement {
  readonly channel: string;
  readonly at: number;
  readonly bytes: number;
  readonly isLittleEndian: boolean;
  readonly isSigned: boolean;
  readonly bits: number;
  readonly shift: number;
}

export interface ScanLayout {
  readonly scanBytes: number;
  readonly elements: readonly PlacedElement[];
}

/** @throws AgentError `hardware/iio-no-channel` (retry) for a type that is not read here. */
export function scanLayout(elements: readonly ScanElement[]): ScanLayout {
  let end = 0;
  let largest = 1;
  const placed = elements
    .toSorted((one, other) => one.index - other.index)
    .map(({ channel, type }): PlacedElement => {
      const [, order, sign, bits, storage, shift] = TYPE.exec(type) ?? [];
      if (storage === undefined)
        throw retryable('hardware/iio-no-channel', `channel ${channel}: values of type ${type} are not read here`);
      const bytes = Number(storage) / 8;
      const at = aligned(end, bytes);
      end = at + bytes;
      largest = Math.max(largest, bytes);
      return {
        channel,
        at,
        bytes,
        isLittleEndian: order === 'le',
        isSigned: sign === 's',
        bits: Number(bits),
        shift: Number(shift),
      };
    });
  return { scanBytes: aligned(end, largest), elements: placed };
}

/** Returns the whole scans of what was read. */
export function decodeScans(bytes: Uint8Array, { scanBytes, elements }: ScanLayout): readonly IioScan[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Array.from({ length: Math.floor(bytes.byteLength / scanBytes) }, (_, number) => {
    const raw = new Map<string, number>();
    let monotonicMs: number | undefined;
    for (const element of elements) {
      const value = valueAt(view, number * scanBytes, element);
      if (element.channel === TIMESTAMP)
        monotonicMs = Number(value / NS_PER_MS) + Number(value % NS_PER_MS) / Number(NS_PER_MS);
      else raw.set(element.channel, Number(value));
    }
    return monotonicMs === undefined ? { raw } : { raw, monotonicMs };
  });
}

function valueAt(view: DataView, base: number, element: PlacedElement): bigint {
  const { at, bytes, isLittleEndian, isSigned, bits, shift } = element;
  let stored = 0n;
  for (let n = 0; n < bytes; n += 1) {
    const place = isLittleEndian ? bytes - 1 - n : n;
    stored = (stored << 8n) | BigInt(view.getUint8(base + at + place));
  }
  const value = stored >> BigInt(shift);
  return isSigned ? BigInt.asIntN(bits, value) : BigInt.asUintN(bits, value);
}

function aligned(at: number, bytes: number): number {
  return Math.ceil(at / bytes) * bytes;
}
