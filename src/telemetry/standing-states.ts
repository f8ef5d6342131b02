/**
 * States that the platform was told to be wrong and was not told to be over: raised alarms and failing sensors. Small, on disk, and needed only
 * for what nobody will speak of again: what was taken out of the configuration would be "failing" there for ever.
 */

import { isDeepStrictEqual } from 'node:util';
import { acknowledgedKeyOf } from '../config/keys/added-keys.ts';
import type { Clock } from '../host/clock.ts';
import type { StateFile } from '../store/state-file.ts';
import { isJsonObject, type JsonObject, jsonOf } from '../values/json.ts';
import { SELF } from '../values/self.ts';
import { type AcknowledgedAlarm, keptAcknowledgements } from './acknowledgement.ts';

export const STANDING_STATES_FORMAT = { format: 'turnstone/standing-states', version: 1 } as const;

/** Whose state it is: a sensor's own, or that of one of its readings. */
export interface StateOwner {
  readonly sensor: string;
  readonly reading?: string;
}

/** State of an owner as it is kept. */
interface StandingState extends StateOwner {
  /** Names of the alarms of a reading that are on. */
  readonly alarms?: readonly string[] | undefined;
  /** Those of them that somebody acknowledged; absent while nobody did. */
  readonly acknowledged?: readonly AcknowledgedAlarm[] | undefined;
}

/** Where the platform has a state: under a key of a device. */
export interface StatePlace {
  readonly device: string;
  readonly key: string;
}

/** Name of a place; the gateway's own places are called by their keys. */
export function placeText({ device, key }: StatePlace): string {
  return device === SELF ? key : `${device}\n${key}`;
}

export function placeOf(text: string): StatePlace {
  const end = text.indexOf('\n');
  return end === -1 ? { device: SELF, key: text } : { device: text.slice(0, end), key: text.slice(end + 1) };
}

/**
 * The end of a sensor's failure may be forgotten by a kill for so long: it is told once more then. A sensor that fails now and then costs no write
 * each time. The end of an alarm is written at once, as what stood decides within a hysteresis.
 */
const ENDS_WITHIN_MS = 5 * 60_000;
/** Far more than a person would look at; whoever makes keys up as they go must fill neither the memory nor the disk. */
const MAX_STANDING = 2_000;

export class StandingStates {
  readonly #file: StateFile;
  readonly #clock: Pick<Clock, 'after'>;
  /** States as they were saved last, in the order of the keys. */
  #saved: string;
  #cancelSave: (() => void) | undefined;
  /** By the name of its place on the platform; the one that was seen longest ago comes first. */
  readonly #standing: Map<string, StandingState>;

  private constructor(file: StateFile, clock: Pick<Clock, 'after'>, standing: readonly [string, StandingState][]) {
    this.#file = file;
    this.#clock = clock;
    this.#standing = new Map(standing);
    this.#saved = this.#text();
  }

  static async open(file: StateFile, clock: Pick<Clock, 'after'>): Promise<StandingStates> {
    return new StandingStates(file, clock, Object.entries((await file.read()) ?? {}).flatMap(stateOf));
  }

  /** Notes what is told under a key: that something is wrong, or that it is over. The key is that of the last who told it. */
  note(key: string, state: StandingState, isWrong: boolean): void {
    const known = this.#standing.get(key);
    if (isWrong ? known !== undefined && isSame(known, state) && isAlike(known, state) : known === undefined) return;
    this.#standing.delete(key);
    if (isWrong) this.#standing.set(key, state);
    if (isWrong || state.reading !== undefined) this.#save();
    else this.#cancelSave ??= this.#clock.after(ENDS_WITHIN_MS, () => this.#save());
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

  /** Returns the names of the alarms that this reading has told under a key. */
  alarmsOf(key: string, owner: StateOwner): readonly string[] {
    const known = this.#standing.get(key);
    return (known !== undefined && isSame(known, owner) ? known.alarms : undefined) ?? [];
  }

  /** Returns the acknowledgements of alarms that this reading has told under a key. */
  acknowledgedOf(key: string, owner: StateOwner): readonly AcknowledgedAlarm[] {
    const known = this.#standing.get(key);
    return (known !== undefined && isSame(known, owner) ? known.acknowledged : undefined) ?? [];
  }

  /** Returns a key, and that of its acknowledgement where the platform was told of one: both are over together. */
  toldWith(key: string): readonly string[] {
    return (this.#standing.get(key)?.acknowledged ?? []).length === 0 ? [key] : [key, acknowledgedKeyOf(key)];
  }

  /** Keys of a reading's earlier names. They are forgotten here: the caller tells that they are over. */
  takeOthersOf(sensor: string, reading: string, key: string): readonly string[] {
    if (this.#standing.size === 0) return [];
    const others = [...this.#standing].filter(([other, owner]) => other !== key && isSame(owner, { sensor, reading }));
    return this.#forget(others.map(([other]) => other));
  }

  /** Keys of readings, seen longest ago, that are too many. They are forgotten here: the caller tells that they are gone. */
  takeTooMany(): readonly string[] {
    const tooMany = this.#standing.size - MAX_STANDING;
    if (tooMany <= 0) return [];
    const ofReadings = [...this.#standing].filter(([, owner]) => owner.reading !== undefined);
    return this.#forget(ofReadings.slice(0, tooMany).map(([key]) => key));
  }

  /** Keys of sensors and readings that are no longer configured. They are forgotten here: the caller tells that they are gone. */
  takeGone(isConfigured: (owner: StateOwner, text: string) => boolean): readonly string[] {
    return this.#forget([...this.#standing].filter(([text, owner]) => !isConfigured(owner, text)).map(([key]) => key));
  }

  /** Resolves when what was noted is durable, or could not be made so. Idempotent. */
  close(): Promise<void> {
    this.#save();
    return this.#file.close();
  }

  #forget(keys: readonly string[]): readonly string[] {
    const told = keys.flatMap((key) => this.toldWith(key));
    for (const key of keys) this.#standing.delete(key);
    if (keys.length > 0) this.#save();
    return told;
  }

  /** Saves what is not saved yet. */
  #save(): void {
    this.#cancelSave?.();
    this.#cancelSave = undefined;
    const text = this.#text();
    if (text === this.#saved) return;
    this.#saved = text;
    this.#file.save(Object.fromEntries([...this.#standing].map(([key, state]) => [key, jsonOf(state)])));
  }

  #text(): string {
    return JSON.stringify([...this.#standing].sort(([one], [other]) => (one < other ? -1 : 1)));
  }
}

function isSame(one: StateOwner, other: StateOwner): boolean {
  return one.sensor === other.sensor && one.reading === other.reading;
}

function isAlike(one: StandingState, other: StandingState): boolean {
  const [{ alarms = [], acknowledged = [] }, { alarms: others = [], acknowledged: otherwise = [] }] = [one, other];
  const hasSameAlarms = alarms.length === others.length && alarms.every((name) => others.includes(name));
  return hasSameAlarms && isDeepStrictEqual(acknowledged, otherwise);
}

function stateOf([key, state]: [string, JsonObject[string]]): [string, StandingState][] {
  if (!isJsonObject(state) || typeof state.sensor !== 'string') return [];
  const { sensor, reading, alarms } = state;
  const acknowledged = keptAcknowledgements(state.acknowledged);
  if (typeof reading !== 'string') return [[key, { sensor }]];
  const names = Array.isArray(alarms) ? alarms.filter((name) => typeof name === 'string') : [];
  return [
    [key, { sensor, reading, alarms: names, acknowledged: acknowledged.length === 0 ? undefined : acknowledged }],
  ];
}
