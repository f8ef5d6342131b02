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

import { type AgentError, hasCode, messageOf, retryable } from '../errors/agent-error.ts';
import type { Alerts } from '../host/alert-list.ts';
import { Backoff } from '../host/backoff.ts';
import { type BoardIdentity, isOtherBoard } from '../host/identity.ts';
import type { Log } from '../host/log.ts';
import type { HostMachine } from '../host/machine.ts';
import type { ProvisionAnswer, ProvisionRequest } from '../platform/device-api.ts';
import { isAccessToken, makeAccessToken } from './access-token.ts';
import { askPlatform, type Outcome } from './ask-for-credentials.ts';
import type { CredentialWords } from './credential-words.ts';
import { type CredentialsRecord, earlierTokens, type ProvisionSecret, tokensOf } from './credentials-record.ts';
import type { CredentialsStore } from './credentials-store.ts';

/** Steps between which a kill can come; each is announced before the next begins. */
export type ProvisioningStep =
  | 'token-made'
  | 'token-synced'
  | 'asking'
  | 'answered'
  | 'own-token-works'
  | 'credentials-synced';

export interface ProvisioningDeps extends Pick<HostMachine, 'clock' | 'randomBytes'> {
  readonly store: CredentialsStore;
  readonly provision: (request: ProvisionRequest, signal: AbortSignal) => Promise<ProvisionAnswer>;
  /** Asks whether the platform knows a token; false only on its own word (401). @throws PlatformError when it cannot be asked. */
  readonly tokenWorks: (token: string, signal: AbortSignal) => Promise<boolean>;
  readonly log: Log;
  readonly alerts: Alerts;
  readonly hide: (secret: string) => void;
  readonly board: BoardIdentity;
  readonly deviceName: string;
  /** Next steps for a person. */
  readonly words: CredentialWords;
  /** Tried in this order; the next one only on NOT_FOUND. */
  readonly secrets: readonly ProvisionSecret[];
  readonly onStep?: (step: ProvisioningStep) => void;
}

/** The network is not there yet, or the platform is busy. */
const BUSY_BACKOFF = { firstMs: 2_000, maxMs: 60_000 };
/** A login page, a proxy: it goes when somebody logs in. */
const HELD_BACKOFF = { firstMs: 30_000, maxMs: 300_000 };
/** Only a person at the platform can change it; asked again, so that no visit is needed, but slowly. */
const REFUSED_BACKOFF = { firstMs: 300_000, maxMs: 3_600_000 };
const PROVISIONING_ALERT = 'provisioning';

/** Resolves when credentials are in use and synced. @throws AgentError `provisioning/aborted` (retry) when `signal` aborts first. */
export async function provisionDevice(deps: ProvisioningDeps, signal: AbortSignal): Promise<CredentialsRecord> {
  const backoffs = {
    busy: new Backoff(BUSY_BACKOFF, deps.clock),
    held: new Backoff(HELD_BACKOFF, deps.clock),
    refused: new Backoff(REFUSED_BACKOFF, deps.clock),
  };
  const save = saverFor(deps);
  const proposed = await propose(deps, save, signal);
  while (!signal.aborted) {
    // Read again: somebody may have offered a token meanwhile.
    const kept = deps.store.record('own');
    const proposal = kept?.accessToken === proposed.accessToken ? kept : proposed;
    const outcome = usable(await askPlatform(deps, proposal, signal));
    if (outcome.kind === 'token') return keep(deps, save, { proposal, accessToken: outcome.accessToken }, signal);
    const waitMs = backoffs[outcome.kind].nextMs(outcome.retryAfterMs);
    report(deps, outcome, waitMs);
    await deps.clock.sleep(waitMs, signal);
  }
  throw aborted();
}

/** A token that cannot be used is a refusal: nothing else can be said about it here. */
function usable(outcome: Outcome): Outcome {
  if (outcome.kind !== 'token' || isAccessToken(outcome.accessToken)) return outcome;
  return {
    kind: 'refused',
    explanation:
      'the platform gave an access token that cannot stand in an address: 1 to 255 printable characters without spaces are expected. ' +
      'Correct the credentials of the device at the platform, or delete it there',
  };
}

/** The token this board proposes: the one of an interrupted attempt, or a new one, on disk before it is returned. */
async function propose(deps: ProvisioningDeps, save: Save, signal: AbortSignal): Promise<CredentialsRecord> {
  const { store, deviceName, board, randomBytes } = deps;
  const kept = store.record('own');
  // Another board's record is not used: the card is a copy.
  const earlier = kept === undefined || isOtherBoard(kept.board, board) ? undefined : kept;
  if (earlier?.phase === 'proposed' && earlier.deviceName === deviceName) return earlier;
  const accessToken = makeAccessToken(randomBytes);
  deps.hide(accessToken);
  deps.onStep?.('token-made');
  const proposal: CredentialsRecord = {
    phase: 'proposed',
    source: 'provisioned',
    deviceName,
    accessToken,
    // A rotation may be under way: the platform may know this board by the next token already.
    ...earlierTokens(accessToken, earlier === undefined ? [] : tokensOf(earlier)),
    board,
    generation: earlier?.generation ?? 1,
  };
  await save(() => proposal, signal);
  deps.onStep?.('token-synced');
  return proposal;
}

type Save = (record: (now: CredentialsRecord | undefined) => CredentialsRecord, signal: AbortSignal) => Promise<void>;

/**
 * Tries until the disk takes it, so that a full or read-only disk does not lose what the platform has just said. An identity that was imported
 * meanwhile is not overwritten.
 */
function saverFor({ store, alerts, clock }: ProvisioningDeps): Save {
  const { timesReplaced } = store;
  return async (record, signal) => {
    const backoff = new Backoff(BUSY_BACKOFF, clock);
    while (!signal.aborted) {
      try {
        return await store.save('own', (now) => {
          if (store.timesReplaced !== timesReplaced) throw aborted();
          return record(now);
        });
      } catch (error) {
        if (hasCode(error, 'provisioning/aborted')) throw error;
        alerts.raise(PROVISIONING_ALERT, `the credentials cannot be kept: ${messageOf(error)}`);
        await clock.sleep(backoff.nextMs(), signal);
      }
    }
    throw aborted();
  };
}

async function keep(
  deps: ProvisioningDeps,
  save: Save,
  given: { readonly proposal: CredentialsRecord; readonly accessToken: string },
  signal: AbortSignal,
): Promise<CredentialsRecord> {
  const { alerts, log } = deps;
  const { accessToken } = given;
  deps.hide(accessToken);
  const record = (now = given.proposal): CredentialsRecord => {
    const { previousTokens = [], ...rest } = now;
    // The proposal is kept until the token has been used: a server may answer with one token and store the other.
    const earlier = earlierTokens(accessToken, [given.proposal.accessToken, ...previousTokens]);
    return { ...rest, phase: 'in-use', accessToken, board: deps.board, ...earlier };
  };
  await save(record, signal);
  deps.onStep?.('credentials-synced');
  alerts.clear(PROVISIONING_ALERT);
  const kept = deps.store.record('own') ?? record();
  log.info({ deviceName: kept.deviceName }, 'this device is provisioned');
  return kept;
}

function report(deps: ProvisioningDeps, outcome: Exclude<Outcome, { kind: 'token' }>, waitMs: number): void {
  const retryInS = Math.round(waitMs / 1_000);
  // The contact tells of a way that is blocked.
  if (outcome.kind === 'refused') deps.alerts.raise(PROVISIONING_ALERT, outcome.explanation);
  deps.log[outcome.kind === 'busy' ? 'warn' : 'error']({ deviceName: deps.deviceName, retryInS }, outcome.explanation);
}

function aborted(): AgentError {
  return retryable('provisioning/aborted', 'provisioning was ended before the platform gave credentials');
}
