/**
 * The record on the disk: lines of hours, in a file for each UTC day; a day that outgrows its file goes on in another one. Days that are over for
 * long go, and the oldest of what is more than the bound. A line that is damaged is passed over.
 */
import { join } from 'node:path';
import type { EpochMs } from '../host/clock.ts';
import { readWhole } from '../host/durable-file.ts';
import { type Files, undefinedWhenMissing } from '../host/files.ts';
import { hourOfLine } from './band-lines.ts';

export const BANDS_FORMAT = 'turnstone-bands';
const HEADER = `${JSON.stringify({ format: BANDS_FORMAT, version: 1 })}\n`;
export const DAY_MS = 86_400_000;
/** Days before today whose files stay. */
export const KEPT_DAYS = 8;
const NAME = /^bands-(\d{8})-(\d{2})\.jsonl$/;
const MAX_PARTS_OF_A_DAY = 99;

export interface BandFilesDeps {
  readonly folder: string;
  readonly files: Files;
  /** Bound of all files together. */
  readonly maxBytes: number;
  /** Past which a day goes on in another file. */
  readonly fileBytes: number;
  /** Told the name of a file of which a part is passed over. */
  readonly onDamaged: (name: string) => void;
}

/** A line of an hour, and the file it is in. */
export interface PlacedLine {
  readonly name: string;
  readonly hourMs: EpochMs;
  readonly line: string;
}

export class BandFiles {
  readonly #deps: BandFilesDeps;

  constructor(deps: BandFilesDeps) {
    this.#deps = deps;
  }

  /** Adds lines of one UTC day; durable when it resolves. @throws the disk's fault: what it left of them is passed over. */
  async add(dayMs: EpochMs, lines: string): Promise<void> {
    const { folder, files, fileBytes } = this.#deps;
    await files.makeFolder(folder);
    const day = dayText(dayMs);
    const newest = (await this.#names()).filter((name) => name.startsWith(`bands-${day}`)).at(-1);
    const bytes = newest === undefined ? 0 : ((await files.facts(join(folder, newest)))?.bytes ?? 0);
    const part = Number(NAME.exec(newest ?? '')?.[2] ?? 0);
    const isFull = bytes > fileBytes && part < MAX_PARTS_OF_A_DAY;
    const isNew = newest === undefined || isFull;
    const path = join(folder, `bands-${day}-${String(isFull ? part + 1 : part).padStart(2, '0')}.jsonl`);
    const at = isNew ? 0 : bytes;
    const file = await files.open(path, isNew ? 'replace' : 'update');
    try {
      // A line feed first: a line that a crash cut off must not swallow the next.
      await file.write(Buffer.from(at === 0 ? HEADER + lines : `\n${lines}`), at);
      await file.datasync();
    } catch (error) {
      await file.truncate(at).catch(() => {});
      throw error;
    } finally {
      await file.close();
    }
    if (isNew) await files.syncFolder(folder);
  }

  /** Lines of hours in `[fromMs, toMs)`, the oldest file first. */
  async *read(fromMs: EpochMs, toMs: EpochMs): AsyncGenerator<PlacedLine> {
    const { folder, files, maxBytes, onDamaged } = this.#deps;
    const [firstDay, lastDay] = [dayText(fromMs), dayText(toMs - 1)];
    const names = (await this.#names()).filter((name) => dayIn(name) >= firstDay && dayIn(name) <= lastDay);
    for (const name of names) {
      const bytes = await readWhole(files, join(folder, name), { limitBytes: 2 * maxBytes }).catch(() => {
        onDamaged(name);
        return undefined;
      });
      const [header, ...lines] = (bytes?.toString('latin1') ?? '').split('\n');
      if (bytes !== undefined && `${header}\n` !== HEADER) onDamaged(name);
      for (const line of lines) {
        const hourMs = hourOfLine(line);
        if (hourMs === undefined && line !== '') onDamaged(name);
        if (hourMs !== undefined && hourMs >= fromMs && hourMs < toMs) yield { name, hourMs, line };
      }
    }
  }

  /** Removes days that are over for long, and the oldest files beyond the bound. */
  async prune(nowMs: EpochMs): Promise<void> {
    const { folder, files, maxBytes } = this.#deps;
    const newest = dayText(nowMs + DAY_MS);
    const days = new Set<string>();
    let sum = 0;
    for (const name of (await this.#names()).toReversed()) {
      const path = join(folder, name);
      sum += (await files.facts(path))?.bytes ?? 0;
      days.add(dayIn(name));
      // Days are counted, not dated: a clock that is ahead for an hour must not cost the week. It leaves days that nobody would reach for years.
      if (sum > maxBytes || days.size > KEPT_DAYS + 1 || dayIn(name) > newest)
        await files.unlink(path).catch(undefinedWhenMissing);
    }
  }

  async #names(): Promise<string[]> {
    const names = (await this.#deps.files.list(this.#deps.folder).catch(undefinedWhenMissing)) ?? [];
    return names.filter((name) => NAME.test(name)).sort();
  }
}

/** `20261128`. */
function dayText(ts: EpochMs): string {
  return new Date(ts).toISOString().slice(0, 10).replaceAll('-', '');
}

function dayIn(name: string): string {
  return NAME.exec(name)?.[1] ?? '';
}
