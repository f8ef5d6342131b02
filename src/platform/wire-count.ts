/**
 * Count of what the network carries for the agent's sockets, as a plan bills it: the bytes of TLS or of HTTP as the TCP socket has them, and by a stated
 * model what TCP/IP puts around them (docs/link.md). Sockets may serve several lanes: their bytes are shared out by what each lane exchanged.
 */
import type { Socket } from 'node:net';
import type { Clock } from '../host/clock.ts';
import { getOrInsert } from '../host/get-or-insert.ts';
import type { Lane } from './connections.ts';
import { createWordCount, HEADERS, type WordCount } from './word-count.ts';

/** An exchange that is over: about what its request and its answer have, and how long it took. */
export interface ExchangeBytes {
  readonly bytes: number;
  readonly ms: number;
}

export type LaneBytes = Readonly<Record<Lane, number>>;

export const LANES: readonly Lane[] = ['upload', 'calls', 'attribute-poll', 'rpc-poll', 'download'];

/** Bytes of a segment that is full. */
const SEGMENT = 1_448;
/** A full segment, and half of the acknowledgement that two of them get. */
const PER_SEGMENT = 1.5 * HEADERS;
/** A question of TCP and its answer. */
const PER_QUESTION = 2 * HEADERS;
/** Three segments at the beginning, four at the end, and what the first two have more. */
const PER_SOCKET = 7 * HEADERS + 16;
/** Those of a handshake of TLS that are not full, with what acknowledges them. */
const PER_HANDSHAKE = 6 * HEADERS;
/**
 * A connection on which something is under way, and that is silent for so long, is asked by TCP whether it stands, once a second from then on; ten
 * questions without an answer end it. Longer than a poll that a stock server holds, so that those are not asked.
 */
export const ASK_SILENT_AFTER_MS = 31_000;
/** Where the socket below TLS cannot be seen: what its handshake takes, and each record of at most so many bytes. */
const TLS_HANDSHAKE = 4_300;
const TLS_RECORD = { bytes: 16_384, more: 22 } as const;

/** Socket of TCP that Node keeps below one of TLS, with counts of its own. */
interface RawCounts {
  readonly bytesRead?: number;
  readonly bytesWritten?: number;
}

interface Watched {
  readonly socket: Socket;
  readonly raw: RawCounts | undefined;
  seen: { sent: number; received: number };
}

export class WireCount {
  readonly #open = new Set<Watched>();
  readonly #lanes = new Map<Lane, number>();
  /** Exchanged since bytes were shared out last, by lane. */
  readonly #exchanged = new Map<Lane, number>();
  /** By lane, or one for all where they share a connection. */
  readonly #words = new Map<Lane | 'all', WordCount>();
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  #lastLane: Lane = 'calls';
  /** Carried by sockets, and not yet shared out. */
  #carried = 0;

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
  }

  watch(socket: Socket): void {
    const watched: Watched = { socket, raw: rawOf(socket), seen: { sent: 0, received: 0 } };
    this.#open.add(watched);
    this.#carried += PER_SOCKET + ('encrypted' in socket ? PER_HANDSHAKE : 0);
    socket.once('close', () => {
      this.#look(watched);
      this.#open.delete(watched);
    });
  }

  /** Notes an exchange that begins. */
  began(lane: Lane): void {
    this.#add(lane, this.#wordsOf(lane).began(this.#clock.monotonicMs()));
  }

  note(lane: Lane, { bytes, ms }: ExchangeBytes): void {
    this.#exchanged.set(lane, (this.#exchanged.get(lane) ?? 0) + bytes);
    this.#lastLane = lane;
    this.#add(lane, this.#wordsOf(lane).ended(this.#clock.monotonicMs()) + Math.floor(ms / ASK_SILENT_AFTER_MS) * PER_QUESTION);
  }

  /** Returns all that was carried so far, by lane. */
  lanes(): LaneBytes {
    for (const watched of this.#open) this.#look(watched);
    const exchanged = [...this.#exchanged.values()].reduce((sum, one) => sum + one, 0);
    if (exchanged === 0) this.#add(this.#lastLane, this.#carried);
    for (const [lane, bytes] of this.#exchanged) this.#add(lane, (this.#carried * bytes) / exchanged);
    this.#carried = 0;
    this.#exchanged.clear();
    return Object.fromEntries(LANES.map((lane) => [lane, Math.round(this.#lanes.get(lane) ?? 0)])) as LaneBytes;
  }

  #wordsOf(lane: Lane): WordCount {
    const isShared = [...this.#open].some(({ socket }) => (socket as { readonly alpnProtocol?: unknown }).alpnProtocol === 'h2');
    return getOrInsert(this.#words, isShared ? 'all' : lane, createWordCount);
  }

  #add(lane: Lane, bytes: number): void {
    this.#lanes.set(lane, (this.#lanes.get(lane) ?? 0) + bytes);
  }

  #look(watched: Watched): void {
    const { socket, raw, seen } = watched;
    const isTls = 'encrypted' in socket;
    const wire = (plain: number, below: number | undefined): number =>
      isTls
        ? Math.max(
            below ?? 0,
            plain + Math.ceil(plain / TLS_RECORD.bytes) * TLS_RECORD.more + (below === undefined ? TLS_HANDSHAKE / 2 : 0),
          )
        : plain;
    const sent = Math.max(seen.sent, wire(socket.bytesWritten, raw?.bytesWritten));
    const received = Math.max(seen.received, wire(socket.bytesRead, raw?.bytesRead));
    const segments = (bytes: number): number => Math.floor(bytes / SEGMENT);
    const more = segments(sent) - segments(seen.sent) + segments(received) - segments(seen.received);
    this.#carried += sent - seen.sent + received - seen.received + more * PER_SEGMENT;
    watched.seen = { sent, received };
  }
}

/** Returns the bytes of two counts by lane. */
export function sumOfLanes(one: LaneBytes | undefined, other: LaneBytes | undefined): LaneBytes {
  return Object.fromEntries(LANES.map((lane) => [lane, (one?.[lane] ?? 0) + (other?.[lane] ?? 0)])) as LaneBytes;
}

function rawOf(socket: Socket): RawCounts | undefined {
  const { _handle: handle } = socket as { readonly _handle?: { readonly _parent?: RawCounts } | null };
  return typeof handle?._parent?.bytesWritten === 'number' ? handle._parent : undefined;
}
