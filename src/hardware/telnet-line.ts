/**
 * Telnet with the option of a serial port's settings (RFC 854, RFC 2217), as a client: it takes commands out of the bytes that come, and makes
 * those that are sent.
 *
 *   IAC WILL COM-PORT  ─►  IAC DO COM-PORT     the server knows the option
 *   IAC SB COM-PORT SET-BAUDRATE … IAC SE  ─►  the same with its number + 100, and the value that holds
 */
import type { SerialSpeed } from './serial-port.ts';

const IAC = 0xff;
const DONT = 0xfe;
const DO = 0xfd;
const WONT = 0xfc;
const WILL = 0xfb;
const SB = 0xfa;
const SE = 0xf0;

const BINARY = 0;
const SUPPRESS_GO_AHEAD = 3;
const COM_PORT = 44;
const SET_BAUD_RATE = 1;
const SET_DATA_SIZE = 2;
const SET_PARITY = 3;
const SET_STOP_SIZE = 4;
/** A server answers with the number of the order, and this much more. */
const ANSWER = 100;
const PARITIES = { none: 1, odd: 2, even: 3 } as const;
/** The longest command has some ten bytes. */
const MAX_COMMAND = 256;

export interface TelnetEvents {
  /** The server knows the option of the settings, or does not. */
  readonly onOption: (isKnown: boolean) => void;
  /** A setting that holds, by the number of its order. */
  readonly onSetting: (order: number, value: number) => void;
  /** Answer that is to be sent. */
  readonly onAnswer: (bytes: Uint8Array) => void;
}

export class TelnetLine {
  readonly #events: TelnetEvents;
  /** A command that has not come as a whole. */
  #rest: readonly number[] = [];

  constructor(events: TelnetEvents) {
    this.#events = events;
  }

  /** Returns the bytes of the line among those that came. */
  take(bytes: Uint8Array): Uint8Array {
    const all = [...this.#rest, ...bytes];
    const plain: number[] = [];
    let at = 0;
    this.#rest = [];
    while (at < all.length) {
      const byte = all[at] ?? 0;
      if (byte !== IAC) {
        plain.push(byte);
        at += 1;
        continue;
      }
      const length = this.#commandLength(all, at);
      if (length === undefined) {
        this.#rest = all.slice(at, at + MAX_COMMAND);
        break;
      }
      if (all[at + 1] === IAC) plain.push(IAC);
      else this.#obey(all.slice(at + 1, at + length));
      at += length;
    }
    return Uint8Array.from(plain);
  }

  #commandLength(all: readonly number[], at: number): number | undefined {
    const verb = all[at + 1];
    if (verb === undefined) return undefined;
    if (verb === SB) {
      for (let end = at + 2; end + 1 < all.length; end += 1) {
        if (all[end] !== IAC) continue;
        if (all[end + 1] === SE) return end + 2 - at;
        end += 1;
      }
      return all.length - at > MAX_COMMAND ? 2 : undefined;
    }
    const isNegotiation = verb >= WILL && verb <= DONT;
    return isNegotiation ? (all[at + 2] === undefined ? undefined : 3) : 2;
  }

  #obey([verb = 0, option = 0, ...rest]: readonly number[]): void {
    if (verb === SB && option === COM_PORT) {
      const [answer = 0, ...value] = unescaped(rest.slice(0, -2));
      if (answer > ANSWER)
        this.#events.onSetting(
          answer - ANSWER,
          value.reduce((sum, byte) => sum * 256 + byte, 0),
        );
      return;
    }
    if (option === COM_PORT && (verb === DO || verb === DONT)) this.#events.onOption(verb === DO);
    // Those that were offered are known; anything else is refused.
    if (option === BINARY || option === SUPPRESS_GO_AHEAD || option === COM_PORT) return;
    if (verb === DO) this.#events.onAnswer(Uint8Array.of(IAC, WONT, option));
    if (verb === WILL) this.#events.onAnswer(Uint8Array.of(IAC, DONT, option));
  }
}

/** First words of a client. */
export function greeting(): Uint8Array {
  return Uint8Array.of(
    ...[IAC, WILL, BINARY, IAC, DO, BINARY],
    ...[IAC, WILL, SUPPRESS_GO_AHEAD, IAC, DO, SUPPRESS_GO_AHEAD],
    ...[IAC, WILL, COM_PORT],
  );
}

/** Bytes of the line as they are sent. */
export function escaped(bytes: Iterable<number>): Uint8Array {
  return Uint8Array.from([...bytes].flatMap((byte) => (byte === IAC ? [IAC, IAC] : [byte])));
}

/** Orders for these settings, with the value that the server is to confirm. */
export function settingsOf({
  baudRate,
  dataBits = 8,
  parity = 'none',
  stopBits = 1,
}: SerialSpeed): ReadonlyMap<number, number> {
  return new Map([
    [SET_BAUD_RATE, baudRate],
    [SET_DATA_SIZE, dataBits],
    [SET_PARITY, PARITIES[parity]],
    [SET_STOP_SIZE, stopBits],
  ]);
}

export function order(setting: number, value: number): Uint8Array {
  const bytes = setting === SET_BAUD_RATE ? [24, 16, 8, 0].map((shift) => (value >>> shift) & 0xff) : [value];
  return Uint8Array.of(IAC, SB, COM_PORT, setting, ...escaped(bytes), IAC, SE);
}

function unescaped(bytes: readonly number[]): readonly number[] {
  const plain: number[] = [];
  for (let at = 0; at < bytes.length; at += 1) {
    plain.push(bytes[at] ?? 0);
    if (bytes[at] === IAC) at += 1;
  }
  return plain;
}
