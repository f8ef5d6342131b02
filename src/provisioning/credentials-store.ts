/**
 * The device's credentials on disk: `credentials.json` and its twin `credentials.backup.json` in the state folder, mode 0600, each
 * written whole and synced before a save resolves. One of them may be lost or spoilt; a spoilt one is set aside as `*.corrupt`.
 */
import { chmod, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { hasCode, messageOf } from '../errors.ts';
import { PRIVATE_MODE, readWhole, setAside, syncFolder, writeDurably } from '../host/durable-file.ts';
import type { Log } from '../host/log.ts';
import type { Alerts } from './alerts.ts';
import {
  type CredentialsPlace,
  type CredentialsRecord,
  type CredentialsState,
  formatCredentials,
  type ProvisionSecret,
  parseCredentials,
} from './credentials-record.ts';

export interface CredentialsStoreDeps {
  readonly stateFolder: string;
  readonly log: Log;
  readonly alerts: Alerts;
  /** Told every secret that is read or saved, before anything else happens to it. */
  readonly hide: (secret: string) => void;
  /** Default: the durable write of the host. */
  readonly write?: (path: string, content: string) => Promise<void>;
}

/** In order of trust: the second is written after the first. */
export const CREDENTIALS_FILES = ['credentials.json', 'credentials.backup.json'] as const;
const CORRUPT_ALERT = 'credentials-corrupt';
const OTHERS_MAY_READ = 0o077;

export class CredentialsStore {
  readonly #deps: CredentialsStoreDeps;
  #state: CredentialsState = {};
  #writing: Promise<void> = Promise.resolve();

  private constructor(deps: CredentialsStoreDeps) {
    this.#deps = deps;
  }

  /**
   * Reads what is kept, heals a lost or spoilt twin, and closes permissions that are too wide.
   * @throws AgentError `provisioning/newer-format` (stop), `host/read-failed`, `host/write-failed`.
   */
  static async open(deps: CredentialsStoreDeps): Promise<CredentialsStore> {
    const store = new CredentialsStore(deps);
    await store.#load();
    return store;
  }

  record(place: CredentialsPlace): CredentialsRecord | undefined {
    return this.#state[place];
  }

  get provisionSecret(): ProvisionSecret | undefined {
    return this.#state.provisionSecret;
  }

  /** Replaces one record; once this resolves it survives a power cut. @throws AgentError `host/write-failed` (retry). */
  async save(place: CredentialsPlace, record: CredentialsRecord): Promise<void> {
    await this.#change((state) => ({ ...state, [place]: record }));
  }

  /** Changes the record as it is when its turn comes, so that two who change it at once both have their way. @throws as `save`. */
  async update(place: CredentialsPlace, change: (record: CredentialsRecord) => CredentialsRecord): Promise<void> {
    await this.#change((state) => {
      const record = state[place];
      return record === undefined ? state : { ...state, [place]: change(record) };
    });
  }

  /** Keeps rotated provisioning credentials. @throws AgentError `host/write-failed` (retry). */
  async saveProvisionSecret(provisionSecret: ProvisionSecret): Promise<void> {
    await this.#change((state) => ({ ...state, provisionSecret }));
  }

  /** Forgets who this device is, in set-aside files too, so that the next start provisions anew. @throws AgentError `host/write-failed` (retry). */
  async forget(): Promise<void> {
    await this.#change(({ provisionSecret }) => (provisionSecret === undefined ? {} : { provisionSecret }));
    for (const file of CREDENTIALS_FILES) await rm(join(this.#deps.stateFolder, `${file}.corrupt`), { force: true });
  }

  async #load(): Promise<void> {
    const { stateFolder } = this.#deps;
    let found: { readonly state: CredentialsState; readonly text: string } | undefined;
    let healthy = 0;
    for (const file of CREDENTIALS_FILES) {
      const one = await this.#readOne(join(stateFolder, file));
      if (one === undefined) continue;
      found ??= one;
      if (one.text === found.text) healthy += 1;
    }
    if (found === undefined) return;
    this.#hideAll(found.state);
    this.#state = found.state;
    if (healthy < CREDENTIALS_FILES.length) await this.#write(found.state);
  }

  async #readOne(path: string): Promise<{ readonly state: CredentialsState; readonly text: string } | undefined> {
    const text = (await readWhole(path))?.toString('utf8');
    if (text === undefined) return undefined;
    await this.#closePermissions(path);
    try {
      return { state: parseCredentials(text), text };
    } catch (error) {
      if (!hasCode(error, 'provisioning/corrupt')) throw error;
      const aside = await setAside(path);
      await syncFolder(this.#deps.stateFolder);
      const message = `${messageOf(error)}; it was set aside as ${aside}, from which the access token may be read by hand`;
      this.#deps.alerts.raise(CORRUPT_ALERT, message);
      return undefined;
    }
  }

  async #closePermissions(path: string): Promise<void> {
    const { mode } = await stat(path);
    if ((mode & OTHERS_MAY_READ) === 0) return;
    await chmod(path, PRIVATE_MODE);
    this.#deps.log.warn(
      { file: path, mode: (mode & 0o777).toString(8) },
      'the credentials could be read by others; rotate the access token',
    );
  }

  #change(change: (state: CredentialsState) => CredentialsState): Promise<void> {
    const turn = this.#writing.then(() => this.#write(change(this.#state)));
    this.#writing = turn.catch(() => {});
    return turn;
  }

  async #write(state: CredentialsState): Promise<void> {
    const { stateFolder, write = writeDurably } = this.#deps;
    this.#hideAll(state);
    const text = formatCredentials(state);
    for (const file of CREDENTIALS_FILES) await write(join(stateFolder, file), text);
    this.#state = state;
  }

  #hideAll(state: CredentialsState): void {
    const records = [state.own, state.configured].filter((record) => record !== undefined);
    const tokens = records.flatMap(({ accessToken, nextToken, previousTokens = [] }) => [accessToken, nextToken, ...previousTokens]);
    const secrets = [...tokens, state.provisionSecret?.deviceKey, state.provisionSecret?.deviceSecret];
    for (const secret of secrets) if (secret !== undefined) this.#deps.hide(secret);
  }
}
