/**
 * The access token in use: where it comes from, what happens when the platform refuses it, and how it is replaced while running.
 *
 *   rotation:  next token offered → synced beside the present one → the platform changes over → 401, or a probe that succeeds
 *              → next becomes present, synced → used with success → the old one is forgotten
 *
 * At every instant the token that the platform accepts is on disk, so a rotation can be cut short anywhere.
 */
import { AgentError } from '../errors.ts';
import { Backoff } from '../host/backoff.ts';
import type { Clock } from '../host/clock.ts';
import type { Log } from '../host/log.ts';
import { isAccessToken } from './access-token.ts';
import type { Alerts } from './alerts.ts';
import type { CredentialsPlace, CredentialsRecord } from './credentials-record.ts';
import type { CredentialsStore } from './credentials-store.ts';

export interface DeviceTokenDeps {
  readonly store: CredentialsStore;
  readonly place: CredentialsPlace;
  readonly tokenWorks: (token: string, signal: AbortSignal) => Promise<boolean>;
  readonly clock: Clock;
  readonly log: Log;
  readonly alerts: Alerts;
  readonly hide: (secret: string) => void;
  /** Provisions anew; absent when the configuration does not ask for it, or cannot. */
  readonly reprovision?: (signal: AbortSignal) => Promise<CredentialsRecord>;
  readonly random?: () => number;
}

/** How often the next token is tried while the present one still works: soon after it was offered, then now and then. */
const PROBE_BACKOFF = { firstMs: 5_000, maxMs: 3_600_000 };
/** One 401 may be a platform that has just started: this many, over this long, are its real opinion. */
const REFUSALS_BEFORE_REPROVISION = 3;
const REFUSED_FOR_MS = 60_000;
const REFUSED_ALERT = 'token-refused';

export class DeviceToken {
  readonly #deps: DeviceTokenDeps;
  readonly #first: CredentialsRecord;
  #refusals = 0;
  #refusedSinceMs = 0;
  #settling: Promise<boolean> | undefined;
  #wake: () => void = () => {};

  /** Takes credentials that are in use. */
  constructor(deps: DeviceTokenDeps, record: CredentialsRecord) {
    this.#deps = deps;
    this.#first = record;
  }

  /** For the next request. */
  get accessToken(): string {
    return this.record.accessToken;
  }

  /** As it is on disk: a token in use that a power cut forgets would be lost. */
  get record(): CredentialsRecord {
    return this.#deps.store.record(this.#deps.place) ?? this.#first;
  }

  /**
   * The operator is about to make `next` this device's token. Once this resolves, either token will do.
   * @throws AgentError `provisioning/bad-token` (drop), `host/write-failed` (retry): the platform must not change over then.
   */
  async offerNext(next: string): Promise<void> {
    if (!isAccessToken(next)) {
      throw new AgentError('provisioning/bad-token', 'an access token has 1 to 255 printable characters without spaces', {
        recovery: 'drop',
      });
    }
    this.#deps.hide(next);
    if (next === this.record.accessToken) return;
    await this.#save(({ nextToken: replaced, previousTokens = [], ...rest }) => {
      // An offer that replaces another: the platform may have taken up the first one already.
      const previous = replaced === undefined || replaced === next ? previousTokens : [replaced, ...previousTokens];
      return { ...rest, nextToken: next, ...(previous.length === 0 ? {} : { previousTokens: previous }) };
    });
    this.#wake();
  }

  /** A request with this token was accepted: what came before it is forgotten. */
  noteAccepted(token: string): void {
    if (token !== this.record.accessToken) return;
    if (this.#refusals > 0) this.#deps.alerts.clear(REFUSED_ALERT);
    this.#refusals = 0;
    if (this.record.previousTokens === undefined || this.#settling !== undefined) return;
    this.#settling = this.#save(({ previousTokens: _old, ...rest }) => rest)
      .then(
        () => false,
        () => false,
      )
      .finally(() => {
        this.#settling = undefined;
      });
  }

  /** The platform answered 401 to this token. Resolves to whether another one is in use now, so that the request can be repeated at once. */
  async noteRefused(token: string, signal: AbortSignal): Promise<boolean> {
    while (this.#settling !== undefined) await this.#settling;
    if (token !== this.record.accessToken) return true;
    this.#settling = this.#afterRefusal(signal).finally(() => {
      this.#settling = undefined;
    });
    return this.#settling;
  }

  /** Tries a token that was offered until the platform takes it; runs as long as the agent does. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#deps;
    let backoff = new Backoff({ ...PROBE_BACKOFF, ...(random === undefined ? {} : { random }) });
    while (!signal.aborted) {
      const offered = this.record.nextToken;
      const woken = new AbortController();
      this.#wake = () => woken.abort();
      await clock.sleep(offered === undefined ? PROBE_BACKOFF.maxMs : backoff.nextMs(), AbortSignal.any([signal, woken.signal]));
      if (woken.signal.aborted) backoff = new Backoff({ ...PROBE_BACKOFF, ...(random === undefined ? {} : { random }) });
      else if (!signal.aborted && offered !== undefined) await this.#tryOthers([offered], signal);
    }
    this.#wake = () => {};
  }

  async #afterRefusal(signal: AbortSignal): Promise<boolean> {
    const { clock, alerts, reprovision } = this.#deps;
    const { nextToken, previousTokens = [] } = this.record;
    if (await this.#tryOthers([...(nextToken === undefined ? [] : [nextToken]), ...previousTokens], signal)) return true;
    if (this.#refusals === 0) this.#refusedSinceMs = clock.monotonicMs();
    this.#refusals += 1;
    const then = reprovision === undefined ? 'enter the right one, or restore the device there' : 'this device will provision itself anew';
    alerts.raise(REFUSED_ALERT, `the platform refuses this device's access token (401), readings are kept: ${then}`);
    const insists = this.#refusals >= REFUSALS_BEFORE_REPROVISION && clock.monotonicMs() - this.#refusedSinceMs >= REFUSED_FOR_MS;
    if (reprovision === undefined || !insists) return false;
    await reprovision(signal);
    this.#refusals = 0;
    alerts.clear(REFUSED_ALERT);
    return true;
  }

  /** Changes over to the first token that works; a platform that cannot be asked now says nothing about any of them. */
  async #tryOthers(tokens: readonly string[], signal: AbortSignal): Promise<boolean> {
    for (const token of tokens) {
      if (!(await this.#deps.tokenWorks(token, signal).catch(() => false))) continue;
      await this.#save(({ nextToken, previousTokens = [], ...rest }) => {
        const others = [rest.accessToken, ...(nextToken === undefined ? [] : [nextToken]), ...previousTokens].filter(
          (one) => one !== token,
        );
        return { ...rest, accessToken: token, previousTokens: [...new Set(others)] };
      });
      this.#deps.alerts.clear(REFUSED_ALERT);
      this.#deps.log.info({}, 'the access token was changed over');
      return true;
    }
    return false;
  }

  async #save(change: (record: CredentialsRecord) => CredentialsRecord): Promise<void> {
    await this.#deps.store.update(this.#deps.place, change);
  }
}
