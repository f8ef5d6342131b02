/**
 * Which board is the platform's device: a client attribute names the board and how often the identity was moved. Nothing is sent before it was
 * asked. A board that finds a higher number for another board has been replaced and sends nothing; one that finds a lower number writes its own.
 * When another board has the same number, and a person has just made this one the device, it takes the next number: the last one wins.
 * Otherwise the card was copied, which only a person can sort out.
 */
import { createHash } from 'node:crypto';
import { AgentError, messageOf } from '../errors/agent-error.ts';
import { Backoff } from '../host/backoff.ts';
import { allMacs, type BoardIdentity, isOtherBoard, withNewMarks } from '../host/identity.ts';
import { untilWakeMs } from '../host/wake-grid.ts';
import type { DeviceApi } from '../platform/device-api.ts';
import { PlatformError } from '../platform/platform-error.ts';
import { isJsonObject, type JsonObject } from '../values/json.ts';
import type { CredentialsPlace, CredentialsRecord } from './credentials-record.ts';
import type { ProvisioningDeps } from './provision-device.ts';

export interface OwnershipDeps extends Pick<ProvisioningDeps, 'store' | 'board' | 'clock' | 'log' | 'alerts'> {
  /** Not the one that waits for this check. */
  readonly deviceApi: Pick<DeviceApi, 'getAttributes' | 'postAttributes'>;
  readonly place: CredentialsPlace;
  /** Time between two wakes of a link that is too dear for more; the question is asked at those. */
  readonly wakes?: () => number | undefined;
}

export type Ownership = 'ours' | 'replaced' | 'shared';

/** The client attribute; the platform shows it to people. */
export const OWNER_KEY = 'turnstoneOwner';
const CHECK_PERIOD_MS = 600_000;
/** Until the platform has answered. */
const UNSETTLED_PERIOD_MS = 30_000;
/** A platform that answers everything else must not silence the device for ever; one that restarts behind a proxy takes minutes. */
const REFUSED_FOR_MS = 600_000;
const QUESTION_BACKOFF = { firstMs: 2_000, maxMs: 15_000 };
const REPLACED_ALERT = 'identity-moved';
const SHARED_ALERT = 'identity-on-two-boards';
const NOT_ASKED_YET = 'the platform has not said yet which board is this device: nothing is sent before';

export class IdentityOwnership {
  readonly #deps: OwnershipDeps;
  readonly #timesReplaced: number;
  #held: string | undefined;
  /** The platform has said whose device this is. */
  #isSettled = false;
  /** It has failed to answer this question so often that it is no longer waited for. */
  #isUnwilling = false;
  #refusedSinceMs: number | undefined;

  constructor(deps: OwnershipDeps) {
    this.#deps = deps;
    this.#timesReplaced = deps.store.timesReplaced;
    const { replacedBy } = deps.store.record(deps.place) ?? {};
    if (replacedBy !== undefined) this.#standBack();
  }

  /** Why another board is this device now, in words; undefined while that is not known. */
  get replaced(): string | undefined {
    return this.#held;
  }

  /** Why this board must not send, in words; known from the first moment of a start. */
  get held(): string | undefined {
    return this.#held ?? (this.#isSettled || this.#isUnwilling ? undefined : NOT_ASKED_YET);
  }

  /**
   * Before anything is sent: resolves when the platform has said whose device this is, when it refuses the token, or when it has answered
   * so often with something else that it will not say. Without a network it waits.
   */
  async settle(signal: AbortSignal): Promise<void> {
    const backoff = new Backoff(QUESTION_BACKOFF, this.#deps.clock);
    while (!signal.aborted) {
      const answer = await this.#ask(signal);
      if (answer !== 'not-now' || this.#isUnwilling || signal.aborted) return;
      await this.#deps.clock.sleep(backoff.nextMs(), signal);
    }
  }

  /** Checks now and then until the signal aborts; `settle` is the first check. */
  async run(signal: AbortSignal): Promise<void> {
    for (;;) {
      const { clock, wakes } = this.#deps;
      await clock.sleep(this.#isSettled ? CHECK_PERIOD_MS : UNSETTLED_PERIOD_MS, signal);
      if (this.#isSettled) await clock.sleep(untilWakeMs(clock, seldom(wakes?.())), signal);
      if (signal.aborted) return;
      await this.#ask(signal);
    }
  }

  /** @throws PlatformError when the platform cannot be asked. */
  async check(signal: AbortSignal): Promise<Ownership> {
    const found = await this.#check(signal);
    this.#isSettled = true;
    return found;
  }

  async #check(signal: AbortSignal): Promise<Ownership> {
    const { deviceApi, store, place, board, alerts } = this.#deps;
    const record = store.record(place);
    // An identity that has replaced this one counts from the next start, and so does its number.
    if (record === undefined || store.timesReplaced !== this.#timesReplaced) return 'ours';
    const marks = marksOf(board, record.board);
    const owner = ownerIn((await deviceApi.getAttributes({ clientKeys: [OWNER_KEY] }, signal)).client);
    const isThisBoard = owner !== undefined && marks.includes(owner.board);
    if (owner === undefined && (record.replacedBy ?? 0) > record.generation) return 'replaced';
    if (owner !== undefined && owner.generation > record.generation && !isThisBoard) {
      await this.#noteReplaced(record, owner.generation);
      return 'replaced';
    }
    await this.#takeBack();
    const [mark] = marks;
    if (mark === undefined) return 'ours';
    let { generation } = record;
    if (owner !== undefined && owner.generation === generation && !isThisBoard) {
      if (record.takesOver !== true) {
        alerts.raise(
          SHARED_ALERT,
          `another board sends as this device. Where this board has replaced that one: turnstone identity adopt, here; where its card is a copy, to make one of them a device of its own: ${this.#wayOut}`,
        );
        return 'shared';
      }
      // The same export was imported on two boards: the number tells them apart.
      generation += 1;
    }
    alerts.clear(SHARED_ALERT);
    // This board had a higher number before: its token was changed by hand, or its card is new.
    if (owner !== undefined && isThisBoard) generation = Math.max(generation, owner.generation);
    if (generation !== record.generation) await this.#remember((now) => ({ ...now, generation }));
    if (owner?.generation !== generation)
      await deviceApi.postAttributes({ [OWNER_KEY]: { board: mark, generation } }, signal);
    if (record.takesOver === true) await this.#remember(({ takesOver: _done, ...rest }) => rest);
    return 'ours';
  }

  /** One question, and what its answer means for sending. @throws what is no fault of the platform or the disk. */
  async #ask(signal: AbortSignal): Promise<'known' | 'unauthorised' | 'not-now'> {
    const { clock, log } = this.#deps;
    try {
      await this.check(signal);
      return 'known';
    } catch (error) {
      if (signal.aborted) return 'not-now';
      if (!(error instanceof AgentError)) throw error;
      log.debug({ reason: messageOf(error) }, 'which board is the device could not be asked');
      if (error.code === 'platform/unauthorised') return 'unauthorised';
      if (error instanceof PlatformError && error.status === undefined && error.code !== 'platform/bad-answer')
        return 'not-now';
      this.#refusedSinceMs ??= clock.monotonicMs();
      this.#isUnwilling = clock.monotonicMs() - this.#refusedSinceMs >= REFUSED_FOR_MS;
      return 'not-now';
    }
  }

  /** Used at once, written when the disk takes it; does nothing when another identity has replaced the one that was asked about. */
  async #remember(change: (record: CredentialsRecord) => CredentialsRecord): Promise<void> {
    const { store, place } = this.#deps;
    await store.adopt(place, (now) =>
      now === undefined || store.timesReplaced !== this.#timesReplaced ? now : change(now),
    );
  }

  async #noteReplaced(record: CredentialsRecord, generation: number): Promise<void> {
    this.#standBack();
    if (record.replacedBy === generation) return;
    await this.#remember((now) => ({ ...now, replacedBy: generation }));
  }

  async #takeBack(): Promise<void> {
    if (this.#held === undefined) return;
    this.#held = undefined;
    await this.#remember(({ replacedBy: _replaced, ...rest }) => rest);
    this.#deps.alerts.clear(REPLACED_ALERT);
  }

  /** A token of the configuration cannot be forgotten. */
  get #wayOut(): string {
    return this.#deps.place === 'own' ? 'turnstone identity forget' : 'give it a platform.accessToken of its own';
  }

  #standBack(): void {
    this.#held =
      'this device was moved to another board, nothing is sent from here. To make this board the device again: turnstone identity adopt; ' +
      `to use it as a device of its own: ${this.#wayOut}`;
    this.#deps.alerts.raise(REPLACED_ALERT, this.#held);
  }
}

/**
 * Hashes that name this board, the preferred one first, so that people who may look at the device do not learn its serial number. Marks that
 * cannot be read at this start are known from an earlier one.
 */
function marksOf(board: BoardIdentity, kept: Partial<BoardIdentity>): readonly string[] {
  const known = isOtherBoard(board, kept) ? board : withNewMarks(kept, board);
  const signs = [known.serial, ...allMacs(known)].filter((sign) => sign !== undefined);
  return signs.map((sign) => createHash('sha256').update(`turnstone board ${sign}`).digest('hex').slice(0, 16));
}

/** Four wakes, as the question is a rare one. */
function seldom(wakesMs: number | undefined): number | undefined {
  return wakesMs === undefined ? undefined : 4 * wakesMs;
}

function ownerIn(client: JsonObject): { readonly board: string; readonly generation: number } | undefined {
  const owner = client[OWNER_KEY];
  if (!isJsonObject(owner)) return undefined;
  const { board, generation } = owner;
  if (typeof board !== 'string' || typeof generation !== 'number' || !Number.isSafeInteger(generation))
    return undefined;
  return { board, generation };
}
