/**
 * The device's credentials on disk: `credentials.json` and its twin `credentials.backup.json` in the state folder, mode 0600, each
 * written whole and synced. One of them may be lost, spoilt or unreadable; what cannot be understood is set aside as `*.corrupt`. A save
 * counts once the first is durable; a twin that cannot be written is an alert, and written as soon as the disk lets it.
 */
import { join } from 'node:path';
import { messageOf } from '../errors/agent-error.ts';
import type { Clock } from '../host/clock.ts';
import { joinedWhileUnderWay } from '../host/shared-work.ts';
import { writeDurably } from '../store/durable-file.ts';
import {
  CREDENTIALS_FILES,
  type CredentialsFilesDeps,
  readCredentialsFiles,
  removeAsides,
} from './credentials-files.ts';
import {
  type CredentialsPlace,
  type CredentialsRecord,
  type CredentialsState,
  formatCredentials,
  type ProvisionSecret,
  secretsIn,
  withRecord,
} from './credentials-record.ts';

export interface CredentialsStoreDeps extends CredentialsFilesDeps {
  readonly clock: Clock;
  /** Told every secret that is read or saved, before anything else happens to it. */
  readonly hide: (secret: string) => void;
}

const TWIN_ALERT = 'credentials-not-kept';
const HEAL_EVERY_MS = 60_000;

export class CredentialsStore {
  readonly #deps: CredentialsStoreDeps;
  #state: CredentialsState = {};
  #isRead = false;
  /** Reads once even when the disk hangs: a late answer must not overwrite what was changed since. */
  readonly #loadOnce = joinedWhileUnderWay(() => this.#load());
  #timesReplaced = 0;
  /** Both files hold what is in memory; true until something was read. */
  #isWhole = true;
  #writing: Promise<void> = Promise.resolve();

  /** Knows nothing until `read`. */
  constructor(deps: CredentialsStoreDeps) {
    this.#deps = deps;
  }

  /** A store that has been read. @throws as `read`. */
  static async open(deps: CredentialsStoreDeps): Promise<CredentialsStore> {
    const store = new CredentialsStore(deps);
    await store.read();
    return store;
  }

  /**
   * Reads what is kept, heals a lost or spoilt twin where the disk lets it, and closes permissions that are too wide. Does nothing once it
   * has succeeded; until then nothing is saved, as it would go over what could not be read.
   * @throws AgentError `provisioning/newer-format` (stop), `host/read-failed` (retry).
   */
  async read(): Promise<void> {
    if (this.#isRead) return;
    await this.#loadOnce();
    if (!this.#isWhole) await this.#heal();
  }

  /** Writes what the disk refused again, now and then, until it takes it; runs as long as the agent does. */
  async keepWhole(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#deps.clock.sleep(HEAL_EVERY_MS, signal);
      if (!signal.aborted && !this.#isWhole) await this.#heal();
    }
  }

  record(place: CredentialsPlace): CredentialsRecord | undefined {
    return this.#state[place];
  }

  /** How often the identity was replaced or forgotten: work that began with the one before must not change the new one. */
  get timesReplaced(): number {
    return this.#timesReplaced;
  }

  get provisionSecret(): ProvisionSecret | undefined {
    return this.#state.provisionSecret;
  }

  /**
   * Uses a changed record at once and writes it as soon as the disk takes it: only for what the next start could find out again.
   * @throws as `read`; never for a disk that takes no writes.
   */
  async adopt(
    place: CredentialsPlace,
    change: (record: CredentialsRecord | undefined) => CredentialsRecord | undefined,
  ): Promise<void> {
    await this.read();
    await this.#inTurn(async () => {
      const record = change(this.#state[place]);
      if (record !== undefined) this.#state = withRecord(this.#state, place, record);
    });
    await this.#heal();
  }

  /** Replaces one record, or what it is by then; once this resolves it survives a power cut. @throws AgentError `host/write-failed` (retry), `provisioning/unreadable` (drop). */
  async save(
    place: CredentialsPlace,
    record: CredentialsRecord | ((now: CredentialsRecord | undefined) => CredentialsRecord),
  ): Promise<void> {
    await this.#change((state) => ({
      ...state,
      [place]: typeof record === 'function' ? record(state[place]) : record,
    }));
  }

  /** Changes the record as it is when its turn comes, so that two who change it at once both have their way. @throws as `save`. */
  async update(place: CredentialsPlace, change: (record: CredentialsRecord) => CredentialsRecord): Promise<void> {
    await this.#change((state) => {
      const record = state[place];
      return record === undefined ? state : { ...state, [place]: change(record) };
    });
  }

  /** Takes another identity's place, all of it or nothing. @throws as `save`. */
  async replaceOwn(
    record: CredentialsRecord,
    more: Pick<CredentialsState, 'provisionSecret' | 'setsQueueAside'> = {},
  ): Promise<void> {
    await this.#replace((state) => ({
      ...state,
      own: record,
      provisionSecret: more.provisionSecret ?? state.provisionSecret,
      setsQueueAside: more.setsQueueAside ?? state.setsQueueAside,
    }));
  }

  /** True while the queue was measured as another device, and has not been set aside. */
  get setsQueueAside(): boolean {
    return this.#state.setsQueueAside === true;
  }

  /** @throws as `save`. */
  async queueIsAside(): Promise<void> {
    await this.#change(({ setsQueueAside: _done, ...state }) => state);
  }

  /** Keeps rotated provisioning credentials. @throws AgentError `host/write-failed` (retry). */
  async saveProvisionSecret(provisionSecret: ProvisionSecret): Promise<void> {
    await this.#change((state) => ({ ...state, provisionSecret }));
  }

  /** Forgets who this device is, in set-aside files too, so that the next start provisions anew. @throws AgentError `host/write-failed` (retry). */
  async forget(options: { readonly setsQueueAside: boolean }): Promise<void> {
    // The copies first: once the credentials are gone nothing may fail any more.
    await removeAsides(this.#deps);
    await this.#replace(({ provisionSecret, setsQueueAside = false }) => ({
      provisionSecret,
      setsQueueAside: setsQueueAside || options.setsQueueAside || undefined,
    }));
  }

  async #load(): Promise<void> {
    if (this.#isRead) return;
    const found = await readCredentialsFiles(this.#deps);
    this.#isRead = true;
    if (found === undefined) return;
    this.#hideAll(found.state);
    this.#state = found.state;
    this.#isWhole = found.isWhole;
  }

  #replace(change: (state: CredentialsState) => CredentialsState): Promise<void> {
    return this.#change(change, () => {
      this.#timesReplaced += 1;
    });
  }

  #change(change: (state: CredentialsState) => CredentialsState, onTaken?: () => void): Promise<void> {
    return this.#inTurn(async () => {
      await this.#loadOnce();
      await this.#write(change(this.#state), onTaken);
    });
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const turn = this.#writing.then(work);
    this.#writing = turn.catch(() => {});
    return turn;
  }

  async #write(state: CredentialsState, onTaken?: () => void): Promise<void> {
    const { stateFolder } = this.#deps;
    this.#hideAll(state);
    const text = formatCredentials(state);
    const [first, twin] = CREDENTIALS_FILES;
    // A write that failed late may be on the disk all the same: `keepWhole` goes over it.
    this.#isWhole = false;
    await writeDurably(this.#deps.files, join(stateFolder, first), text);
    // From here on the next start reads the new state, so this one has to know it too.
    this.#state = state;
    onTaken?.();
    await this.#writeTwin(join(stateFolder, twin), text);
  }

  async #writeTwin(path: string, text: string): Promise<void> {
    const { alerts } = this.#deps;
    try {
      await writeDurably(this.#deps.files, path, text);
      this.#isWhole = true;
      alerts.clear(TWIN_ALERT);
    } catch (error) {
      alerts.raise(TWIN_ALERT, `the credentials are not kept twice: ${messageOf(error)}; it is tried again`);
    }
  }

  /** Writes both files. Never rejects: what fails is tried again later. */
  async #heal(): Promise<void> {
    this.#isWhole = false;
    await this.#change((state) => state).catch((error: unknown) =>
      this.#deps.alerts.raise(TWIN_ALERT, `the credentials cannot be kept: ${messageOf(error)}; it is tried again`),
    );
  }

  #hideAll(state: CredentialsState): void {
    for (const secret of secretsIn(state)) this.#deps.hide(secret);
  }
}
