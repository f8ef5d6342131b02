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
import { bodyOfStream, endStream, http2 } from './http2-answer.ts';
import { type BrokenConnection, brokenConnection, type LaneAnswer, type LaneRequest } from './lane-request.ts';
import { ASK_SILENT_AFTER_MS } from './wire-count.ts';

export interface Http2ConnectionDeps {
  readonly origin: string;
  readonly clock: Pick<Clock, 'monotonicMs' | 'after'>;
  /** For the server's first word after the handshake. */
  readonly settingsWithinMs: number;
  /** Called when there may be more room than there was, or less. */
  readonly onChange: () => void;
}

/** At most so many streams, however many the server allows. */
const MAX_STREAMS = 100;
/** Streams that polls leave to everything else. */
const RESERVED_STREAMS = 8;
/** Bytes of one answer under way: what stands in front of another answer on a slow line, one second of 1 Mbit/s. */
const STREAM_WINDOW = 128 * 1024;
/** Bytes of all answers under way: downloads that nobody reads leave room for the rest. */
const CONNECTION_WINDOW = 1024 * 1024;
/** Headers of an honest server are a few hundred bytes. */
const MAX_HEADERS = 16 * 1024;
/** Bytes of anything but bodies between two looks: the same bound as for a socket of HTTP/1.1. */
const MAX_FRAMES = 16 * 1024 * 1024;
/** Answers of status 1xx to one request. */
const MAX_HINTS = 20;
/** PINGs of the server between two looks. */
const MAX_PINGS = 100;
const LOOK_EVERY_MS = 5_000;
/** An answer that is no poll's comes within this time, or anything else does. */
const ANSWER_MS = 10_000;
/** Longest silence while nothing but polls stands; routers forget a connection that is silent for longer than some minutes. */
const SILENCE_MS = 120_000;
const PING_WITHIN_MS = 15_000;
/** RFC 9113, 6.2. */
const HEADERS_FRAME = 1;

export class Http2Connection {
  readonly #session: ClientHttp2Session;
  readonly #socket: Socket;
  readonly #deps: Http2ConnectionDeps;
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

  private constructor(session: ClientHttp2Session, socket: Socket, deps: Http2ConnectionDeps) {
    this.#session = session;
    this.#socket = socket;
    this.#deps = deps;
    this.#heardAtMs = deps.clock.monotonicMs();
    const end = (): void => {
      this.#cancelLook?.();
      this.#cancelPing();
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
    session.setLocalWindowSize(CONNECTION_WINDOW);
    session.unref();
  }

  /** Takes a socket on which HTTP/2 was agreed. @throws BrokenConnection when the server does not say what it allows. */
  static async open(socket: Socket, deps: Http2ConnectionDeps): Promise<Http2Connection> {
    const session = http2().connect(deps.origin, {
      createConnection: () => socket,
      settings: { enablePush: false, initialWindowSize: STREAM_WINDOW, maxHeaderListSize: MAX_HEADERS },
    });
    // Streams tell their own faults; without a listener it would end the process.
    session.on('error', () => {});
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const refuse = (): void => reject(brokenConnection('the server has not begun to speak HTTP/2'));
    const cancel = deps.clock.after(deps.settingsWithinMs, refuse);
    session.once('remoteSettings', () => resolve()).once('close', refuse);
    try {
      await promise;
      return new Http2Connection(session, socket, deps);
    } catch (error) {
      session.destroy();
      throw error;
    } finally {
      cancel();
    }
  }

  /** New streams that the server allows at once. */
  get allowed(): number {
    return Math.min(MAX_STREAMS, this.#session.remoteSettings.maxConcurrentStreams ?? MAX_STREAMS);
  }

  /** Nothing new may begin here, ever. */
  get isOver(): boolean {
    return this.#isLeaving || this.#session.closed || this.#session.destroyed;
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
    const stream = this.#session.request({ ...headers, ...length, ':method': method, ':path': path }, { endStream: body === null });
    const beganMs = this.#began(isPoll);
    const heardBytes = this.#socket.bytesRead;
    const { promise, resolve, reject } = Promise.withResolvers<LaneAnswer>();
    let answer: LaneAnswer | undefined;
    let [isUnsent, hints] = [false, 0];
    const abort = (): void => {
      reject(signal.reason);
      answer?.body.destroy(signal.reason instanceof Error ? signal.reason : undefined);
      endStream(stream);
      const isSilent = this.#socket.bytesRead === heardBytes && this.#deps.clock.monotonicMs() - beganMs >= ANSWER_MS;
      if (isSilent) this.#doubt();
    };
    signal.addEventListener('abort', abort, { once: true });
    stream
      .on('headers', () => {
        hints += 1;
        if (hints > MAX_HINTS) endStream(stream);
      })
      .once('response', (responseHeaders) => {
        const { ':status': statusCode = 0, ...rest } = responseHeaders as IncomingHttpHeaders & { readonly ':status'?: number };
        // The runtime tells the server its limit, and takes what comes all the same.
        if (bytesOf(rest) > MAX_HEADERS) return endStream(stream);
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

  #unseen({ id, rstCode }: ClientHttp2Stream, isUnsent: boolean): BrokenConnection['unseen'] {
    const isUnseen = isUnsent || rstCode === http2().constants.NGHTTP2_REFUSED_STREAM || id === undefined || id > this.#lastStream;
    if (!isUnseen) return undefined;
    return this.#isLeaving && this.#lastStream > 0 ? 'leaving' : 'refused';
  }

  #began(isPoll: boolean): number {
    const nowMs = this.#deps.clock.monotonicMs();
    if (this.#polls + this.#others === 0) {
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
    if (this.#polls + this.#others === 0) {
      this.#session.unref();
      this.#socket.setKeepAlive(false);
      this.#cancelLook?.();
      this.#cancelLook = undefined;
    }
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
    const isLate = this.#others > 0 && Math.min(silentMs, nowMs - this.#othersSinceMs) >= ANSWER_MS;
    if (isLate || silentMs >= SILENCE_MS) this.#doubt();
    this.#cancelLook = this.#deps.clock.after(LOOK_EVERY_MS, () => this.#look());
  }

  #doubt(): void {
    if (this.#isDoubted || this.#session.destroyed) return;
    this.#isDoubted = true;
    this.#cancelPing = this.#deps.clock.after(PING_WITHIN_MS, () => this.end());
    this.#session.ping((fault) => {
      if (fault !== null) return;
      this.#cancelPing();
      this.#isDoubted = false;
      this.#heardAtMs = this.#deps.clock.monotonicMs();
      this.#deps.onChange();
    });
    this.#deps.onChange();
  }
}

function bytesOf(headers: IncomingHttpHeaders): number {
  return Object.entries(headers).reduce((sum, [name, value]) => sum + name.length + String(value).length, 0);
}
