/**
 * Judges what was lost when an agent ended. A reading is safe when the platform has answered 200 for it, or the disk holds it as one that waits.
 * At an end every reading is safe that is older than the promise; a younger one may go with a kill, and is not asked for any more. An answer of a
 * sensor that the agent says it gave up is no reading.
 */
import { type Arrival, type Ledger, nameOf, type Reading, sensorOf } from './ledger.ts';

export interface End {
  /** UTC epoch ms. */
  readonly atMs: number;
  /** Names of readings that wait in the outbox on the disk. */
  readonly held: ReadonlySet<string>;
  /** The agent itself goes on: nothing may be missing later. */
  readonly isOfCopy?: true;
  /** Age from which a reading is to be safe; by default that of the promise. */
  readonly promisedMs?: number;
}

/** A reading at an end, and where it is. */
export interface Placed extends Reading {
  readonly ageMs: number;
  /** Undefined when nobody has it. */
  readonly place: 'platform' | 'disk' | undefined;
}

export class Witness {
  readonly #ledger: Ledger;
  readonly #promisedMs: number;
  readonly #gone = new Set<string>();
  readonly missing: Placed[] = [];
  /** Age of the oldest reading that was not safe at any end. */
  oldestUnsafeMs = 0;
  /** Readings that were older than the promise, summed over all ends. */
  judged = 0;
  /** Those of them that the disk alone had. */
  fromDisk = 0;
  /** Answers of sensors that the agent gave up. */
  givenUp = 0;

  constructor(ledger: Ledger, promisedMs: number) {
    this.#ledger = ledger;
    this.#promisedMs = promisedMs;
  }

  /** Enters an end. @returns what is missing at it, and was not missing before. */
  judge(end: End): readonly Placed[] {
    const known = this.#knownAt(end).filter((one) => one.place !== undefined || !this.#isGivenUp(one));
    const { promisedMs = this.#promisedMs } = end;
    const due = known.filter(({ ageMs }) => ageMs > promisedMs);
    this.judged += due.length;
    this.fromDisk += due.filter(({ place }) => place === 'disk').length;
    const unsafe = known.filter(({ place }) => place === undefined);
    const missing = unsafe.filter(({ ageMs }) => ageMs > promisedMs);
    for (const one of end.isOfCopy === true ? missing : unsafe) this.#gone.add(nameOf(one));
    this.oldestUnsafeMs = Math.max(this.oldestUnsafeMs, ...unsafe.map(({ ageMs }) => ageMs));
    this.missing.push(...missing);
    return missing;
  }

  /** True when all readings that are due by now are safe. */
  isSafe(end: End): boolean {
    return this.#knownAt(end).every(
      (one) => one.ageMs <= this.#promisedMs || one.place !== undefined || this.#isGivenUp(one),
    );
  }

  /** The agent tells a failure after the answer of that read and before the next, and that the sensor works again after the answer that it took. */
  #isGivenUp({ key, number, atMs }: Reading): boolean {
    const { given, failures } = this.#ledger;
    const nextMs = given.find((other) => other.key === key && other.atMs > atMs)?.atMs ?? Number.POSITIVE_INFINITY;
    const isGivenUp = failures.some(
      ({ sensor, fromMs, untilMs }) =>
        sensor === sensorOf(key) && (atMs <= fromMs ? fromMs < nextMs : nextMs <= untilMs),
    );
    if (!isGivenUp) return false;
    this.givenUp += 1;
    this.#gone.add(nameOf({ key, number }));
    return true;
  }

  /** Readings of before an end, without those that were lost earlier, and where each of them is. */
  #knownAt({ atMs, held }: End): readonly Placed[] {
    const taken = new Set(this.#ledger.taken.filter((arrival) => arrival.atMs <= atMs).map(nameOf));
    return this.#ledger.given
      .filter((reading) => reading.atMs <= atMs && !this.#gone.has(nameOf(reading)))
      .map((reading) => {
        const name = nameOf(reading);
        const place = taken.has(name) ? 'platform' : held.has(name) ? 'disk' : undefined;
        return { key: reading.key, number: reading.number, atMs: reading.atMs, ageMs: atMs - reading.atMs, place };
      });
  }
}

export interface Repeats {
  /** Arrivals of a reading that the platform had, with the same time. */
  readonly repeated: number;
  /** Arrivals of a reading with another time, or of another reading at the same time. */
  readonly contradictory: readonly Arrival[];
}

export function repeatsIn(taken: readonly Arrival[]): Repeats {
  const timeOf = new Map<string, number>();
  const numberAt = new Map<string, number>();
  const contradictory: Arrival[] = [];
  let repeated = 0;
  for (const arrival of taken) {
    const name = nameOf(arrival);
    const place = `${arrival.key}@${arrival.ts}`;
    const [ts = arrival.ts, number = arrival.number] = [timeOf.get(name), numberAt.get(place)];
    if (ts !== arrival.ts || number !== arrival.number) contradictory.push(arrival);
    else if (timeOf.has(name)) repeated += 1;
    timeOf.set(name, ts);
    numberAt.set(place, number);
  }
  return { repeated, contradictory };
}

export interface Numbered {
  readonly sequence: number;
  /** Names the entry among all of a site. */
  readonly name: string;
}

/** Which entry each sequence names, over all that the disk ever had. */
export class SequenceBook {
  readonly #names = new Map<number, string>();
  /** In words: a sequence, and the two entries of it. */
  readonly usedTwice: string[] = [];

  enter(entries: Iterable<Numbered>): void {
    for (const { sequence, name } of entries) {
      const known = this.#names.get(sequence) ?? name;
      if (known !== name) this.usedTwice.push(`${sequence}: ${known}, ${name}`);
      this.#names.set(sequence, name);
    }
  }
}
