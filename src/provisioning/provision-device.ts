/**
 * First boot: from nothing to an access token, through any kill.
 *
 *   token made → synced → platform asked ─ SUCCESS ─→ the token it names is synced → in use
 *      ↑ a start finds the synced        ├ FAILURE ─→ own token tried ─ works → in use (the answer to an earlier request was lost)
 *      └ token and asks again with it    │                            └ no → alert, asked again slowly
 *                                        └ NOT_FOUND → alert, asked again slowly
 *
 * The token exists on disk before the platform hears of it, so there is no instant at which a kill could lose it. A server that makes
 * tokens itself leaves one window, between its answer and our disk; it ends in the alert "device exists, token unknown".
 */
import { AgentError, messageOf } from '../errors.ts';
import { Backoff } from '../host/backoff.ts';
import type { Clock } from '../host/clock.ts';
import { type BoardIdentity, isOtherBoard } from '../host/identity.ts';
import type { Log } from '../host/log.ts';
import type { ProvisionAnswer, ProvisionRequest } from '../platform/device-api.ts';
import { isAccessToken, makeAccessToken } from './access-token.ts';
import type { Alerts } from './alerts.ts';
import type { CredentialsRecord, ProvisionSecret } from './credentials-record.ts';
import type { CredentialsStore } from './credentials-store.ts';
import { askPlatform, type Outcome } from './provisioning-outcome.ts';

/** Where a kill can come in between; each is announced before the next begins. */
export type ProvisioningStep = 'token-made' | 'token-synced' | 'asking' | 'answered' | 'own-token-works' | 'credentials-synced';

export interface ProvisioningDeps {
  readonly store: CredentialsStore;
  readonly provision: (request: ProvisionRequest, signal: AbortSignal) => Promise<ProvisionAnswer>;
  /** Whether the platform knows a token; false only on its own word (401). @throws PlatformError when it cannot be asked. */
  readonly tokenWorks: (token: string, signal: AbortSignal) => Promise<boolean>;
  readonly clock: Clock;
  readonly log: Log;
  readonly alerts: Alerts;
  readonly hide: (secret: string) => void;
  readonly board: BoardIdentity;
  readonly deviceName: string;
  /** Tried in this order; the next one only on NOT_FOUND. */
  readonly secrets: readonly ProvisionSecret[];
  readonly random?: () => number;
  readonly onStep?: (step: ProvisioningStep) => void;
}

/** The network is not there yet, or the platform is busy. */
const BUSY_BACKOFF = { firstMs: 2_000, maxMs: 60_000 };
/** A login page, a proxy: it goes when somebody logs in. */
const HELD_BACKOFF = { firstMs: 30_000, maxMs: 300_000 };
/** Only a person changes it, at the platform; found out without a visit, but never a loop. */
const REFUSED_BACKOFF = { firstMs: 300_000, maxMs: 3_600_000 };
const PROVISIONING_ALERT = 'provisioning';

/**
 * Resolves when credentials are in use and synced.
 * @throws AgentError `provisioning/aborted` (retry) when `signal` aborts first, `provisioning/bad-token` (hold).
 */
export async function provisionDevice(deps: ProvisioningDeps, signal: AbortSignal): Promise<CredentialsRecord> {
  const random = deps.random === undefined ? {} : { random: deps.random };
  const backoffs = {
    busy: new Backoff({ ...BUSY_BACKOFF, ...random }),
    held: new Backoff({ ...HELD_BACKOFF, ...random }),
    refused: new Backoff({ ...REFUSED_BACKOFF, ...random }),
  };
  const proposal = await propose(deps, signal);
  while (!signal.aborted) {
    const outcome = await askPlatform(deps, proposal, signal);
    if (outcome.kind === 'token') return keep(deps, proposal, outcome.accessToken, signal);
    const waitMs = backoffs[outcome.kind].nextMs(outcome.retryAfterMs);
    report(deps, outcome, waitMs);
    await deps.clock.sleep(waitMs, signal);
  }
  throw aborted();
}

/** The token this board proposes: the one of an interrupted attempt, or a new one, on disk before it is returned. */
async function propose(deps: ProvisioningDeps, signal: AbortSignal): Promise<CredentialsRecord> {
  const { store, deviceName, board, log } = deps;
  const kept = store.record('own');
  if (kept?.phase === 'proposed' && kept.deviceName === deviceName) return kept;
  // What another board was given or had asked for is not this one's: the card is a copy.
  const earlier = kept === undefined || isOtherBoard(kept.board, board) ? undefined : kept;
  // The name was changed in the configuration after an attempt that may have succeeded: its device would be left behind as a second one.
  if (earlier?.phase === 'proposed' && (await deps.tokenWorks(earlier.accessToken, signal).catch(() => false))) {
    log.warn({ deviceName: earlier.deviceName, configured: deviceName }, 'this board was provisioned under an earlier name and keeps it');
    return earlier;
  }
  const accessToken = makeAccessToken();
  deps.hide(accessToken);
  deps.onStep?.('token-made');
  const previousTokens = earlier === undefined ? [] : [earlier.accessToken, ...(earlier.previousTokens ?? [])].slice(0, 4);
  const proposal: CredentialsRecord = {
    phase: 'proposed',
    source: 'provisioned',
    deviceName,
    accessToken,
    ...(previousTokens.length === 0 ? {} : { previousTokens }),
    board,
    generation: earlier?.generation ?? 1,
  };
  await saveFor(deps, proposal, signal);
  deps.onStep?.('token-synced');
  return proposal;
}

/** A disk that is full or read-only now is no reason to lose what the platform has just told. */
async function saveFor(deps: ProvisioningDeps, record: CredentialsRecord, signal: AbortSignal): Promise<void> {
  const backoff = new Backoff(BUSY_BACKOFF);
  while (!signal.aborted) {
    try {
      return await deps.store.save('own', record);
    } catch (error) {
      deps.alerts.raise(PROVISIONING_ALERT, `the credentials cannot be kept: ${messageOf(error)}`);
      await deps.clock.sleep(backoff.nextMs(), signal);
    }
  }
  throw aborted();
}

async function keep(
  deps: ProvisioningDeps,
  proposal: CredentialsRecord,
  accessToken: string,
  signal: AbortSignal,
): Promise<CredentialsRecord> {
  const { alerts, log } = deps;
  if (!isAccessToken(accessToken)) {
    throw new AgentError('provisioning/bad-token', 'the platform gave an access token that cannot stand in an address', {
      recovery: 'hold',
    });
  }
  deps.hide(accessToken);
  // The proposal is kept as well until the token has been used: it costs nothing, and a server may answer one thing and do another.
  const others = [proposal.accessToken, ...(proposal.previousTokens ?? [])].filter((token) => token !== accessToken);
  const { previousTokens: _previous, ...rest } = proposal;
  const record: CredentialsRecord = {
    ...rest,
    phase: 'in-use',
    accessToken,
    board: deps.board,
    ...(others.length === 0 ? {} : { previousTokens: others }),
  };
  await saveFor(deps, record, signal);
  deps.onStep?.('credentials-synced');
  alerts.clear(PROVISIONING_ALERT);
  log.info({ deviceName: record.deviceName }, 'this device is provisioned');
  return record;
}

function report(deps: ProvisioningDeps, outcome: Exclude<Outcome, { kind: 'token' }>, waitMs: number): void {
  const retryInS = Math.round(waitMs / 1_000);
  if (outcome.kind !== 'busy') deps.alerts.raise(PROVISIONING_ALERT, outcome.explanation);
  deps.log[outcome.kind === 'busy' ? 'warn' : 'error']({ deviceName: deps.deviceName, retryInS }, outcome.explanation);
}

function aborted(): AgentError {
  return new AgentError('provisioning/aborted', 'provisioning was ended before the platform gave credentials', { recovery: 'retry' });
}
