/** Context of every part of the board: time, the record, the faults that are switched on, and signals by name. */
import { AgentError } from '../../errors/agent-error.ts';
import type { BoardFault } from '../../hardware/board-protocol.ts';
import type { Clock } from '../../host/clock.ts';
import type { BoardRecord } from './board-record.ts';
import { type Instant, type Signal, type SignalConfig, signalOf } from './signals.ts';

export interface BoardContext {
  readonly clock: Clock;
  readonly record: BoardRecord;
  readonly faults: BoardFaults;
  readonly signals: BoardSignals;
}

/** Never resolves: what a caller of hung hardware waits for. */
export const FOREVER = new Promise<never>(() => {});

/** Faults by target: a whole bus (`i2c-1`), one chip (`i2c-1:0x76`), a port's path, `gpio`, `one-wire`. */
export class BoardFaults {
  readonly #faults = new Map<string, BoardFault>();
  readonly #listeners = new Set<(target: string, fault: BoardFault | undefined) => void>();

  set(target: string, fault: BoardFault | undefined): void {
    if (fault === undefined) this.#faults.delete(target);
    else this.#faults.set(target, fault);
    for (const listener of this.#listeners) listener(target, fault);
  }

  /** The fault of the first target that has one. */
  of(...targets: readonly string[]): BoardFault | undefined {
    return targets.map((target) => this.#faults.get(target)).find((fault) => fault !== undefined);
  }

  all(): Readonly<Record<string, BoardFault>> {
    return Object.fromEntries(this.#faults);
  }

  onChange(listener: (target: string, fault: BoardFault | undefined) => void): void {
    this.#listeners.add(listener);
  }
}

/** Signals by target (`i2c-1:0x76/temperature`, `gpiochip0:4`); a bench may hold any of them at a value. */
export class BoardSignals {
  readonly #clock: Clock;
  readonly #seed: number;
  readonly #signals = new Map<string, Signal>();
  readonly #held = new Map<string, number>();
  readonly #listeners = new Map<string, () => void>();

  constructor(clock: Clock, seed: number) {
    this.#clock = clock;
    this.#seed = seed;
  }

  add(target: string, config: SignalConfig): void {
    this.#signals.set(target, signalOf(config, `${this.#seed}/${target}`));
  }

  has(target: string): boolean {
    return this.#held.has(target) || this.#signals.has(target);
  }

  /** The value now; 0 for a target without a signal. */
  value(target: string): number {
    return this.#held.get(target) ?? this.#signals.get(target)?.valueAt(this.#now()) ?? 0;
  }

  /** When a jumping signal next jumps; undefined while it is held. */
  nextChangeMs(target: string): number | undefined {
    return this.#held.has(target) ? undefined : this.#signals.get(target)?.nextChangeMs?.(this.#now());
  }

  hold(target: string, value: number | null): void {
    if (value === null) this.#held.delete(target);
    else this.#held.set(target, value);
    this.#listeners.get(target)?.();
  }

  /** Calls back when a bench takes hold of the target or lets go. */
  onHold(target: string, listener: () => void): void {
    this.#listeners.set(target, listener);
  }

  #now(): Instant {
    return { monotonicMs: this.#clock.monotonicMs(), wallMs: this.#clock.wallMs() };
  }
}

/** A fault that the agent takes for the real adapter's. */
export function boardFault(code: `hardware/${string}`, message: string): AgentError {
  return new AgentError(code, message, { recovery: 'retry' });
}
