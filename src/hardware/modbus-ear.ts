/**
 * Frames among the bytes of a line. Drivers of RS-485 add a stray byte as they turn round, and adapters may send back what they are given: a frame
 * is looked for from every byte on.
 *
 *   first byte   any whole frame with a right check sum
 *   later        only what may answer an outstanding question: unit, function, length and check sum
 *
 * The echo of a request is skipped. Where the answer is the very same, as that to a write, the line has to be known for its echo.
 */
import type { Clock } from '../host/clock.ts';
import type { Framing } from './modbus-frames.ts';

/** The shortest answer of all, a refusal: fewer bytes are a disturbance, which no answer is lost by. */
const MIN_FRAME_LENGTH = 5;
/** Twice the longest frame: of more only the end is kept. */
const MAX_HEARD = 1_024;

export interface HeardFrame {
  readonly unitId: number;
  readonly pdu: Uint8Array;
}

export interface Hearing {
  readonly framing: Framing;
  readonly clock: Clock;
  readonly gapMs: number;
  readonly echo: boolean;
  readonly memory: { echoes: boolean };
  readonly lenient: boolean;
  /** True when these first bytes of a PDU may be of an outstanding answer of the unit. */
  readonly mayFit: (unitId: number, head: Uint8Array) => boolean;
  /** Called with each frame, or with nothing when what came was none. */
  readonly onFrame: (frame: HeardFrame | undefined) => void;
}

/** The request whose answer is due. */
interface Sent {
  readonly unitId: number;
  readonly frame: Uint8Array;
  /** Its answer is the same frame. */
  readonly fitsItself: boolean;
}

export class LineEar {
  readonly #hearing: Hearing;
  #heard: Uint8Array = new Uint8Array();
  #sent: Sent | undefined;
  /** True when the request came back since it was sent. */
  #cameBack = false;
  #cancelGap = (): void => {};

  constructor(hearing: Hearing) {
    this.#hearing = hearing;
  }

  /** Forgets what was heard before a request. */
  expect(sent: Sent): void {
    this.#cancelGap();
    this.#heard = new Uint8Array();
    this.#sent = sent;
    this.#cameBack = false;
  }

  /** Takes from an answer that came whether the line sends back what it is given. */
  learnEcho(): void {
    if (this.#sent?.fitsItself === false) this.#hearing.memory.echoes = this.#cameBack;
  }

  take(bytes: Uint8Array): void {
    this.#cancelGap();
    this.#heard = Buffer.concat([this.#heard, bytes]).subarray(-MAX_HEARD);
    this.#read(false);
    if (this.#heard.length > 0) this.#cancelGap = this.#hearing.clock.after(this.#hearing.gapMs, () => this.#end());
  }

  close(): void {
    this.#cancelGap();
  }

  /** Ends a pause after which half a frame is none any more. */
  #end(): void {
    this.#read(true);
    const isNoise = this.#heard.length >= MIN_FRAME_LENGTH;
    this.#heard = new Uint8Array();
    if (isNoise) this.#hearing.onFrame(undefined);
  }

  #read(isOver: boolean): void {
    for (let found = this.#find(isOver); found !== undefined; found = this.#find(isOver)) {
      this.#heard = this.#heard.subarray(found.end);
      if (found.frame !== undefined) this.#hearing.onFrame(found.frame);
    }
  }

  /** The first frame, or the request itself; nothing while one that has begun may go on. */
  #find(isOver: boolean): { readonly end: number; readonly frame?: HeardFrame } | undefined {
    for (let at = 0; at < this.#heard.length; at += 1) {
      const bytes = this.#heard.subarray(at);
      const echoed = this.#echoIn(bytes);
      if (echoed === 'whole') return { end: at + (this.#sent?.frame.length ?? 0) };
      const { unitId: of, pdu, length } = this.#hearing.framing.begun(bytes) ?? {};
      const unitId = this.#hearing.lenient ? (this.#sent?.unitId ?? of) : of;
      const mayFit = pdu !== undefined && (unitId === undefined || this.#hearing.mayFit(unitId, pdu));
      if (pdu !== undefined && unitId !== undefined && length !== undefined && (at === 0 || mayFit))
        return { end: at + length, frame: { unitId, pdu } };
      if (!isOver && (echoed === 'begun' || (mayFit && length === undefined))) return undefined;
    }
    return undefined;
  }

  /** How much of the request these bytes begin with. */
  #echoIn(bytes: Uint8Array): 'whole' | 'begun' | undefined {
    const { echo, memory } = this.#hearing;
    if (this.#sent === undefined || this.#cameBack || (this.#sent.fitsItself && !echo && !memory.echoes))
      return undefined;
    const { frame } = this.#sent;
    if (bytes.subarray(0, frame.length).some((byte, at) => byte !== frame[at])) return undefined;
    if (bytes.length < frame.length) return 'begun';
    this.#cameBack = true;
    return 'whole';
  }
}
