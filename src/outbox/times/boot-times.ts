/**
 * From ms since a boot to UTC. Each boot has a table of offsets (wall minus monotonic), each good from some moment on. The one in use
 * is frozen at its first use and synced before that, so that a retry, a restart or a step of the clock changes no time that was sent; after a
 * step another one follows it.
 *
 *   boot-1  never synchronised     ?────────?        decided between its neighbours when they leave little room
 *   boot-2  synchronised at 12:03  ────────────▶     the same offset serves entries of before 12:03
 */
import type { OutboxConfig } from '../../config/schema/agent-config.ts';
import { wallOffsetMs } from '../../host/clock.ts';
import type { TimeSync } from '../../host/time-sync.ts';
import type { OutboxPlace } from '../segments/outbox-place.ts';
import { SerialQueue } from '../segments/serial-queue.ts';
import type { SmallFileDeps } from '../segments/small-file.ts';
import {
  hullOf,
  type Look,
  MAX_OFFSETS,
  offsetAt,
  offsetsAfter,
  type Span,
  stretchOf,
  type TimeStretch,
} from './boot-offsets.ts';
import { type BootRecord, readBoots, writeBoots } from './boot-table.ts';
import { KnownBoots, ranSince } from './known-boots.ts';

export type TimeSource = Pick<TimeSync, 'isSynchronised' | 'onChange'>;

interface BootTimesDeps extends OutboxPlace {
  readonly timeSync: TimeSource;
  readonly settings: Pick<OutboxConfig, 'timeUncertain'>;
}

export class BootTimes {
  readonly #deps: BootTimesDeps;
  readonly #boots: KnownBoots;
  /** Something in the table is not durable yet. */
  dirty = false;
  /** Up to here no step of the clock moves entries of this boot. */
  #heldMs = 0;
  /** When the clock was last seen to agree with what is known of it. */
  #agreedMs = 0;
  /** All times of this boot that this process gave out as a guess lie in it. */
  #guessed: Span | undefined;
  readonly #saving = new SerialQueue();

  private constructor(deps: BootTimesDeps, boots: BootRecord[]) {
    this.#deps = deps;
    this.#boots = new KnownBoots(boots);
    this.#begin();
    const last = this.#current().offsets.at(-1);
    // Which of it an earlier process gave out is not known.
    if (last?.certainty === 'guessed') this.#guessed = [0, Math.floor(deps.clock.monotonicMs())];
  }

  /** Reads the table; where none is left, boots of before are undecided. `refresh` is to follow. @throws as `readBoots`. */
  static async open(deps: BootTimesDeps & SmallFileDeps): Promise<BootTimes> {
    const { boots, isWhole } = await readBoots(deps);
    const times = new BootTimes(deps, boots);
    times.dirty ||= !isWhole;
    return times;
  }

  /**
   * An entry of a boot has this ms: the boot ran for that long at least, and no step of the clock moves entries of before. A boot that is
   * not in the table (it was lost, or had no room) comes right after the one whose entries lie before.
   */
  observe(bootId: string, lastMs: number, afterId?: string): void {
    const boot = this.#boots.find(bootId);
    if (boot === undefined) this.#boots.insert({ bootId, lastMs, guessMs: 0, offsets: [] }, afterId);
    else if (lastMs > boot.lastMs) this.#replace({ ...boot, lastMs });
  }

  /** Keeps no more boots than are needed: from this one on something waits for its times, or nothing does. */
  forgetOld(neededId: string | undefined): void {
    const boots = this.#boots.forgetOld(neededId);
    if (boots > 0)
      this.#deps.log.warn(
        { boots },
        'readings of too many starts wait: what the oldest of them took waits for a time until it is too old',
      );
  }

  /** Takes over what the clock says now, when it can be believed. Times that were given out stay. Call it when the clock changes. */
  refresh(): void {
    const { clock, timeSync, log } = this.#deps;
    const offsetMs = timeSync.isSynchronised() ? wallOffsetMs(clock) : undefined;
    if (offsetMs === undefined) return;
    const nowMs = Math.floor(clock.monotonicMs());
    const known = this.#current().offsets.at(-1);
    const isNew = this.#follow({ offsetMs, sinceMs: this.#agreedMs, heldMs: this.#heldMs });
    this.#agreedMs = nowMs;
    if (!isNew || known === undefined || known.certainty === 'guessed') return;
    log.info({ stepMs: offsetMs - known.offsetMs }, 'the clock has stepped; readings from now on follow it');
    if (this.#current().offsets.length === MAX_OFFSETS)
      log.warn(
        {},
        'the clock has stepped too often in this boot: readings of before its oldest steps are sent as uncertain',
      );
  }

  /** True when times of a boot can be given out, under the policy for uncertain ones. */
  canResolve(bootId: string): boolean {
    return this.#deps.settings.timeUncertain === 'send' || this.isDecided(bootId);
  }

  /** True when times of a boot are known. */
  isDecided(bootId: string): boolean {
    this.refresh();
    const boot = this.#boots.find(bootId);
    if (boot === undefined) return false;
    return boot.offsets.some((offset) => offset.certainty !== 'guessed') || this.#boots.decide(boot) !== undefined;
  }

  /** True when the boot has a place among the others. */
  isKnown(bootId: string): boolean {
    return this.#boots.find(bootId) !== undefined;
  }

  /** The wall time of a moment of a boot, for reading: UTC epoch ms; freezes nothing. */
  look(bootId: string, ms: number): number | undefined {
    const stretch = this.stretchAt(bootId, ms);
    return stretch === undefined ? undefined : ms + stretch.offsetMs;
  }

  /** Returns what is known of the times around an age of a boot; undefined when nothing is. */
  stretchAt(bootId: string, ms: number): TimeStretch | undefined {
    const boot = this.#boots.find(bootId);
    const offset = boot === undefined ? undefined : (offsetAt(boot, ms) ?? this.#boots.decide(boot));
    return boot === undefined || offset === undefined ? undefined : stretchOf(boot, offset);
  }

  /** For how long machines ran since a moment of a boot, ms: no less has passed for certain, whatever a clock says. */
  ranSince(bootId: string, ms: number): number {
    return ranSince(
      this.#boots.list,
      { bootId, ms },
      { bootId: this.#deps.clock.bootId, ms: this.#deps.clock.monotonicMs() },
    );
  }

  /** Like `stretchAt`, but what it answers will never change: a batch is about to carry it. `save` must follow before it leaves. */
  freeze(bootId: string, ms: number): TimeStretch {
    this.give(bootId, ms, ms);
    const boot = this.#boots.find(bootId) ?? this.#adopt(bootId, ms);
    const known = offsetAt(boot, ms);
    if (known?.frozen === true) return stretchOf(boot, known);
    const offset = {
      ...(known ??
        this.#boots.decide(boot) ?? { fromMs: 0, offsetMs: this.#guess(boot), certainty: 'guessed' as const }),
      frozen: true,
    };
    const others = boot.offsets.filter((other) => other !== known);
    const frozen = { ...boot, offsets: [...others, offset].sort((a, b) => a.fromMs - b.fromMs) };
    this.#replace(frozen);
    return stretchOf(frozen, offset);
  }

  /** By what the clock says now these have their times, long before they are on the disk: it may step, or the machine be suspended, until then. */
  take(entries: readonly { readonly bootId: string; readonly monotonicMs: number }[]): void {
    this.refresh();
    for (const { bootId, monotonicMs } of entries) this.hold(bootId, Math.floor(monotonicMs));
  }

  /** Fixes the times of a boot up to this ms: its entries are committed or given out, and no later step of the clock moves them. */
  hold(bootId: string, lastMs: number): void {
    if (bootId === this.#deps.clock.bootId) this.#heldMs = Math.max(this.#heldMs, lastMs);
  }

  /** Times of these moments of a boot are about to be given out: no step of the clock moves them, and a guess stays one. */
  give(bootId: string, firstMs: number, lastMs: number): void {
    this.hold(bootId, lastMs);
    const isOfThis = bootId === this.#deps.clock.bootId;
    const { certainty = 'guessed' } = (isOfThis ? this.#current().offsets.at(-1) : undefined) ?? {};
    if (isOfThis && certainty === 'guessed') this.#guessed = hullOf(this.#guessed, [firstMs, lastMs]);
  }

  /** Makes the table durable when something in it changed. */
  save(): Promise<void> {
    return this.#saving.run(async () => {
      if (!this.dirty) return;
      this.dirty = false;
      try {
        await writeBoots(this.#deps, this.#boots.list);
      } catch (error) {
        this.dirty = true;
        throw error;
      }
    });
  }

  /** Takes up a look at the clock. Returns true when it says anything new. */
  #follow(look: Omit<Look, 'guessed'>): boolean {
    const boot = this.#current();
    // Entries on the disk from before this process may all have been given out.
    const guessed = this.#guessed?.[0] === 0 ? hullOf(this.#guessed, [0, boot.lastMs]) : this.#guessed;
    const offsets = offsetsAfter(boot, { ...look, guessed });
    if (offsets !== undefined) this.#replace({ ...boot, offsets });
    return offsets !== undefined;
  }

  #begin(): void {
    const { clock } = this.#deps;
    if (this.#boots.find(clock.bootId) !== undefined) return;
    const guessMs = Math.round(clock.wallMs() - clock.monotonicMs());
    this.#boots.push({ bootId: clock.bootId, lastMs: 0, guessMs, offsets: [] });
    this.dirty = true;
  }

  #current(): BootRecord {
    return this.#boots.find(this.#deps.clock.bootId) ?? this.#adopt(this.#deps.clock.bootId, 0);
  }

  #adopt(bootId: string, lastMs: number): BootRecord {
    const boot = { bootId, lastMs, guessMs: 0, offsets: [] };
    this.#boots.insert(boot);
    this.dirty = true;
    return boot;
  }

  /** The boot's own clock, or, for a boot that nothing is known of, as if it had ended when this one began. */
  #guess(boot: BootRecord): number {
    if (boot.guessMs !== 0) return boot.guessMs;
    return Math.round(this.#deps.clock.wallMs() - this.#deps.clock.monotonicMs() - boot.lastMs);
  }

  #replace(by: BootRecord): void {
    this.#boots.replace(by);
    this.dirty = true;
  }
}
