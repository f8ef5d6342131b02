/** Talks to systemd: readiness, status, watchdog. Without systemd (NOTIFY_SOCKET not set) every call does nothing. */
import type { Clock } from './clock.ts';
import type { Environment } from './environment.ts';
import { nativeAddon } from './native-addon.ts';

interface NotifyAddon {
  notify(socketPath: string, message: string): void;
}

export class SystemdNotifier {
  readonly #socketPath: string | undefined;
  /** How often systemd expects a ping, ms; undefined when no watchdog is set. */
  readonly #watchdogMs: number | undefined;
  #isStopping = false;

  constructor(environment: Environment) {
    this.#socketPath = environment.NOTIFY_SOCKET;
    const watchdogUs = Number(environment.WATCHDOG_USEC);
    const mine = environment.WATCHDOG_PID === undefined || environment.WATCHDOG_PID === String(process.pid);
    this.#watchdogMs = mine && Number.isFinite(watchdogUs) && watchdogUs > 0 ? watchdogUs / 1000 : undefined;
  }

  /** Start-up has finished; sd_notify(3) READY=1. */
  ready(status: string): void {
    this.#send(`READY=1\nSTATUS=${status}`);
  }

  reloading(monotonicMs: number): void {
    this.#send(`RELOADING=1\nMONOTONIC_USEC=${Math.round(monotonicMs * 1000)}`);
  }

  status(status: string): void {
    this.#send(`STATUS=${status}`);
  }

  /** Shutting down; `extendMs` asks for that much more time than TimeoutStopSec. */
  stopping(extendMs?: number): void {
    this.#isStopping = true;
    this.#send(
      extendMs === undefined ? 'STOPPING=1' : `STOPPING=1\nEXTEND_TIMEOUT_USEC=${Math.round(extendMs * 1000)}`,
    );
  }

  /** Tells systemd that the loop turns, at half the time it allows, until the agent stops. */
  keepAlive(clock: Pick<Clock, 'after'>): void {
    if (this.#watchdogMs === undefined || this.#isStopping) return;
    this.#send('WATCHDOG=1');
    clock.after(this.#watchdogMs / 2, () => this.keepAlive(clock));
  }

  #send(message: string): void {
    if (this.#socketPath === undefined) return;
    try {
      nativeAddon<NotifyAddon>().notify(this.#socketPath, message);
    } catch {
      // systemd that does not listen is no reason to stop: its own timeouts decide.
    }
  }
}
