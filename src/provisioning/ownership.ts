/**
 * Which board is the platform's device: a client attribute names the board and how often the identity was moved. A board that finds a
 * higher number there has been replaced, and stands back; one that finds a lower number puts its own; the same number on another board
 * is a copied card, which only a person can sort out.
 */
import { createHash } from 'node:crypto';
import { AgentError, messageOf } from '../errors.ts';
import type { Clock } from '../host/clock.ts';
import type { BoardIdentity } from '../host/identity.ts';
import { isJsonObject, type JsonObject } from '../host/json.ts';
import type { Log } from '../host/log.ts';
import type { DeviceApi } from '../platform/device-api.ts';
import type { Alerts } from './alerts.ts';
import type { CredentialsPlace, CredentialsRecord } from './credentials-record.ts';
import type { CredentialsStore } from './credentials-store.ts';

export interface OwnershipDeps {
  /** Not the one that is held back by this very check. */
  readonly deviceApi: Pick<DeviceApi, 'getAttributes' | 'postAttributes'>;
  readonly store: CredentialsStore;
  readonly place: CredentialsPlace;
  readonly board: BoardIdentity;
  readonly clock: Clock;
  readonly log: Log;
  readonly alerts: Alerts;
}

export type Ownership = 'ours' | 'replaced' | 'shared';

/** The client attribute; the platform shows it to people. */
export const OWNER_KEY = 'turnstoneOwner';
const CHECK_PERIOD_MS = 600_000;
const REPLACED_ALERT = 'identity-moved';
const SHARED_ALERT = 'identity-on-two-boards';

export class IdentityOwnership {
  readonly #deps: OwnershipDeps;
  #held: string | undefined;

  constructor(deps: OwnershipDeps) {
    this.#deps = deps;
    const { replacedBy } = deps.store.record(deps.place) ?? {};
    if (replacedBy !== undefined) this.#standBack();
  }

  /** Why this board must not send, in words; known from the first moment of a start. */
  get held(): string | undefined {
    return this.#held;
  }

  /** Checks now and then until the signal aborts; the first check is its own, before anything is sent. */
  async run(signal: AbortSignal): Promise<void> {
    for (;;) {
      await this.#deps.clock.sleep(CHECK_PERIOD_MS, signal);
      if (signal.aborted) return;
      try {
        await this.check(signal);
      } catch (error) {
        if (!(error instanceof AgentError)) throw error;
        this.#deps.log.debug({ reason: messageOf(error) }, 'which board is the device could not be checked');
      }
    }
  }

  /** @throws PlatformError when the platform cannot be asked, AgentError `host/write-failed` (retry). */
  async check(signal: AbortSignal): Promise<Ownership> {
    const { deviceApi, store, place, board, alerts } = this.#deps;
    const record = store.record(place);
    const mark = markOf(board);
    if (record === undefined || mark === undefined) return 'ours';
    const { client } = await deviceApi.getAttributes({ clientKeys: [OWNER_KEY] }, signal);
    const owner = ownerIn(client);
    if (owner !== undefined && owner.generation > record.generation) {
      await this.#noteReplaced(record, owner.generation);
      return 'replaced';
    }
    await this.#takeBack();
    if (owner !== undefined && owner.generation === record.generation && owner.board !== mark) {
      alerts.raise(
        SHARED_ALERT,
        'another board sends as this device: its card is a copy. Provision one of them anew: turnstone identity forget',
      );
      return 'shared';
    }
    alerts.clear(SHARED_ALERT);
    // Nothing found can also be a fault of the platform: the board with the higher number puts it right at its next check.
    if (owner?.generation !== record.generation) {
      await deviceApi.postAttributes({ [OWNER_KEY]: { board: mark, generation: record.generation } }, signal);
    }
    return 'ours';
  }

  async #noteReplaced(record: CredentialsRecord, generation: number): Promise<void> {
    this.#standBack();
    if (record.replacedBy === generation) return;
    await this.#deps.store.update(this.#deps.place, (now) => ({ ...now, replacedBy: generation }));
  }

  async #takeBack(): Promise<void> {
    if (this.#held === undefined) return;
    await this.#deps.store.update(this.#deps.place, ({ replacedBy: _replaced, ...rest }) => rest);
    this.#held = undefined;
    this.#deps.alerts.clear(REPLACED_ALERT);
  }

  #standBack(): void {
    this.#held =
      'this device was moved to another board, nothing is sent from here. To make this board the device again: turnstone identity adopt; ' +
      'to use it as a device of its own: turnstone identity forget';
    this.#deps.alerts.raise(REPLACED_ALERT, this.#held);
  }
}

/** Names a board without telling its serial number to everyone who may look at the device. */
function markOf(board: BoardIdentity): string | undefined {
  const sign = board.serial ?? board.mac;
  return sign === undefined ? undefined : createHash('sha256').update(`turnstone board ${sign}`).digest('hex').slice(0, 16);
}

function ownerIn(client: JsonObject): { readonly board: string; readonly generation: number } | undefined {
  const owner = client[OWNER_KEY];
  if (!isJsonObject(owner)) return undefined;
  const { board, generation } = owner;
  if (typeof board !== 'string' || typeof generation !== 'number' || !Number.isSafeInteger(generation)) return undefined;
  return { board, generation };
}
