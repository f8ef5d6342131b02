/**
 * All places where a gateway keeps entries, in one answer: its own outbox, the one that attached devices share, and those of devices that cannot have
 * their entries now.
 */
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
  'diskBytesPerDay',
  'diskBytesPerYear',
] as const;

export class KeptPlaces implements KeptOutbox {
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

  async *read(query: EntryQuery, signal: AbortSignal): AsyncGenerator<ResolvedEntry> {
    for (const { outbox } of this.#list()) yield* outbox.read(query, signal);
  }

  async rejected(): Promise<RejectedEntry[]> {
    const lists = await Promise.all(this.#list().map(({ outbox }) => outbox.rejected()));
    return lists.flat();
  }

  async resendRejected(pick: Parameters<KeptOutbox['resendRejected']>[0]): Promise<number> {
    let resent = 0;
    for (const { outbox } of this.#list()) resent += await outbox.resendRejected(pick);
    return resent;
  }
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
