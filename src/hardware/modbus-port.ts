/** Modbus as its users need it: tables of 16-bit registers and of bits, on units behind one serial line or one TCP connection. */
import type { SerialSettings } from './serial-port.ts';
import type { TurnRank } from './turn-queue.ts';

/** `coil` and `discrete` are bits, the others 16-bit registers; `input` and `discrete` can only be read. */
export type ModbusTable = 'holding' | 'input' | 'coil' | 'discrete';

/** Neighbours in a table. */
export interface RegisterRange<Table extends ModbusTable = ModbusTable> {
  readonly table: Table;
  readonly address: number;
  readonly count: number;
}

/**
 * One connection, shared by all who open it; requests wait their turn, what switches off first. All throw AgentError:
 * `hardware/modbus-exception` (the unit refused: drop when it never will, else retry), `hardware/modbus-bad-answer`,
 * `hardware/modbus-no-answer`, `hardware/modbus-busy` (still so after several tries), `hardware/deadline` (retry).
 */
export interface ModbusLink extends ModbusRequests {
  /**
   * The same connection, for what must not wait behind readings. On the link itself everything is a reading.
   * @param code function for single registers and coils, where 6 and 5 are not what a unit wants.
   */
  ranked(rank: TurnRank, code?: WriteFunction): ModbusRequests;
  /** Calls back, until the returned function is called, when a unit answers after it was silent, or the line was away, for some seconds. */
  onReturn(unitId: number, listener: () => void): () => void;
  /** Gives this user's share back; the last one closes the connection. Idempotent. */
  close(): Promise<void>;
}

export interface ModbusRequests {
  /** From 1 to 125 of them. */
  readRegisters(
    unitId: number,
    range: RegisterRange<'holding' | 'input'>,
    signal: AbortSignal,
  ): Promise<readonly number[]>;
  /** From 1 to 2000 of them. */
  readBits(unitId: number, range: RegisterRange<'coil' | 'discrete'>, signal: AbortSignal): Promise<readonly boolean[]>;
  /** Writes holding registers, in one request. @param words from 1 to 123 of them. */
  writeRegisters(unitId: number, address: number, words: readonly number[], signal: AbortSignal): Promise<void>;
  writeCoil(unitId: number, address: number, on: boolean, signal: AbortSignal): Promise<void>;
  /** Writes one bit of a holding register and leaves the others: by function 22, or read and written in one turn, in which nobody else on this link writes. */
  writeBit(unitId: number, bit: RegisterBit, signal: AbortSignal): Promise<void>;
  /** Asks who the unit is, by function 43 or, where it refuses that, 17. @throws AgentError as the others, `hardware/modbus-exception` from a unit that does not tell. */
  identify(unitId: number, signal: AbortSignal): Promise<ModbusIdentity>;
}

/** Functions that write; 5 and 15 a coil, the others a register. */
export type WriteFunction = 5 | 6 | 15 | 16 | 22;

export interface RegisterBit {
  readonly address: number;
  /** 0 is the lowest. */
  readonly bit: number;
  readonly on: boolean;
}

export interface ModbusIdentity {
  readonly maker?: string;
  readonly product?: string;
  readonly revision?: string;
}

/** How long units take, and what they and their gateways do otherwise than the specification says. */
export interface ModbusManners {
  readonly responseTimeoutMs: number;
  /** Time that units need after the port was opened or the connection made, before they hear. Default: none. */
  readonly connectDelayMs?: number;
  /** Silence that units need after an answer, before they hear again. Default: none. */
  readonly betweenRequestsMs?: number;
  /** Takes answers with another unit number, and over TCP with another transaction number. */
  readonly lenient?: boolean;
  /** The line sends back what it is given. Default: it is found out from requests that read. */
  readonly echo?: boolean;
}

export type SerialConnection = Omit<SerialSettings, 'flowControl'> &
  ModbusManners & { readonly transport: 'rtu' | 'ascii' };
export type HostConnection = ModbusManners & {
  readonly transport: 'tcp' | 'rtu-over-tcp' | 'ascii-over-tcp';
  readonly host: string;
  readonly port: number;
};

/** Where the units are, and how they are spoken to. */
export type ModbusConnection = SerialConnection | HostConnection;

export interface ModbusPort {
  /** Opens a serial port at once; a TCP connection is made by the first request. @throws AgentError as SerialPorts.open. */
  open(connection: ModbusConnection, signal: AbortSignal): Promise<ModbusLink>;
  /** Closes every connection. Idempotent. */
  close(): Promise<void>;
}
