/**
 * States that the platform was told to be wrong and was not told to be over: raised alarms and failing sensors. Small, on disk, and needed only
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

/** Far more than a person would look at; whoever makes keys up as they go must fill neither the memory nor the disk. */
const MAX_STANDING = 2_000;

export class StandingStates {
  readonly #file: StateFile;
  /** By the key under which the platform knows it; the one that was seen longest ago comes first. */
  readonly #standing = new Map<string, StateOwner>();
  /** Keys of each reading, under whatever names it had. */
  readonly #keysOf = new Map<string, Set<string>>();

  private constructor(file: StateFile, standing: readonly [string, StateOwner][]) {
    this.#file = file;
    for (const [key, owner] of standing) this.#add(key, owner);
  }

  static async open(file: StateFile): Promise<StandingStates> {
    return new StandingStates(file, Object.entries((await file.read()) ?? {}).flatMap(ownerOf));
  }

  /** Notes what is told under a key: that something is wrong, or that it is over. The key is that of the last who told it. */
  note(key: string, owner: StateOwner, isWrong: boolean): void {
    const known = this.#standing.get(key);
    if (isWrong ? known !== undefined && isSame(known, owner) : known === undefined) return;
    this.#delete(key);
    if (isWrong) this.#add(key, owner);
    this.#save();
  }

  /** Notes that its subject was measured again. */
  seen(key: string): void {
    const owner = this.#standing.get(key);
    if (owner === undefined) return;
    this.#standing.delete(key);
    this.#standing.set(key, owner);
  }

  has(key: string): boolean {
    return this.#standing.has(key);
  }

  /** Keys of a reading's earlier names. They are forgotten here: the caller tells that they are over. */
  takeOthersOf(sensor: string, reading: string, key: string): readonly string[] {
    const keys = this.#keysOf.get(readingId(sensor, reading));
    return keys === undefined ? [] : this.#forget([...keys].filter((other) => other !== key));
  }

  /** Keys of readings, seen longest ago, that are too many. They are forgotten here: the caller tells that they are gone. */
  takeTooMany(): readonly string[] {
    const tooMany = this.#standing.size - MAX_STANDING;
    if (tooMany <= 0) return [];
    const ofReadings = [...this.#standing].filter(([, owner]) => owner.reading !== undefined);
    return this.#forget(ofReadings.slice(0, tooMany).map(([key]) => key));
  }

  /** Keys of sensors and readings that are no longer configured. They are forgotten here: the caller tells that they are gone. */
  takeGone(isConfigured: (owner: StateOwner) => boolean): readonly string[] {
    return this.#forget([...this.#standing].filter(([, owner]) => !isConfigured(owner)).map(([key]) => key));
  }

  /** Resolves when what was noted is durable, or could not be made so. Idempotent. */
  close(): Promise<void> {
    return this.#file.close();
  }

  #forget(keys: readonly string[]): readonly string[] {
    for (const key of keys) this.#delete(key);
    if (keys.length > 0) this.#save();
    return keys;
  }

  #add(key: string, owner: StateOwner): void {
    this.#standing.set(key, owner);
    if (owner.reading === undefined) return;
    const id = readingId(owner.sensor, owner.reading);
    const keys = this.#keysOf.get(id) ?? new Set();
    this.#keysOf.set(id, keys.add(key));
  }

  #delete(key: string): void {
    const owner = this.#standing.get(key);
    this.#standing.delete(key);
    if (owner?.reading === undefined) return;
    const id = readingId(owner.sensor, owner.reading);
    const keys = this.#keysOf.get(id);
    keys?.delete(key);
    if (keys?.size === 0) this.#keysOf.delete(id);
  }

  #save(): void {
    this.#file.save(Object.fromEntries([...this.#standing].map(([key, owner]) => [key, { ...owner }])));
  }
}

function readingId(sensor: string, reading: string): string {
  return `${sensor}\n${reading}`;
}

function isSame(one: StateOwner, other: StateOwner): boolean {
  return one.sensor === other.sensor && one.reading === other.reading;
}

function ownerOf([key, owner]: [string, JsonObject[string]]): [string, StateOwner][] {
  if (!isJsonObject(owner) || typeof owner.sensor !== 'string') return [];
  const { sensor, reading } = owner;
  return [[key, typeof reading === 'string' ? { sensor, reading } : { sensor }]];
}
