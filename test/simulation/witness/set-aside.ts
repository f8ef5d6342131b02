/** Queue set aside on the card: measured on a board that had no device yet when the card was taken from it, and kept for a person. */

import { FORMER_QUEUE } from '../../../src/devices/former-queue.ts';
import { unpackBlock } from '../../../src/outbox/format/block-frame.ts';
import { parseSegmentName, scanSegment } from '../../../src/outbox/format/segment-file.ts';
import { stringifyJson } from '../../../src/values/json.ts';
import type { Durable } from '../durable.ts';
import { STATE_FOLDER } from '../site.ts';
import type { World } from '../world.ts';

const FOLDER = `${STATE_FOLDER}/${FORMER_QUEUE}/`;
/** Entries of a key are spaced, and are of whole ms. */
const SPACED_MS = 1;

export class SetAside {
  readonly #movedAtMs: number;
  /** Times since boot of each boot, key and value, ms. */
  readonly #times = new Map<string, number[]>();

  constructor({ disk, identity }: World) {
    this.#movedAtMs = Math.max(...identity.leftBehind);
    for (const path of disk.paths) {
      if (!path.startsWith(FOLDER) || parseSegmentName(path.slice(path.lastIndexOf('/') + 1)) === undefined) continue;
      const bytes = disk.contentOf(path);
      for (const info of scanSegment(bytes).blocks) {
        const { keys, values, monotonicMs } = unpackBlock(bytes, info.offset, info);
        for (const [n, key] of keys.entries()) {
          const name = stringifyJson([info.bootId, key, values[n] ?? null]);
          this.#times.set(name, [...(this.#times.get(name) ?? []), monotonicMs[n] as number]);
        }
      }
    }
  }

  /** True when it lies there, whole, and takes it out. Entries from after the card was moved have no business there. */
  take({ entry, takenAtMs }: Durable): boolean {
    if (takenAtMs >= this.#movedAtMs) return false;
    const times = this.#times.get(stringifyJson([entry.bootId, entry.key, entry.value])) ?? [];
    const at = times.findIndex((ms) => Math.abs(ms - entry.monotonicMs) <= SPACED_MS);
    if (at < 0) return false;
    times.splice(at, 1);
    return true;
  }
}
