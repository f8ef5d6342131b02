/**
 * All places where a gateway keeps entries, in one answer: its own outbox, the one that attached devices share, and those of devices that cannot have
 * their entries now. A place that cannot be read costs no other one its answer.
 */
import { messageOf } from '../errors/agent-error.ts';
import { badRequest } from '../values/bad-request.ts';
import { SELF } from '../values/self.ts';
import type { EntryQuery } from './delivery/outbox-reading.ts';
import type { RejectedEntry } from './delivery/rejected-file.ts';
import type { ResolvedEntry } from './format/entry-columns.ts';
import type { Outbox } from './outbox.ts';
import type { OutboxStatus } from './outbox-status.ts';

export type KeptOutbox = Pick<Outbox, 'status' | 'read' | 'rejected' | 'resendRejected'>;

export interface KeptPlace {
  /** `gateway`, `attached devices` for the one that they share, or the device that has a place of its own. */
  readonly name: string;
  /** Its entries were appended in another place before: they count there. */
  readonly isApart?: true;
  readonly outbox: KeptOutbox;
}

/** Place that gave no answer, with the reason in words. */
export interface UnreadPlace {
  readonly place: string;
  readonly why: string;
}

export interface KeptRejected {
  readonly entries: readonly RejectedEntry[];
  readonly unread: readonly UnreadPlace[];
}

/** Which rejected entries are meant: all, where nothing is given. */
export interface RejectedChoice {
  readonly sequences?: readonly number[] | undefined;
  /** `gateway` is the gateway itself. */
  readonly device?: string | undefined;
}

export interface ResentRejected {
  readonly resent: number;
  /** Sequences that no place knows. */
  readonly missing: readonly number[];
  readonly unread: readonly UnreadPlace[];
}

/** Counts of one place, for people. */
export interface PlaceStatus
  extends Pick<OutboxStatus, 'heldEntries' | 'inMemoryEntries' | 'bytes' | 'oldestMs' | 'fault' | 'deadLetters'> {
  readonly name: string;
}

/** Sums over all places; the hours that fit are those until the first of them is full, or the disk that they share. */
export interface KeptStatus extends OutboxStatus {
  /** Absent where there is no place but the gateway's. */
  readonly places?: readonly PlaceStatus[];
}

const SUMS = [
  'heldEntries',
  'inMemoryEntries',
  'undecidedEntries',
  'bytes',
  'heldBytes',
  'segments',
  'rejected',
  'thinned',
  'dropped',
  'damaged',
  'setAside',
  'diskBytes',
] as const;

export class KeptPlaces {
  readonly #list: () => readonly [KeptPlace, ...KeptPlace[]];

  /** @param list Returns the places as they are now, the gateway's own first. */
  constructor(list: () => readonly [KeptPlace, ...KeptPlace[]]) {
    this.#list = list;
  }

  status(): KeptStatus {
    const [own, ...others] = this.#list().map(({ outbox, ...place }) => ({ ...place, status: outbox.status() }));
    if (own === undefined || others.length === 0) return (own as { readonly status: OutboxStatus }).status;
    const all = [own, ...others];
    const sums = Object.fromEntries(
      SUMS.map((what) => [what, all.reduce((sum, { status }) => sum + status[what], 0)]),
    ) as Record<(typeof SUMS)[number], number>;
    const lane = (name: keyof OutboxStatus['lanes']): number =>
      all.reduce((sum, { status }) => sum + status.lanes[name], 0);
    const letters = all.reduce((sum, { status }) => sum + (status.deadLetters ?? 0), 0);
    const oldest = all.flatMap(({ status }) => status.oldestMs ?? []);
    const newest = all.flatMap(({ status }) => status.newestMs ?? []);
    const fault = all.find(({ status }) => status.fault !== undefined)?.status.fault;
    return {
      ...own.status,
      ...sums,
      lanes: { alarm: lane('alarm'), live: lane('live'), backlog: lane('backlog') },
      ...(letters > 0 && { deadLetters: letters }),
      ...(oldest.length > 0 && { oldestMs: Math.min(...oldest) }),
      ...(newest.length > 0 && { newestMs: Math.max(...newest) }),
      ...(fault !== undefined && { fault }),
      ...growthOf(all),
      places: all.map(placeStatus),
    };
  }

  /** @param onUnread Told of each place that cannot be read, or not to its end. @throws the fault of the first when none can be read. */
  async *read(
    query: EntryQuery,
    signal: AbortSignal,
    onUnread: (place: UnreadPlace) => void,
  ): AsyncGenerator<ResolvedEntry> {
    const places = this.#list();
    const faults: unknown[] = [];
    for (const { name, outbox } of places) {
      try {
        yield* outbox.read(query, signal);
      } catch (fault) {
        faults.push(fault);
        if (signal.aborted || faults.length === places.length) throw faults[0];
        onUnread({ place: name, why: messageOf(fault) });
      }
    }
  }

  /** @throws the fault of the first place when none can be read. */
  async rejected(): Promise<KeptRejected> {
    const { answers, unread } = await askEach(this.#list(), ({ outbox }) => outbox.rejected());
    return { entries: answers.flatMap(({ answer }) => answer), unread };
  }

  /** @throws AgentError `agent/bad-request` (drop) for a sequence of entries in several places; the fault of the first place when none can be read. */
  async resendRejected(choice: RejectedChoice): Promise<ResentRejected> {
    const isChosen = (entry: RejectedEntry): boolean => isMeant(entry, choice);
    const found = await askEach(this.#list(), async ({ outbox }) => (await outbox.rejected()).filter(isChosen));
    const placesOf = (sequence: number): readonly string[] =>
      found.answers
        .filter(({ answer }) => answer.some((entry) => entry.sequence === sequence))
        .map(({ place }) => place.name);
    const missing: number[] = [];
    for (const sequence of new Set(choice.sequences)) {
      const names = placesOf(sequence);
      if (names.length > 1)
        throw badRequest(
          `${sequence} is the number of an entry in several places (${names.join(', ')}): choose one by its device (--device)`,
        );
      if (names.length === 0) missing.push(sequence);
    }
    const sent = await askEach(
      found.answers.map(({ place }) => place),
      ({ outbox }) => outbox.resendRejected(isChosen),
    );
    const resent = sent.answers.reduce((sum, { answer }) => sum + answer, 0);
    return { resent, missing, unread: [...found.unread, ...sent.unread] };
  }
}

/** Answers of those places that can give one. @throws the fault of the first when none can. */
async function askEach<T>(
  places: readonly KeptPlace[],
  ask: (place: KeptPlace) => Promise<T>,
): Promise<{
  readonly answers: readonly { readonly place: KeptPlace; readonly answer: T }[];
  readonly unread: readonly UnreadPlace[];
}> {
  const asked = await Promise.allSettled(places.map(async (place) => ({ place, answer: await ask(place) })));
  const answers = asked.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  const reasons = asked.map((one) => (one.status === 'rejected' ? { fault: one.reason as unknown } : undefined));
  if (answers.length === 0 && reasons[0] !== undefined) throw reasons[0].fault;
  const unread = places.flatMap(({ name }, at) => {
    const reason = reasons[at];
    return reason === undefined ? [] : [{ place: name, why: messageOf(reason.fault) }];
  });
  return { answers, unread };
}

/** Returns whether a rejected entry is among those that are chosen. */
export function isMeant({ sequence, device }: RejectedEntry, { sequences, device: own }: RejectedChoice): boolean {
  const isOfDevice = own === undefined || device === own || (own === 'gateway' && device === SELF);
  return isOfDevice && (sequences === undefined || sequences.includes(sequence));
}

function growthOf(
  all: readonly { readonly isApart?: true; readonly status: OutboxStatus }[],
): Pick<OutboxStatus, 'ratePerS' | 'hoursThatFit'> {
  const growing = all.filter(({ isApart }) => isApart !== true).map(({ status }) => status);
  // Each alone would fill the disk in its hours.
  const onDisk =
    1 / growing.reduce((sum, { hoursOnDisk }) => sum + (hoursOnDisk === undefined ? 0 : 1 / hoursOnDisk), 0);
  const hours = Math.min(onDisk, ...all.map(({ status }) => status.hoursThatFit ?? Number.POSITIVE_INFINITY));
  return {
    ratePerS: growing.reduce((sum, { ratePerS }) => sum + ratePerS, 0),
    ...(Number.isFinite(hours) && { hoursThatFit: hours }),
  };
}

function placeStatus({ name, status }: { readonly name: string; readonly status: OutboxStatus }): PlaceStatus {
  const { heldEntries, inMemoryEntries, bytes, oldestMs, fault, deadLetters } = status;
  return {
    name,
    heldEntries,
    inMemoryEntries,
    bytes,
    ...(oldestMs !== undefined && { oldestMs }),
    ...(fault !== undefined && { fault }),
    ...(deadLetters !== undefined && { deadLetters }),
  };
}
