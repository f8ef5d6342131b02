/**
 * The record on the disk: lines of hours, in a log for each UTC day; a day that outgrows its file goes on in another one. Days that are over for
 * long go, and the oldest of what is more than the bound.
 */
import type { EpochMs } from '../host/clock.ts';
import type { Files } from '../host/files.ts';
import { RecordLogs } from '../store/record-logs.ts';
import { type HourLine, hourOfLine } from './band-lines.ts';

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

/** A line of an hour with the file it is in. */
export interface PlacedLine extends HourLine {
  readonly name: string;
}

export class BandFiles {
  readonly #deps: BandFilesDeps;
  readonly #logs: RecordLogs<HourLine>;

  constructor(deps: BandFilesDeps) {
    this.#deps = deps;
    this.#logs = new RecordLogs({
      files: deps.files,
      folder: deps.folder,
      name: NAME,
      format: 'turnstone-bands',
      version: 1,
      limitBytes: 2 * deps.maxBytes,
      lineOf: ({ line }) => line,
      recordOf: (line) => {
        const hourMs = hourOfLine(line);
        return hourMs === undefined ? undefined : { hourMs, line };
      },
    });
  }

  /** Adds lines of one UTC day; durable when it resolves. @throws the disk's fault. */
  async add(dayMs: EpochMs, lines: readonly HourLine[]): Promise<void> {
    const day = dayText(dayMs);
    const newest = (await this.#logs.names()).filter((name) => dayIn(name) === day).at(-1) ?? nameOf(day, 0);
    const part = Number(NAME.exec(newest)?.[2] ?? 0);
    const isFull = part < MAX_PARTS_OF_A_DAY && (await this.#logs.logToWrite(newest).size()) > this.#deps.fileBytes;
    await this.#logs.logToWrite(isFull ? nameOf(day, part + 1) : newest).append(lines, { isDurable: true });
  }

  /** Lines of hours in `[fromMs, toMs)`, the oldest file first. */
  async *read(fromMs: EpochMs, toMs: EpochMs): AsyncGenerator<PlacedLine> {
    const [firstDay, lastDay] = [dayText(fromMs), dayText(toMs - 1)];
    const names = (await this.#logs.names()).filter((name) => dayIn(name) >= firstDay && dayIn(name) <= lastDay);
    for (const name of names) {
      const found = await this.#logs
        .logToRead(name)
        .read()
        .catch(() => undefined);
      if (found === undefined || found.isForeign || found.damaged.length > 0) this.#deps.onDamaged(name);
      for (const { hourMs, line } of found?.values ?? [])
        if (hourMs >= fromMs && hourMs < toMs) yield { name, hourMs, line };
    }
  }

  /** Removes days that are over for long, and the oldest files beyond the bound. */
  async prune(nowMs: EpochMs): Promise<void> {
    const newest = dayText(nowMs + DAY_MS);
    const days = new Set<string>();
    let sum = 0;
    for (const name of (await this.#logs.names()).toReversed()) {
      sum += await this.#logs.bytesOf(name);
      days.add(dayIn(name));
      // Days are counted, not dated: a clock that is ahead for an hour must not cost the week. It leaves days that nobody would reach for years.
      if (sum > this.#deps.maxBytes || days.size > KEPT_DAYS + 1 || dayIn(name) > newest) await this.#logs.remove(name);
    }
  }
}

function nameOf(day: string, part: number): string {
  return `bands-${day}-${String(part).padStart(2, '0')}.jsonl`;
}

/** `20261128`. */
function dayText(ts: EpochMs): string {
  return new Date(ts).toISOString().slice(0, 10).replaceAll('-', '');
}

function dayIn(name: string): string {
  return NAME.exec(name)?.[1] ?? '';
}
