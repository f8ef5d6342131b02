/**
 * Contact with the platform: one state, fed by every exchange of this process. All that is said to people about the platform is made of it.
 *
 *   never-reached ── answer ──► reached ── no answer ──► lost
 *                                  └─ 401, 403, 404 ──► refused      └─ somebody else answers ──► blocked
 *
 * A fault of a contact that stood counts after five seconds, as one broken connection is no loss; before the first answer it counts at once.
 */
import { untilAborted } from '../host/bounded-wait.ts';
import type { Clock } from '../host/clock.ts';
import type { Log } from '../host/log.ts';
import { Listeners } from '../values/listeners.ts';
import type { Answer, Verdict } from './answer-or-portal.ts';
import {
  type ContactFault,
  type ContactPlace,
  type ContactReason,
  faultOfAnswer,
  faultOfError,
} from './contact-faults.ts';
import type { PlatformError } from './platform-error.ts';

export const CONTACT_STATES = ['never-reached', 'reached', 'lost', 'refused', 'blocked'] as const;
export type ContactState = (typeof CONTACT_STATES)[number];

/** Times are monotonic ms since boot. */
export interface ContactStatus extends Partial<ContactFault> {
  readonly state: ContactState;
  /** Start of the fault, or of the contact. */
  readonly sinceMs: number;
  /** Last answer of the platform itself. */
  readonly lastHeardAtMs?: number;
  /** Last upload of telemetry or attributes that it acknowledged. */
  readonly lastAcknowledgedAtMs?: number;
}

/** Told the outcome of each exchange. */
export interface ContactObserver {
  answered(verdict: Verdict, answer: Answer, place: ContactPlace): void;
  failed(error: PlatformError, place: ContactPlace): void;
  /** The platform has accepted telemetry or attributes. */
  acknowledged(): void;
}

export interface ContactDeps {
  readonly clock: Pick<Clock, 'monotonicMs' | 'after'>;
  readonly log: Pick<Log, 'info' | 'error'>;
  /** Addresses of this machine but its loopback's. */
  readonly networkAddresses: () => readonly string[];
}

const COUNTS_AFTER_MS = 5_000;
/** A platform that was absent for so long has restarted, and may have lost what it acknowledged last. */
const RESTARTED_AFTER_MS = 10_000;
/** A broken connection is no sign of it: an idle one is reset by anything on the way. */
const ABSENT: ReadonlySet<ContactReason> = new Set(['connection-refused', 'unavailable']);
const REFUSALS: ReadonlySet<ContactReason> = new Set(['token-refused', 'device-refused', 'no-device-api']);
const BLOCKS: ReadonlySet<ContactReason> = new Set(['portal', 'https-wanted', 'proxy-login', 'proxy-refuses']);

export class Contact implements ContactObserver {
  readonly #deps: ContactDeps;
  #sinceMs: number;
  #lastHeardAtMs: number | undefined;
  #lastAcknowledgedAtMs: number | undefined;
  #fault: { readonly what: ContactFault; readonly sinceMs: number } | undefined;
  /** Problems of this fault that the log has: two ways to fail take turns. */
  readonly #logged = new Set<string>();
  #absentSinceMs: number | undefined;
  readonly #restarted = new Listeners<[lastHeardAtMs: number]>();
  readonly #changes = new Listeners<[ContactStatus]>();
  #cancelCount: (() => void) | undefined;
  /** Resolves at the next answer of the platform. */
  #nextHeard = Promise.withResolvers<void>();

  /** Calls back at the first answer after a restart of the platform, with the time of its last answer before; the returned function ends it. */
  readonly onRestarted = this.#restarted.add;
  /** Calls back when the platform is reached, and with each other fault once it counts; the returned function ends it. */
  readonly onChange = this.#changes.add;

  constructor(deps: ContactDeps) {
    this.#deps = deps;
    this.#sinceMs = deps.clock.monotonicMs();
  }

  get status(): ContactStatus {
    const fault = this.#counts() ? this.#fault : undefined;
    return {
      state: fault === undefined ? this.#stateWithoutFault() : this.#stateIn(fault.what),
      sinceMs: fault?.sinceMs ?? this.#sinceMs,
      ...fault?.what,
      lastHeardAtMs: this.#lastHeardAtMs,
      lastAcknowledgedAtMs: this.#lastAcknowledgedAtMs,
    };
  }

  answered(verdict: Verdict, answer: Answer, place: ContactPlace): void {
    const fault = faultOfAnswer(verdict, answer, place);
    if (fault === undefined) this.#heard();
    else this.#fail(fault);
  }

  failed(error: PlatformError, place: ContactPlace): void {
    if (error.code === 'platform/aborted') return;
    this.#fail(faultOfError(error, place, this.#deps.networkAddresses().length > 0));
  }

  acknowledged(): void {
    this.#lastAcknowledgedAtMs = this.#deps.clock.monotonicMs();
  }

  /** True while the platform refuses this device, be it for a moment that does not count yet. */
  get isRefused(): boolean {
    return this.#fault !== undefined && REFUSALS.has(this.#fault.what.reason);
  }

  /** Resolves at once, unless the platform is away: then when it has answered. For those who ask it beside others. @throws the signal's reason. */
  async untilReached(signal: AbortSignal): Promise<void> {
    const isReached = this.#fault === undefined ? this.#lastHeardAtMs !== undefined : this.isRefused;
    if (!isReached) await untilAborted(this.#nextHeard.promise, signal);
  }

  /** Ends the wait before a fault counts. Idempotent. */
  close(): void {
    this.#cancelCount?.();
  }

  #heard(): void {
    const nowMs = this.#deps.clock.monotonicMs();
    this.#cancelCount?.();
    this.#cancelCount = undefined;
    this.#nextHeard.resolve();
    this.#nextHeard = Promise.withResolvers();
    const isNew = this.#logged.size > 0 || this.#lastHeardAtMs === undefined;
    if (isNew) {
      this.#sinceMs = nowMs;
      this.#deps.log.info({ contact: 'reached' }, 'the platform is reached');
    }
    this.#logged.clear();
    this.#fault = undefined;
    const [absentSinceMs = nowMs, lastHeardAtMs] = [this.#absentSinceMs, this.#lastHeardAtMs];
    this.#absentSinceMs = undefined;
    this.#lastHeardAtMs = nowMs;
    if (isNew) this.#changes.tell(this.status);
    if (lastHeardAtMs !== undefined && nowMs - absentSinceMs >= RESTARTED_AFTER_MS) this.#restarted.tell(lastHeardAtMs);
  }

  #fail(what: ContactFault): void {
    const { clock } = this.#deps;
    if (ABSENT.has(what.reason)) this.#absentSinceMs ??= clock.monotonicMs();
    this.#fault = { what, sinceMs: this.#fault?.sinceMs ?? clock.monotonicMs() };
    if (this.#counts()) this.#logFault();
    else this.#cancelCount ??= clock.after(COUNTS_AFTER_MS, () => this.#logFault());
  }

  #logFault(): void {
    const { what } = this.#fault ?? {};
    if (what === undefined || this.#logged.has(what.problem)) return;
    this.#logged.add(what.problem);
    this.#deps.log.error({ contact: this.#stateIn(what), reason: what.reason }, faultText(what));
    this.#changes.tell(this.status);
  }

  #counts(): boolean {
    if (this.#fault === undefined) return false;
    return this.#lastHeardAtMs === undefined || this.#deps.clock.monotonicMs() - this.#fault.sinceMs >= COUNTS_AFTER_MS;
  }

  #stateWithoutFault(): ContactState {
    return this.#lastHeardAtMs === undefined ? 'never-reached' : 'reached';
  }

  #stateIn({ reason }: ContactFault): ContactState {
    if (REFUSALS.has(reason)) return 'refused';
    if (BLOCKS.has(reason)) return 'blocked';
    return this.#lastHeardAtMs === undefined ? 'never-reached' : 'lost';
  }
}

/** Problem and remedy as the one sentence that every place shows. */
export function faultText({ problem, remedy }: Pick<ContactFault, 'problem' | 'remedy'>): string {
  return `${problem}; ${remedy}`;
}
