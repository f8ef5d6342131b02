/**
 * Whether the wall clock can be believed. systemd-timesyncd leaves a marker when it has synchronised since boot; chrony and ntpd are
 * asked through the kernel's own flag by `timedatectl`. A plausible date of the platform can stand in, by policy.
 */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import type { Clock } from './clock.ts';

/** Made by systemd-timesyncd(8) at the first synchronisation of a boot. */
const SYNCHRONISED_MARKER = '/run/systemd/timesync/synchronized';
/** How often an unsynchronised clock is looked at; once synchronised it stays so until the next boot. */
const LOOK_EVERY_MS = 5_000;
/** A platform's date this close to ours confirms ours: HTTP dates have whole seconds, and a poll takes a while. */
const PLAUSIBLE_DIFFERENCE_MS = 60_000;

/** `system`: only the operating system's word counts. `platform`: the platform's Date header may confirm the clock. `always`: the clock is believed. */
export type TimeSyncPolicy = 'system' | 'platform' | 'always';

export class TimeSync {
  readonly #clock: Clock;
  readonly #policy: TimeSyncPolicy;
  readonly #ask: () => Promise<boolean>;
  readonly #listeners = new Set<() => void>();
  #synchronised = false;
  #cancelLook: () => void = () => {};
  #closed = false;

  constructor(deps: { readonly clock: Clock; readonly policy: TimeSyncPolicy; readonly ask?: () => Promise<boolean> }) {
    this.#clock = deps.clock;
    this.#policy = deps.policy;
    this.#ask = deps.ask ?? askSystem;
  }

  /** Looks once, and then until synchronised. */
  async start(): Promise<void> {
    if (this.#policy === 'always') this.#become();
    else await this.#look();
  }

  isSynchronised(): boolean {
    return this.#synchronised;
  }

  /** Calls back when the clock becomes synchronised; the returned function ends it. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** A date the platform named just now, UTC epoch ms. */
  heardPlatformDate(platformMs: number): void {
    if (this.#policy !== 'platform' || this.#synchronised) return;
    if (Math.abs(platformMs - this.#clock.wallMs()) <= PLAUSIBLE_DIFFERENCE_MS) this.#become();
  }

  close(): void {
    this.#closed = true;
    this.#cancelLook();
  }

  async #look(): Promise<void> {
    if (this.#synchronised || this.#closed) return;
    if (await this.#ask().catch(() => false)) this.#become();
    else if (!this.#closed) this.#cancelLook = this.#clock.after(LOOK_EVERY_MS, () => void this.#look());
  }

  #become(): void {
    if (this.#synchronised) return;
    this.#synchronised = true;
    for (const listener of this.#listeners) listener();
  }
}

async function askSystem(): Promise<boolean> {
  if (existsSync(SYNCHRONISED_MARKER)) return true;
  return new Promise((resolve) => {
    execFile('timedatectl', ['show', '--property=NTPSynchronized', '--value'], { timeout: 2_000 }, (error, stdout) => {
      resolve(error === null && stdout.trim() === 'yes');
    });
  });
}
