/** Alerts by name, for the log, the status and `doctor`. They live as long as the process; one that still holds is raised again at the next start. */
import type { Log } from './log.ts';

/** For who raises them: each by name, standing until it is cleared. */
export type Alerts = Pick<AlertList, 'raise' | 'clear'>;

export class AlertList {
  readonly #log: Log;
  readonly #alerts = new Map<string, string>();

  constructor(log: Log) {
    this.#log = log;
  }

  /** Another message takes the place of the one before; the same one says nothing new. */
  raise(name: string, message: string): void {
    if (this.#alerts.get(name) === message) return;
    this.#alerts.set(name, message);
    this.#log.error({ alert: name }, message);
  }

  /** Does nothing when it is not raised. */
  clear(name: string): void {
    if (this.#alerts.delete(name)) this.#log.info({ alert: name }, 'the alert is over');
  }

  isRaised(name: string): boolean {
    return this.#alerts.has(name);
  }

  list(): readonly string[] {
    return [...this.#alerts.values()];
  }
}
