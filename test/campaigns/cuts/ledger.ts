/** What is seen of an agent from outside: the readings that its sensors gave, and what the platform took with a 200. */

/** One value of a sensor. Its number names it among those of its key. */
export interface Reading {
  readonly key: string;
  readonly number: number;
  /** UTC epoch ms at which the sensor had said it. */
  readonly atMs: number;
}

export interface Arrival {
  readonly key: string;
  readonly number: number;
  /** UTC epoch ms that the agent gave it. */
  readonly ts: number;
  /** UTC epoch ms at which the platform had answered 200. */
  readonly atMs: number;
}

/** UTC epoch ms at which the agent says that a sensor fails, and works again: on a busy machine it gives up an answer that was in time. */
export interface Failure {
  readonly sensor: number;
  readonly fromMs: number;
  readonly untilMs: number;
}

export interface Ledger {
  readonly given: Reading[];
  readonly taken: Arrival[];
  failures: readonly Failure[];
}

/** Sensors of a site. Each gives two values, which are the number of its reading. */
export const SENSORS = 5;

export function keysOf(sensor: number): readonly string[] {
  return [`t${sensor}`, `p${sensor}`];
}

export function sensorOf(key: string): number {
  return Number(key.slice(1));
}

/** True of a key of the sensors: the agent has values of its own, too. */
export function isOfSensors(key: string): boolean {
  return /^[tp]\d$/.test(key);
}

export function nameOf({ key, number }: Pick<Reading, 'key' | 'number'>): string {
  return `${key}:${number}`;
}
