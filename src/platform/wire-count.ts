/**
 * Count of what the network carries for the agent's sockets, as a plan bills it: the bytes of TLS or of HTTP as the TCP socket has them, and by a stated
 * model what TCP/IP puts around them (docs/link.md). Sockets may serve several lanes: their bytes are shared out by what each lane exchanged.
 */
import type { Socket } from 'node:net';
import type { Clock } from '../host/clock.ts';
import { getOrInsert } from '../values/get-or-insert.ts';
import type { Lane } from './connections.ts';
import { createWordCount, HEADERS, type WordCount } from './word-count.ts';

/** An exchange that is over: about what its request and its answer have. */
export interface ExchangeBytes {
  readonly bytes: number;
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
/** Within half of it is known when a connection fell silent. */
const LOOK_EVERY_MS = 5_000;
/** Segments of a try that meets nobody, and when they are sent again: each second for a while, then more and more seldom. */
const SYN = 60;
const SYN_AT_MS = [0, 1_000, 2_000, 3_000, 4_000, 5_000, 7_000, 11_000, 19_000, 35_000];

/** Socket of TCP, below TLS where there is any. */
export interface TcpSocket extends Pick<Socket, 'bytesRead' | 'bytesWritten'> {
  once(event: 'close', listener: () => void): unknown;
}

interface Watched {
  readonly socket: TcpSocket;
  sent: number;
  received: number;
  lookedAtMs: number;
  silentSinceMs: number;
  /** Questions of TCP since then. */
  asked: number;
}

export class WireCount {
  readonly #clock: Pick<Clock, 'monotonicMs' | 'after'>;
  readonly #open = new Set<Watched>();
  readonly #lanes = new Map<Lane, number>();
  /** Exchanged since bytes were shared out last, by lane. */
  readonly #exchanged = new Map<Lane, number>();
  /** By lane, or one for all where they share a connection. */
  readonly #words = new Map<Lane | 'all', WordCount>();
  #isShared = false;
  #underWay = 0;
  #lastLane: Lane = 'calls';
  /** Carried by sockets, and not yet shared out. */
  #carried = 0;
  #cancelLook: (() => void) | undefined;

  constructor(clock: Pick<Clock, 'monotonicMs' | 'after'>) {
    this.#clock = clock;
  }

  /** Counts a connection that stands, until it is closed. */
  watch(socket: TcpSocket): void {
    const nowMs = this.#clock.monotonicMs();
    const watched: Watched = { socket, sent: 0, received: 0, lookedAtMs: nowMs, silentSinceMs: nowMs, asked: 0 };
    this.#open.add(watched);
    this.#carried += PER_SOCKET;
    this.#cancelLook ??= this.#clock.after(LOOK_EVERY_MS, () => this.#lookAgain());
    socket.once('close', () => {
      this.#look(watched);
      this.#open.delete(watched);
      if (this.#open.size > 0) return;
      this.#cancelLook?.();
      this.#cancelLook = undefined;
    });
  }

  /** Counts a try to connect that met nobody for so long. */
  failed(ms: number): void {
    this.#carried += SYN_AT_MS.filter((atMs) => atMs <= ms).length * SYN;
  }

  /** Counts the segments of a handshake that begins. */
  handshake(): void {
    this.#carried += PER_HANDSHAKE;
  }

  /** Notes that all lanes share a connection, on which TCP asks only while something is under way. */
  share(): void {
    this.#isShared = true;
  }

  /** Notes an exchange that begins. */
  began(lane: Lane): void {
    this.#underWay += 1;
    this.#add(lane, this.#wordsOf(lane).began(this.#clock.monotonicMs()));
  }

  note(lane: Lane, { bytes }: ExchangeBytes): void {
    this.#underWay -= 1;
    this.#exchanged.set(lane, (this.#exchanged.get(lane) ?? 0) + bytes);
    this.#lastLane = lane;
    this.#add(lane, this.#wordsOf(lane).ended(this.#clock.monotonicMs()));
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
    return getOrInsert(this.#words, this.#isShared ? 'all' : lane, createWordCount);
  }

  #add(lane: Lane, bytes: number): void {
    this.#lanes.set(lane, (this.#lanes.get(lane) ?? 0) + bytes);
  }

  #lookAgain(): void {
    for (const watched of this.#open) this.#look(watched);
    this.#cancelLook = this.#clock.after(LOOK_EVERY_MS, () => this.#lookAgain());
  }

  #look(watched: Watched): void {
    const nowMs = this.#clock.monotonicMs();
    const sent = Math.max(watched.sent, watched.socket.bytesWritten);
    const received = Math.max(watched.received, watched.socket.bytesRead);
    const bytes = sent - watched.sent + received - watched.received;
    const full =
      fullSegments(sent) - fullSegments(watched.sent) + fullSegments(received) - fullSegments(watched.received);
    if (bytes > 0) Object.assign(watched, { silentSinceMs: (watched.lookedAtMs + nowMs) / 2, asked: 0 });
    const isAsked = !this.#isShared || this.#underWay > 0;
    const asked = isAsked ? Math.floor((nowMs - watched.silentSinceMs) / ASK_SILENT_AFTER_MS) : watched.asked;
    this.#carried += bytes + full * PER_SEGMENT + (asked - watched.asked) * PER_QUESTION;
    Object.assign(watched, { sent, received, lookedAtMs: nowMs, asked });
  }
}

function fullSegments(bytes: number): number {
  return Math.floor(bytes / SEGMENT);
}

/** Returns the bytes of two counts by lane. */
export function sumOfLanes(one: LaneBytes | undefined, other: LaneBytes | undefined): LaneBytes {
  return Object.fromEntries(LANES.map((lane) => [lane, (one?.[lane] ?? 0) + (other?.[lane] ?? 0)])) as LaneBytes;
}
