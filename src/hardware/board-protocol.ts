/**
 * Protocol of agent and simulated board over the board's Unix socket: JSON lines, one message each.
 *
 *   board → client  {"turnstoneBoard":1}                                          on connect
 *   client → board  {"id":1,"op":"i2c.transfer","params":{…}}
 *   board → client  {"id":1,"result":…}  or  {"id":1,"error":{code,message,recovery}}
 *   board → client  {"event":"edge","handle":3,…}                                 for handles this connection opened
 *
 * Bytes are hexadecimal text. Everything that a connection opened is released when it ends, as the kernel does for a process.
 */
import type { Recovery } from '../errors/agent-error.ts';
import type { JsonValue } from '../values/json.ts';
import type { InputRequest, Level, LineDescription, OutputRequest } from './gpio-port.ts';
import type { KernelDevice } from './kernel-device-port.ts';
import type { PwmChip, PwmRequest, PwmState } from './pwm-port.ts';
import type { SerialDescription, SerialSettings } from './serial-port.ts';

/** Every operation with its parameters and its result. */
export interface BoardOperations {
  'gpio.openInput': { params: InputRequest; result: { readonly handle: number } };
  'gpio.openOutput': { params: OutputRequest; result: { readonly handle: number } };
  'gpio.read': { params: { readonly handle: number }; result: Level };
  'gpio.write': { params: { readonly handle: number; readonly level: Level }; result: null };
  'gpio.list': { params: Empty; result: readonly LineDescription[] };
  'i2c.openBus': { params: { readonly bus: number }; result: null };
  /** Writes, then reads without a stop in between; either part may be empty. */
  'i2c.transfer': {
    params: { readonly bus: number; readonly address: number; readonly write: string; readonly read: number };
    result: string;
  };
  'i2c.list': { params: Empty; result: readonly number[] };
  /** `device` is a real tty to open instead; otherwise bytes travel as events of the handle. */
  'serial.open': { params: SerialSettings; result: { readonly handle: number; readonly device?: string } };
  'serial.write': { params: { readonly handle: number; readonly bytes: string }; result: null };
  'serial.list': { params: Empty; result: readonly SerialDescription[] };
  /** Where the board answers for a Modbus/TCP host: a port of 127.0.0.1, or null when it does not. */
  'modbus.tcp': { params: { readonly host: string; readonly port: number }; result: { readonly port: number } | null };
  /** Answer of an HTTP device of the board, or null for a host that is none. */
  'http.ask': { params: { readonly host: string }; result: string | null };
  'oneWire.read': { params: { readonly id: string }; result: string };
  'oneWire.list': { params: Empty; result: readonly string[] };
  'kernel.list': { params: { readonly of: 'iio' | 'hwmon' }; result: readonly KernelDevice[] };
  'kernel.read': { params: { readonly folder: string; readonly file: string }; result: string };
  'pwm.open': { params: PwmRequest; result: { readonly handle: number } };
  'pwm.set': { params: PwmState & { readonly handle: number }; result: null };
  'pwm.read': { params: { readonly handle: number }; result: PwmState };
  'pwm.list': { params: Empty; result: readonly { readonly chip: PwmChip; readonly channels: number }[] };
  /** Releases a line, port or channel. */
  close: { params: { readonly handle: number }; result: null };
  /** Everything done to a line, oldest first; the line as `chip:offset` or its name. */
  'record.moves': { params: { readonly line: string; readonly sinceMs?: number }; result: readonly BoardMove[] };
  /** How often each kind of thing was recorded, by `kind key`. */
  'record.counts': { params: Empty; result: Readonly<Record<string, number>> };
  /** Holds an input at a level, or a chip's signal at a value, against its own signal; null lets go. */
  'bench.hold': { params: { readonly target: string; readonly value: number | null }; result: null };
  /**
   * `hang`, `nak`, `garbage` on `i2c-1` or `i2c-1:0x76`; `brown-out` on them: the chips lose their power for a moment, and what they were told;
   * on a one-wire slave: in each of its conversions; `unplug` on a port or a GPIO chip; `hang` on `gpio` or `one-wire`; `merge` on a GPIO
   * chip: edges in quick succession reach the agent as one or none, as over sysfs. Null mends it.
   */
  'bench.fault': { params: { readonly target: string; readonly fault: BoardFault | null }; result: null };
  'bench.faults': { params: Empty; result: Readonly<Record<string, BoardFault>> };
}

export type BoardFault = 'hang' | 'nak' | 'garbage' | 'brown-out' | 'unplug' | 'merge';
type Empty = Readonly<Record<string, never>>;

/** One movement of an output, or of an input by its signal. */
export interface BoardMove {
  /** ms since boot, on the clock of board and agent alike. */
  readonly monotonicMs: number;
  readonly wallMs: number;
  /** Physical level after it. */
  readonly level: Level;
}

export type BoardOperation = keyof BoardOperations;

export type BoardReply = {
  readonly id: number;
  readonly result?: JsonValue;
  readonly error?: { readonly code: `${string}/${string}`; readonly message: string; readonly recovery: Recovery };
};

export type BoardEvent =
  | {
      readonly event: 'edge';
      readonly handle: number;
      readonly level: Level;
      readonly monotonicMs: number;
      readonly missed: number;
    }
  | { readonly event: 'bytes'; readonly handle: number; readonly bytes: string }
  | { readonly event: 'plug'; readonly handle: number; readonly plugged: boolean };
