/**
 * From ms since a boot to UTC. Each boot has a table of offsets (wall minus monotonic), each good from some moment on. The one in use
 * is frozen at its first use and synced before that, so that a retry, a restart or a step of the clock changes no time that was sent.
 *
 *   boot-1  never synchronised     ?────────?        decided between its neighbours when they leave little room
 *   boot-2  synchronised at 12:03  ────────────▶     the same offset serves entries taken before 12:03
 */

import type { Clock } from '../host/clock.ts';
import { type JsonValue, parseJson, stringifyJson } from '../host/json.ts';
import type { Log } from '../host/log.ts';
import { decideBetween } from './boot-order.ts';
import { type FileLayer, readAll, replaceDurably } from './file-layer.ts';
import { SerialQueue } from './serial-queue.ts';

/** How far an offset can be trusted. `synchronised`: the clock was. `bounded`: its neighbours leave little room. `guessed`: nothing is known. */
export type Certainty = 'synchronised' | 'bounded' | 'guessed';

export interface BootOffset {
  /** Ms since boot from which it holds. */
  readonly fromMs: number;
  /** UTC epoch ms minus ms since boot; whole. */
  readonly offsetMs: number;
  readonly certainty: Certainty;
  /** A time was given out with it. */
  readonly frozen: boolean;
}

export interface BootRecord {
  readonly bootId: string;
  /** Latest entry seen of it, ms since boot. */
  readonly lastMs: number;
  /** What its clock said before anyone could vouch for it. */
  readonly guessMs: number;
  readonly offsets: readonly BootOffset[];
}

/** Part of a boot, `[fromMs, untilMs)` since it began, whose wall times are its own plus an offset. */
export interface TimeStretch {
  readonly fromMs: number;
  readonly untilMs: number;
  readonly offsetMs: number;
  /** They have to be called a guess. */
  readonly uncertain: boolean;
}

export interface TimeSource {
  isSynchronised(): boolean;
  onChange(listener: () => void): () => void;
}

const NAME = 'boots.json';
const FORMAT = 'turnstone-outbox-boots';
const VERSION = 1;
/** More than a boot a day for as long as entries are kept. */
const MOST_BOOTS = 256;
/** A change of a not yet frozen offset below this is measuring noise. */
const SAME_OFFSET_MS = 20;

export interface BootTimesDeps {
  readonly files: FileLayer;
  readonly folder: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly timeSync: TimeSource;
  readonly timeUncertain: 'hold' | 'send';
}

export class BootTimes {
  readonly #deps: BootTimesDeps;
  #boots: BootRecord[];
  #dirty = false;
  readonly #saving = new SerialQueue();

  private constructor(deps: BootTimesDeps, boots: BootRecord[]) {
    this.#deps = deps;
    this.#boots = boots;
  }

  /** Reads the table; a broken one is set aside by the caller's `setAside`, and boots of before are then undecided. */
  static async open(deps: BootTimesDeps, setAside: (name: string) => Promise<void>): Promise<BootTimes> {
    const bytes = await readAll(deps.files, `${deps.folder}/${NAME}`);
    const boots = bytes === undefined ? [] : readTable(bytes);
    if (boots === undefined) await setAside(NAME);
    const times = new BootTimes(deps, boots ?? []);
    times.#begin();
    return times;
  }

  /** An entry of a boot was seen at this ms: how long a boot ran bounds when it began. */
  observe(bootId: string, lastMs: number): void {
    const boot = this.#boots.find((record) => record.bootId === bootId);
    if (boot === undefined) {
      // Older than all that is known: the table was lost, and this boot's log was not.
      this.#boots.unshift({ bootId, lastMs, guessMs: 0, offsets: [] });
    } else if (lastMs > boot.lastMs) this.#replace(boot, { ...boot, lastMs });
  }

  /** Takes over what the clock says now, when it can be believed and no time was given out yet. Call it when the clock changes. */
  refresh(): void {
    const { clock, timeSync } = this.#deps;
    if (!timeSync.isSynchronised()) return;
    const boot = this.#current();
    const now = clock.monotonicMs();
    const offsetMs = Math.round(clock.wallMs() - now);
    const last = boot.offsets.at(-1);
    if (last?.frozen === true && last.certainty !== 'guessed') return;
    if (last?.certainty === 'synchronised' && Math.abs(last.offsetMs - offsetMs) < SAME_OFFSET_MS) return;
    // Times that were sent as guesses stay as they are; those from now on are known.
    const kept = boot.offsets.filter((offset) => offset.frozen);
    const fromMs = kept.length === 0 ? 0 : Math.ceil(now);
    this.#replace(boot, { ...boot, offsets: [...kept, { fromMs, offsetMs, certainty: 'synchronised', frozen: false }] });
  }

  /** Whether times of a boot can be given out, under the policy for uncertain ones. */
  canResolve(bootId: string): boolean {
    return this.#deps.timeUncertain === 'send' || this.isDecided(bootId);
  }

  /** Whether times of a boot are known. */
  isDecided(bootId: string): boolean {
    this.refresh();
    const boot = this.#boots.find((record) => record.bootId === bootId);
    if (boot === undefined) return false;
    return boot.offsets.some((offset) => offset.certainty !== 'guessed') || decideBetween(this.#boots, boot) !== undefined;
  }

  /** The wall time of a moment of a boot, for reading: UTC epoch ms; freezes nothing. */
  look(bootId: string, ms: number): number | undefined {
    const stretch = this.stretchAt(bootId, ms);
    return stretch === undefined ? undefined : ms + stretch.offsetMs;
  }

  /** What is known of the times around a moment of a boot; undefined when nothing is. */
  stretchAt(bootId: string, ms: number): TimeStretch | undefined {
    const boot = this.#boots.find((record) => record.bootId === bootId);
    const offset = boot === undefined ? undefined : (offsetAt(boot, ms) ?? this.#decide(boot));
    return boot === undefined || offset === undefined ? undefined : stretchOf(boot, offset);
  }

  /** Like `stretchAt`, but what it answers will never change: a batch is about to carry it. `save` must follow before it leaves. */
  freeze(bootId: string, ms: number): TimeStretch {
    const boot = this.#boots.find((record) => record.bootId === bootId) ?? this.#adopt(bootId, ms);
    const known = offsetAt(boot, ms);
    if (known?.frozen === true) return stretchOf(boot, known);
    const offset = {
      ...(known ?? this.#decide(boot) ?? { fromMs: 0, offsetMs: this.#guess(boot), certainty: 'guessed' as const }),
      frozen: true,
    };
    const others = boot.offsets.filter((other) => other !== known);
    const frozen = { ...boot, offsets: [...others, offset].sort((a, b) => a.fromMs - b.fromMs) };
    this.#replace(boot, frozen);
    return stretchOf(frozen, offset);
  }

  /** Makes the table durable when something in it changed. */
  save(): Promise<void> {
    return this.#saving.run(() => this.#save());
  }

  get dirty(): boolean {
    return this.#dirty;
  }

  async #save(): Promise<void> {
    if (!this.#dirty) return;
    this.#dirty = false;
    const table = stringifyJson({ format: FORMAT, version: VERSION, boots: this.#boots } as unknown as JsonValue);
    try {
      await replaceDurably(this.#deps.files, this.#deps.folder, NAME, Buffer.from(`${table}\n`));
    } catch (error) {
      this.#dirty = true;
      throw error;
    }
  }

  #begin(): void {
    const { clock } = this.#deps;
    if (!this.#boots.some((boot) => boot.bootId === clock.bootId)) {
      const guessMs = Math.round(clock.wallMs() - clock.monotonicMs());
      this.#boots = [...this.#boots, { bootId: clock.bootId, lastMs: 0, guessMs, offsets: [] }].slice(-MOST_BOOTS);
      this.#dirty = true;
    }
    this.refresh();
  }

  #current(): BootRecord {
    return this.#boots.find((boot) => boot.bootId === this.#deps.clock.bootId) ?? this.#adopt(this.#deps.clock.bootId, 0);
  }

  #adopt(bootId: string, lastMs: number): BootRecord {
    const boot = { bootId, lastMs, guessMs: 0, offsets: [] };
    this.#boots.unshift(boot);
    this.#dirty = true;
    return boot;
  }

  #decide(boot: BootRecord): BootOffset | undefined {
    const offsetMs = boot.offsets.length === 0 ? decideBetween(this.#boots, boot) : undefined;
    return offsetMs === undefined ? undefined : { fromMs: 0, offsetMs, certainty: 'bounded', frozen: false };
  }

  /** The boot's own clock, or, for a boot that nothing is known of, as if it had ended when this one began. */
  #guess(boot: BootRecord): number {
    if (boot.guessMs !== 0) return boot.guessMs;
    return Math.round(this.#deps.clock.wallMs() - this.#deps.clock.monotonicMs() - boot.lastMs);
  }

  #replace(boot: BootRecord, by: BootRecord): void {
    this.#boots = this.#boots.map((record) => (record.bootId === boot.bootId ? by : record));
    this.#dirty = true;
  }
}

/** The offset that holds at a moment; the first one also serves what came before it. */
function offsetAt(boot: BootRecord, ms: number): BootOffset | undefined {
  return boot.offsets.findLast((offset) => offset.fromMs <= ms) ?? boot.offsets[0];
}

function stretchOf({ offsets }: BootRecord, offset: BootOffset): TimeStretch {
  const at = offsets.indexOf(offset);
  return {
    fromMs: at <= 0 ? Number.NEGATIVE_INFINITY : offset.fromMs,
    untilMs: offsets[at + 1]?.fromMs ?? Number.POSITIVE_INFINITY,
    offsetMs: offset.offsetMs,
    uncertain: offset.certainty === 'guessed',
  };
}

function readTable(bytes: Uint8Array): BootRecord[] | undefined {
  try {
    const table = parseJson(Buffer.from(bytes).toString()) as { format?: string; version?: number; boots?: BootRecord[] };
    if (table.format !== FORMAT || !Array.isArray(table.boots)) return undefined;
    const whole = table.boots.every(
      (boot) => typeof boot.bootId === 'string' && Number.isFinite(boot.lastMs) && Array.isArray(boot.offsets),
    );
    return whole ? table.boots : undefined;
  } catch {
    return undefined;
  }
}
