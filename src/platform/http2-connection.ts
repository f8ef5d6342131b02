/**
 * One HTTP/2 connection: how many streams it has room for, and whether anybody is at its other end.
 *
 *   usable ── no answer in time ──▶ doubted, takes nothing new ── PING is answered ──▶ usable
 *      │                                      └── no answer to that either ──▶ ended
 *      └── GOAWAY ──▶ leaving: what stands goes on, nothing new ──▶ ended
 *
 * A PING costs as much as an empty poll does, so that none is sent while anything comes.
 */
import type { ClientHttp2Session, ClientHttp2Stream, IncomingHttpHeaders } from 'node:http2';
import type { Socket } from 'node:net';
import type { Clock } from '../host/clock.ts';
import { type BytesAhead, bytesAhead } from './bytes-ahead.ts';
import { bodyOfStream, endStream, http2 } from './http2-answer.ts';
import {
  HEADERS_FRAME,
  type Http2SessionDeps,
  headerBytes,
  MAX_HEADERS,
  MAX_HINTS,
  MAX_PINGS,
  openSession,
} from './http2-session.ts';
import { type BrokenConnection, brokenConnection, type LaneAnswer, type LaneRequest } from './lane-request.ts';
import type { LineSpeed } from './line-speed.ts';
import { ASK_SILENT_AFTER_MS } from './wire-count.ts';

export interface Http2ConnectionDeps extends Http2SessionDeps {
  readonly clock: Pick<Clock, 'monotonicMs' | 'after'>;
  /** Learned from the bodies that pass, for all connections. */
  readonly line: LineSpeed;
  /** Called when there may be more room than there was, or less. */
  readonly onChange: () => void;
}

/** At most so many streams, however many the server allows. */
const MAX_STREAMS = 100;
/** Streams that polls leave to everything else. */
const RESERVED_STREAMS = 8;
/** Bytes of anything but bodies between two looks: the same bound as for a socket of HTTP/1.1. */
const MAX_FRAMES = 16 * 1024 * 1024;
const LOOK_EVERY_MS = 5_000;
/** An answer that is no poll's comes within this time and that of the bytes ahead, or anything else does. */
const ANSWER_MS = 10_000;
/** Longest silence while nothing but polls stands; routers forget a connection that is silent for longer than some minutes. */
const SILENCE_MS = 120_000;
const PING_WITHIN_MS = 15_000;
/** Nothing is asked on it meanwhile; the routers of mobile networks forget a silent connection after about as long. */
const IDLE_MS = 5 * 60_000;

export class Http2Connection {
  readonly #session: ClientHttp2Session;
  readonly #socket: Socket;
  readonly #deps: Http2ConnectionDeps;
  readonly #ahead: BytesAhead;
  #polls = 0;
  #others = 0;
  #isLeaving = false;
  #isDoubted = false;
  /** Last stream that the server will answer, once it has said so. */
  #lastStream = Number.POSITIVE_INFINITY;
  #othersSinceMs = 0;
  #heardAtMs: number;
  #heardBytes = 0;
  #frameBytes = 0;
  #pings = 0;
  #cancelLook: (() => void) | undefined;
  #cancelPing = (): void => {};
  #cancelIdle = (): void => {};

  private constructor(session: ClientHttp2Session, socket: Socket, deps: Http2ConnectionDeps) {
    this.#session = session;
    this.#socket = socket;
    this.#deps = deps;
    this.#ahead = bytesAhead(socket, deps.line);
    this.#heardAtMs = deps.clock.monotonicMs();
    const end = (): void => {
      this.#cancelLook?.();
      this.#cancelPing();
      this.#cancelIdle();
      deps.onChange();
    };
    session.on('goaway', (_code: number, lastStream: number) => {
      this.#isLeaving = true;
      this.#lastStream = Math.min(this.#lastStream, lastStream);
      deps.onChange();
    });
    session.on('ping', () => {
      this.#pings += 1;
      if (this.#pings > MAX_PINGS) this.end();
    });
    session.on('remoteSettings', deps.onChange).once('close', end);
    this.#idle();
  }

  /** Takes a socket on which HTTP/2 was agreed. @throws BrokenConnection when the server does not say what it allows. */
  static async open(socket: Socket, deps: Http2ConnectionDeps): Promise<Http2Connection> {
    return new Http2Connection(await openSession(socket, deps), socket, deps);
  }

  /** New streams that the server allows at once. */
  get allowed(): number {
    return Math.min(MAX_STREAMS, this.#session.remoteSettings.maxConcurrentStreams ?? MAX_STREAMS);
  }

  /** Nothing new may begin here, ever. */
  get isOver(): boolean {
    return this.#isLeaving || this.#session.closed || this.#session.destroyed;
  }

  get isEnded(): boolean {
    return this.#session.destroyed;
  }

  /** Room for one more. Where so few streams are allowed that none could be left free, polls have connections of their own. */
  hasRoom(isPoll: boolean): boolean {
    const { allowed } = this;
    if (this.isOver || this.#isDoubted || this.#polls + this.#others >= allowed) return false;
    const isShared = allowed > RESERVED_STREAMS;
    if (isPoll) return isShared ? this.#polls < allowed - RESERVED_STREAMS : this.#others === 0;
    return isShared || this.#polls === 0;
  }

  /** Sends a request where `hasRoom` has said so, at once. @throws BrokenConnection, or the signal's reason. */
  request(request: LaneRequest, isPoll: boolean): Promise<LaneAnswer> {
    const { method, path, headers, body, signal } = request;
    const length = body === null ? {} : { 'content-length': String(Buffer.byteLength(body)) };
    const stream = this.#session.request(
      { ...headers, ...length, ':method': method, ':path': path },
      { endStream: body === null },
    );
    const beganMs = this.#began(isPoll);
    const heardBytes = this.#socket.bytesRead;
    const { promise, resolve, reject } = Promise.withResolvers<LaneAnswer>();
    let passed = this.#ahead.written();
    let answer: LaneAnswer | undefined;
    let [isUnsent, hints] = [false, 0];
    const abort = (): void => {
      reject(signal.reason);
      answer?.body.destroy(signal.reason instanceof Error ? signal.reason : undefined);
      endStream(stream);
      const isSilent = this.#socket.bytesRead === heardBytes && this.#isLate(this.#deps.clock.monotonicMs() - beganMs);
      if (isSilent) this.#doubt();
    };
    signal.addEventListener('abort', abort, { once: true });
    stream
      .once('finish', () => {
        passed = this.#ahead.written();
      })
      .on('headers', () => {
        hints += 1;
        if (hints > MAX_HINTS) endStream(stream);
      })
      .once('response', (responseHeaders) => {
        passed();
        if (body !== null && stream.writableFinished)
          this.#deps.line.passed(Buffer.byteLength(body), this.#deps.clock.monotonicMs() - beganMs);
        const { ':status': statusCode = 0, ...rest } = responseHeaders as IncomingHttpHeaders & {
          readonly ':status'?: number;
        };
        // The runtime tells the server its limit, and takes what comes all the same.
        if (headerBytes(rest) > MAX_HEADERS) return endStream(stream);
        const arrived = (bytes: number): void => {
          this.#frameBytes -= bytes;
        };
        answer = { statusCode, headers: rest, body: bodyOfStream(stream, rest['content-length'], arrived) };
        resolve(answer);
      })
      // The runtime would not send its headers any more.
      .on('frameError', (type) => {
        isUnsent ||= type === HEADERS_FRAME;
      })
      .on('error', () => {})
      .once('close', () => {
        signal.removeEventListener('abort', abort);
        this.#ended(isPoll);
        const words = `the stream was ended without an answer (stream error ${stream.rstCode})`;
        reject(brokenConnection(words, this.#unseen(stream, isUnsent)));
      });
    if (body !== null) stream.end(body);
    return promise;
  }

  /** Ends it and all that is under way on it. Idempotent. */
  end(): void {
    this.#session.destroy();
  }

  /** Longer without a word than an answer and the bytes ahead may take. */
  #isLate(silentMs: number, withinMs = ANSWER_MS): boolean {
    return silentMs >= withinMs + this.#ahead.extraMs();
  }

  #idle(): void {
    this.#session.unref();
    this.#socket.setKeepAlive(false);
    this.#cancelLook?.();
    this.#cancelLook = undefined;
    this.#cancelIdle();
    if (!this.#session.destroyed) this.#cancelIdle = this.#deps.clock.after(IDLE_MS, () => this.end());
  }

  #unseen({ id, rstCode }: ClientHttp2Stream, isUnsent: boolean): BrokenConnection['unseen'] {
    const isUnseen =
      isUnsent || rstCode === http2().constants.NGHTTP2_REFUSED_STREAM || id === undefined || id > this.#lastStream;
    if (!isUnseen) return undefined;
    return this.#isLeaving && this.#lastStream > 0 ? 'leaving' : 'refused';
  }

  #began(isPoll: boolean): number {
    const nowMs = this.#deps.clock.monotonicMs();
    if (this.#polls + this.#others === 0) {
      this.#cancelIdle();
      this.#session.ref();
      this.#socket.setKeepAlive(true, ASK_SILENT_AFTER_MS);
      this.#heardAtMs = nowMs;
    }
    if (!isPoll && this.#others === 0) this.#othersSinceMs = nowMs;
    if (isPoll) this.#polls += 1;
    else this.#others += 1;
    this.#cancelLook ??= this.#deps.clock.after(LOOK_EVERY_MS, () => this.#look());
    return nowMs;
  }

  #ended(isPoll: boolean): void {
    if (isPoll) this.#polls -= 1;
    else this.#others -= 1;
    if (this.#polls + this.#others === 0) this.#idle();
    this.#deps.onChange();
  }

  #look(): void {
    const nowMs = this.#deps.clock.monotonicMs();
    const bytes = this.#socket.bytesRead - this.#heardBytes;
    if (bytes > 0) this.#heardAtMs = nowMs;
    this.#heardBytes += bytes;
    if (this.#frameBytes + bytes > MAX_FRAMES) this.end();
    [this.#frameBytes, this.#pings] = [0, 0];
    const silentMs = nowMs - this.#heardAtMs;
    const isLate = this.#others > 0 && this.#isLate(Math.min(silentMs, nowMs - this.#othersSinceMs));
    if (isLate || this.#isLate(silentMs, SILENCE_MS)) this.#doubt();
    this.#cancelLook = this.#deps.clock.after(LOOK_EVERY_MS, () => this.#look());
  }

  #doubt(): void {
    if (this.#isDoubted || this.#session.destroyed) return;
    this.#isDoubted = true;
    const passed = this.#ahead.written();
    this.#cancelPing = this.#deps.clock.after(PING_WITHIN_MS + this.#ahead.extraMs(), () => {
      this.#deps.line.stuck();
      this.end();
    });
    this.#session.ping((fault) => {
      if (fault !== null) return;
      passed();
      this.#cancelPing();
      this.#isDoubted = false;
      this.#heardAtMs = this.#deps.clock.monotonicMs();
      this.#deps.onChange();
    });
    this.#deps.onChange();
  }
}
