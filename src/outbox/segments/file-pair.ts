/**
 * Two files in turns, written in place and mostly not synced: neither is begun before the other is whole on the disk, so that a cut in the
 * middle of a write leaves the other. What was synced stays as it is until something newer is. The turn changes each minute, and after a sync.
 */
import { isLost, isMissing, type OpenFile } from '../../host/files.ts';
import type { OutboxPlace } from './outbox-place.ts';

/** When a power cut takes one of the files, what is lost with it is no older than this. */
const TURN_MS = 60_000;

type FilePairDeps = Omit<OutboxPlace, 'log'>;

export class FilePair {
  readonly #deps: FilePairDeps;
  readonly #names: readonly [string, string];
  readonly #open: (OpenFile | undefined)[] = [undefined, undefined];
  /** Which file is being written, and since which minute; undefined when an earlier process wrote it. */
  #turn: number;
  #minute: number | undefined;
  /** True when the newest copy is surely on the disk; true while there is none. */
  isSynced: boolean;
  /** A full disk may have taken half of a write; then the other file is the whole one. */
  #isTorn = false;
  #hasNewName = false;

  /** `newest` names the one that an earlier process wrote last, be it killed before it could sync it. */
  constructor(deps: FilePairDeps, names: readonly [string, string], newest: string | undefined) {
    this.#deps = deps;
    this.#names = names;
    this.#turn = newest === names[0] ? 0 : 1;
    this.isSynced = newest === undefined;
  }

  async write(bytes: Uint8Array, { durable }: { readonly durable: boolean }): Promise<void> {
    const minute = Math.floor(this.#deps.clock.monotonicMs() / TURN_MS);
    if (this.isSynced || (minute !== this.#minute && !this.#isTorn)) {
      // A file that cannot be synced now will hardly be later; the other one may lie in a good place.
      if (!this.isSynced) await this.#sync().catch(() => {});
      await this.#file(1 - this.#turn);
      this.#turn = 1 - this.#turn;
      this.#minute = minute;
      this.isSynced = false;
    }
    const file = await this.#file(this.#turn);
    try {
      await file.write(bytes, 0);
      this.#isTorn = false;
    } catch (error) {
      // When sectors are bad the other file may be the only one that can be written.
      this.#isTorn = !isLost(error);
      throw error;
    }
    if (!durable) return;
    await this.#sync();
    this.isSynced = true;
  }

  async close(): Promise<void> {
    for (const file of this.#open.splice(0)) await file?.close();
  }

  async #sync(): Promise<void> {
    await (await this.#file(this.#turn)).datasync();
    if (this.#hasNewName) await this.#deps.files.syncFolder(this.#deps.folder);
    this.#hasNewName = false;
  }

  async #file(turn: number): Promise<OpenFile> {
    const known = this.#open[turn];
    if (known !== undefined) return known;
    const { files, folder } = this.#deps;
    const path = `${folder}/${this.#names[turn]}`;
    const file = await files.open(path, 'update').catch(async (error: unknown) => {
      if (!isMissing(error)) throw error;
      this.#hasNewName = true;
      return await files.open(path, 'replace');
    });
    this.#open[turn] = file;
    return file;
  }
}
