/**
 * The access token in use: where it comes from, what happens when the platform refuses it, and how it is replaced while running.
 *
 *   rotation:  next token offered → synced beside the present one → the platform changes over → 401, or a probe that succeeds
 *              → next becomes present, synced → used with success → the old one is forgotten
 *
 * At every instant the token that the platform accepts is on disk, so a rotation can be cut short anywhere.
 */
import { retryable } from '../errors/agent-error.ts';
import { Backoff } from '../host/backoff.ts';
import { SharedWork } from '../host/shared-work.ts';
import { expectAccessToken } from './access-token.ts';
import { type CredentialsPlace, type CredentialsRecord, earlierTokens, tokensOf } from './credentials-record.ts';
import type { ProvisioningDeps } from './provision-device.ts';

export interface DeviceTokenDeps extends Pick<ProvisioningDeps, 'store' | 'tokenWorks' | 'clock' | 'log' | 'hide'> {
  readonly place: CredentialsPlace;
  /** Provisions anew; absent when the configuration does not ask for it, or cannot. */
  readonly reprovision?: (signal: AbortSignal) => Promise<CredentialsRecord>;
}

/** How often the next token is tried while the present one still works: soon after it was offered, then now and then. */
const PROBE_BACKOFF = { firstMs: 5_000, maxMs: 3_600_000 };
/** One 401 may be a platform that has just started: this many, over this long, are its real opinion. */
const REFUSALS_BEFORE_REPROVISION = 3;
const REFUSED_FOR_MS = 60_000;

export class DeviceToken {
  readonly #deps: DeviceTokenDeps;
  readonly #timesReplaced: number;
  readonly #refusal: SharedWork<boolean>;
  #inUse: CredentialsRecord;
  /** Refusals in a row, with no other token accepted either. */
  #refusals = 0;
  #refusedSinceMs = 0;
  #isForgetting = false;
  #wake: () => void = () => {};

  /** Takes credentials that are in use. */
  constructor(deps: DeviceTokenDeps, record: CredentialsRecord) {
    this.#deps = deps;
    this.#inUse = record;
    this.#timesReplaced = deps.store.timesReplaced;
    this.#refusal = new SharedWork((signal) => this.#afterRefusal(signal));
  }

  /** For the next request. */
  get accessToken(): string {
    return this.record.accessToken;
  }

  /**
   * The record in use. A token that is only proposed is not: the platform may never have heard of it. Nor is an identity that has replaced
   * this one: it counts from the next start, and what was measured until then belongs to this one.
   */
  get record(): CredentialsRecord {
    const { store, place } = this.#deps;
    const kept = this.#isReplaced ? undefined : store.record(place);
    if (kept?.phase === 'in-use') this.#inUse = kept;
    return this.#inUse;
  }

  /**
   * The operator is about to make `next` this device's token. Once this resolves, either token will do.
   * @throws AgentError `provisioning/bad-token` (drop), `host/write-failed` (retry): the platform must not change over then.
   */
  async offerNext(next: string): Promise<void> {
    expectAccessToken(next);
    this.#deps.hide(next);
    if (next === this.record.accessToken) return;
    if (this.#isReplaced) {
      throw retryable(
        'provisioning/replaced',
        'another identity is about to be taken up: rotate its token after the restart',
      );
    }
    await this.#deps.store.update(this.#deps.place, ({ nextToken: replaced, previousTokens = [], ...rest }) => ({
      ...rest,
      nextToken: next,
      // When this offer replaces another, the platform may already use the first one.
      ...earlierTokens(rest.accessToken, [replaced === next ? undefined : replaced, ...previousTokens]),
    }));
    this.#wake();
  }

  /** A request with this token was accepted: what came before it is forgotten. */
  noteAccepted(token: string): void {
    if (token !== this.record.accessToken) return;
    this.#refusals = 0;
    const kept = this.#deps.store.record(this.#deps.place);
    const isOutdated = kept?.phase === 'in-use' && kept.previousTokens !== undefined;
    if (!isOutdated || this.#isForgetting || this.#isReplaced) return;
    this.#isForgetting = true;
    void this.#deps.store
      .update(this.#deps.place, (now) => {
        const { previousTokens: _old, ...rest } = now;
        return now.accessToken === token ? rest : now;
      })
      .catch(() => {})
      .finally(() => {
        this.#isForgetting = false;
      });
  }

  /**
   * The platform answered 401 to this token. Resolves to whether another one is in use now, so that the request can be repeated at once.
   * Many who are refused at once are one refusal. @throws the signal's reason when it aborts.
   */
  async noteRefused(token: string, signal: AbortSignal): Promise<boolean> {
    if (token !== this.accessToken) return true;
    return this.#isReplaced ? false : this.#refusal.join(signal);
  }

  /** Tries a token that was offered until the platform takes it; runs as long as the agent does. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    let backoff = new Backoff(PROBE_BACKOFF, clock);
    while (!signal.aborted) {
      const offered = this.record.nextToken;
      const woken = new AbortController();
      this.#wake = () => woken.abort();
      await clock.sleep(
        offered === undefined ? PROBE_BACKOFF.maxMs : backoff.nextMs(),
        AbortSignal.any([signal, woken.signal]),
      );
      if (woken.signal.aborted) backoff = new Backoff(PROBE_BACKOFF, clock);
      else if (!signal.aborted && offered !== undefined) await this.#tryOthers([offered], signal);
    }
    this.#wake = () => {};
  }

  get #isReplaced(): boolean {
    return this.#deps.store.timesReplaced !== this.#timesReplaced;
  }

  async #afterRefusal(signal: AbortSignal): Promise<boolean> {
    const { clock, log, reprovision } = this.#deps;
    const others = await this.#tryOthers(tokensOf(this.record).slice(1), signal);
    if (others === 'one-works') return true;
    // A token that could not be tried may be the right one: provisioning anew would lose it.
    if (others === 'not-known') return false;
    if (this.#refusals === 0) {
      this.#refusedSinceMs = clock.monotonicMs();
      if (reprovision !== undefined)
        log.warn({}, 'the access token is refused: when that lasts, this device provisions itself anew');
    }
    this.#refusals += 1;
    const insists =
      this.#refusals >= REFUSALS_BEFORE_REPROVISION && clock.monotonicMs() - this.#refusedSinceMs >= REFUSED_FOR_MS;
    if (reprovision === undefined || !insists) return false;
    await reprovision(signal);
    this.#refusals = 0;
    return true;
  }

  /** Changes over to the first token that works; a platform that cannot be asked now says nothing about any of them. */
  async #tryOthers(tokens: readonly string[], signal: AbortSignal): Promise<'one-works' | 'none-works' | 'not-known'> {
    let found: 'none-works' | 'not-known' = 'none-works';
    for (const token of tokens) {
      const works = await this.#deps.tokenWorks(token, signal).catch(() => undefined);
      if (works === undefined) found = 'not-known';
      if (works !== true) continue;
      await this.#changeOver(token);
      return 'one-works';
    }
    return found;
  }

  /** The token is on the disk already, so it is used even when the disk takes no writes now. */
  async #changeOver(token: string): Promise<void> {
    const { store, place, log } = this.#deps;
    await store.adopt(place, (now) => {
      if (now === undefined || this.#isReplaced) return now;
      const { nextToken, previousTokens = [], ...rest } = now;
      return { ...rest, accessToken: token, ...earlierTokens(token, [rest.accessToken, nextToken, ...previousTokens]) };
    });
    log.info({}, 'the access token was changed over');
  }
}
