/** Alerts by name, for the log, the status and `doctor`. They live as long as the process; one that still holds is raised again at the next start. */
import type { Told } from '../errors/sentence.ts';
import { english } from '../names/sentences.ts';
import type { Log } from './log.ts';

/** For who raises them: each by name, standing until it is cleared. */
export type Alerts = Pick<AlertList, 'raise' | 'clear'>;

export class AlertList {
  readonly #log: Log;
  readonly #alerts = new Map<string, Told>();

  constructor(log: Log) {
    this.#log = log;
  }

  /** Another message takes the place of the one before; the same one says nothing new. */
  raise(name: string, told: Told): void {
    const before = this.#alerts.get(name);
    const message = english(told);
    if (before !== undefined && english(before) === message) return;
    this.#alerts.set(name, told);
    this.#log.error({ alert: name }, message);
  }

  /** Does nothing when it is not raised. */
  clear(name: string): void {
    if (this.#alerts.delete(name)) this.#log.info({ alert: name }, 'the alert is over');
  }

  isRaised(name: string): boolean {
    return this.#alerts.has(name);
  }

  /** In words. */
  list(): readonly string[] {
    return this.told().map(english);
  }

  told(): readonly Told[] {
    return [...this.#alerts.values()];
  }
}
