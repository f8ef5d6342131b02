/**
 * The board's own memory: every value it showed and everything done to it, one JSON line each, in a file that no agent touches. It is the
 * witness of every kill test, so a line is with the kernel before the agent can see what it tells of.
 *
 *   {"atMs":…,"wallMs":…,"kind":"shown","source":"i2c-1:0x76","key":"temperature","value":21.53}
 *   {"atMs":…,"wallMs":…,"kind":"moved","source":"gpiochip0:17","key":"GPIO17","value":1}
 *
 * `shown` values are exactly those an agent should report: what the chip's registers mean after the datasheet's integer formula.
 */
import { closeSync, openSync, writeSync } from 'node:fs';
import type { Clock } from '../../host/clock.ts';
import { getOrInsert } from '../../values/get-or-insert.ts';
import { type JsonValue, stringifyJson } from '../../values/json.ts';

/**
 * `shown`: a value left the board. `moved`: an output changed. `written`: an output was set to what it was. `input`: an input changed by
 * itself. `received`: bytes or registers came in. `fault`: one was switched on or off. `started`: the board's process began.
 */
export type RecordKind = 'shown' | 'moved' | 'written' | 'input' | 'received' | 'fault' | 'started';

export interface RecordEntry {
  readonly atMs: number;
  readonly wallMs: number;
  readonly kind: RecordKind;
  /** Where: `gpiochip0:17`, `i2c-1:0x76`, a serial port's path. */
  readonly source: string;
  readonly key: string;
  readonly value: JsonValue;
}

/** Movements that are kept in memory per output, for questions; the file has them all. */
const KEPT_MOVES = 100_000;

export class BoardRecord {
  readonly #clock: Clock;
  readonly #fd: number | undefined;
  readonly #moves = new Map<string, RecordEntry[]>();
  readonly #counts = new Map<string, number>();

  /** @param path appended to; without one the record lives in memory only. */
  constructor(deps: { readonly clock: Clock; readonly path?: string }) {
    this.#clock = deps.clock;
    this.#fd = deps.path === undefined ? undefined : openSync(deps.path, 'a', 0o644);
  }

  add(kind: RecordKind, source: string, key: string, value: JsonValue): RecordEntry {
    const entry: RecordEntry = {
      atMs: this.#clock.monotonicMs(),
      wallMs: this.#clock.wallMs(),
      kind,
      source,
      key,
      value,
    };
    // Synchronous on purpose: this process has no other duty, and a witness that buffers is none.
    if (this.#fd !== undefined) writeSync(this.#fd, `${stringifyJson(entry)}\n`);
    const counted = `${kind} ${key}`;
    this.#counts.set(counted, (this.#counts.get(counted) ?? 0) + 1);
    if (kind === 'moved' || kind === 'input') this.#remember(entry);
    return entry;
  }

  /** Movements of an output or input, oldest first. */
  movesOf(source: string, sinceMs = 0): readonly RecordEntry[] {
    return (this.#moves.get(source) ?? []).filter((entry) => entry.atMs >= sinceMs);
  }

  /** How often each `kind key` was recorded. */
  counts(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#counts);
  }

  /** Call once. */
  close(): void {
    if (this.#fd !== undefined) closeSync(this.#fd);
  }

  #remember(entry: RecordEntry): void {
    const moves = getOrInsert(this.#moves, entry.source, () => []);
    moves.push(entry);
    if (moves.length > KEPT_MOVES) moves.shift();
  }
}
