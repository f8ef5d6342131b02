/**
 * Count of what the network carries for the agent's sockets, as a plan bills it: the bytes of TLS or of HTTP as the TCP socket has them, and by a stated
 * model what TCP/IP puts around them (docs/link.md). Sockets may serve several lanes: their bytes are shared out by what each lane exchanged.
 */
import type { Socket } from 'node:net';
import type { Lane } from './connections.ts';

/** An exchange that is over: about what its request and its answer have, and how long it took. */
export interface ExchangeBytes {
  readonly bytes: number;
  readonly ms: number;
}

export type LaneBytes = Readonly<Record<Lane, number>>;

export const LANES: readonly Lane[] = ['upload', 'calls', 'attribute-poll', 'rpc-poll', 'download'];

/** Headers of IPv4 and TCP with time stamps; a segment that is full has 1448 bytes beside them. */
const HEADERS = 52;
const SEGMENT = 1_448;
/** A segment and its acknowledgement. */
const PER_SEGMENT = 2 * HEADERS;
/** The last segment of the request and that of the answer, which are not full. */
const PER_EXCHANGE = 2 * PER_SEGMENT;
/** Three segments at the beginning, four at the end, and what the first two have more. */
const PER_SOCKET = 7 * HEADERS + 16;
/** TCP asks a silent connection so often whether it stands. */
const ASKED_EVERY_MS = 25_000;
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
  #lastLane: Lane = 'calls';
  /** Carried by sockets, and not yet shared out. */
  #carried = 0;

  watch(socket: Socket): void {
    const watched: Watched = { socket, raw: rawOf(socket), seen: { sent: 0, received: 0 } };
    this.#open.add(watched);
    this.#carried += PER_SOCKET;
    socket.once('close', () => {
      this.#look(watched);
      this.#open.delete(watched);
    });
  }

  note(lane: Lane, { bytes, ms }: ExchangeBytes): void {
    this.#exchanged.set(lane, (this.#exchanged.get(lane) ?? 0) + bytes);
    this.#lastLane = lane;
    this.#add(lane, PER_EXCHANGE + Math.floor(ms / ASKED_EVERY_MS) * PER_SEGMENT);
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
