/**
 * What the platform was told to be wrong and was not told to be over: raised alarms and failing sensors. Small, on disk, and needed only
 * for what nobody will speak of again: what was taken out of the configuration would be "failing" there for ever.
 */
import { isJsonObject, type JsonObject } from '../host/json.ts';
import type { StateFile } from '../host/state-file.ts';

export const STANDING_STATES_FORMAT = { format: 'turnstone/standing-states', version: 1 } as const;

/** Whose state it is: a sensor's own, or that of one of its readings. */
export interface StateOwner {
  readonly sensor: string;
  readonly reading?: string;
}

export class StandingStates {
  readonly #file: StateFile;
  /** By the key under which the platform knows it. */
  readonly #standing: Map<string, StateOwner>;

  private constructor(file: StateFile, standing: Map<string, StateOwner>) {
    this.#file = file;
    this.#standing = standing;
  }

  static async open(file: StateFile): Promise<StandingStates> {
    return new StandingStates(file, new Map(Object.entries((await file.read()) ?? {}).flatMap(ownerOf)));
  }

  /** Notes what is told under a key: that something is wrong, or that it is over. */
  note(key: string, owner: StateOwner, isWrong: boolean): void {
    if (this.#standing.has(key) === isWrong) return;
    if (isWrong) this.#standing.set(key, owner);
    else this.#standing.delete(key);
    this.#save();
  }

  has(key: string): boolean {
    return this.#standing.has(key);
  }

  /** Keys of a reading's earlier names. They are forgotten here: the caller tells that they are over. */
  takeOthersOf(sensor: string, reading: string, key: string): readonly string[] {
    return this.#take((other, owner) => owner.sensor === sensor && owner.reading === reading && other !== key);
  }

  /** Keys of sensors and readings that are no longer configured. They are forgotten here: the caller tells that they are gone. */
  takeGone(isConfigured: (owner: StateOwner) => boolean): readonly string[] {
    return this.#take((_key, owner) => !isConfigured(owner));
  }

  /** Resolves when what was noted is durable, or could not be made so. Idempotent. */
  close(): Promise<void> {
    return this.#file.close();
  }

  #take(isOver: (key: string, owner: StateOwner) => boolean): readonly string[] {
    const keys = [...this.#standing].filter(([key, owner]) => isOver(key, owner)).map(([key]) => key);
    for (const key of keys) this.#standing.delete(key);
    if (keys.length > 0) this.#save();
    return keys;
  }

  #save(): void {
    this.#file.save(Object.fromEntries([...this.#standing].map(([key, owner]) => [key, { ...owner }])));
  }
}

function ownerOf([key, owner]: [string, JsonObject[string]]): [string, StateOwner][] {
  if (!isJsonObject(owner) || typeof owner.sensor !== 'string') return [];
  const { sensor, reading } = owner;
  return [[key, typeof reading === 'string' ? { sensor, reading } : { sensor }]];
}
