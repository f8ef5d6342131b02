/**
 * I2C as drivers need it. Registers, words and plain transfers are told apart because some adapters (and i2c-stub) speak only SMBus:
 * those serve the first two, and answer `hardware/unsupported` to plain transfers that SMBus has no form for.
 */
import { hasCode } from '../errors/agent-error.ts';

export interface I2cBus {
  /** `i2c-1`, for messages. */
  readonly name: string;
  /** Writes the register's number, then reads from it without a stop in between; the chip counts registers up by itself. */
  readRegisters(address: number, register: number, length: number, signal: AbortSignal): Promise<Uint8Array>;
  /** Writes consecutive registers. */
  writeRegisters(address: number, register: number, bytes: Uint8Array, signal: AbortSignal): Promise<void>;
  /** One 16-bit register whose first byte on the wire is the most significant, as most converters send it. */
  readWord(address: number, register: number, signal: AbortSignal): Promise<number>;
  /** Writes one 16-bit register, most significant byte first. */
  writeWord(address: number, register: number, word: number, signal: AbortSignal): Promise<void>;
  /** A plain read, for chips that have no registers. */
  read(address: number, length: number, signal: AbortSignal): Promise<Uint8Array>;
  /** A plain write. */
  write(address: number, bytes: Uint8Array, signal: AbortSignal): Promise<void>;
  /** Tells if a chip acknowledges the address; changes nothing on chips that only read can be asked of. */
  probe(address: number, signal: AbortSignal): Promise<boolean>;
  /** Gives this user's share of the bus back; the last one closes it. Idempotent. */
  close(): Promise<void>;
}

/**
 * Every transfer of one bus waits its turn; the signal is the deadline of waiting and transfer together.
 * All throw AgentError: `hardware/i2c-no-answer` (nobody acknowledged), `hardware/i2c-failed`, `hardware/deadline` (all retry),
 * `hardware/unsupported` (hold).
 */
export interface I2cPort {
  /** @throws AgentError `hardware/i2c-no-bus` or `hardware/no-permission` (both retry). */
  openBus(bus: number, signal: AbortSignal): Promise<I2cBus>;
  /** The numbers of the buses there are. */
  list(signal: AbortSignal): Promise<readonly number[]>;
  /** Closes every bus. Idempotent. */
  close(): Promise<void>;
}

/** Tells if a chip acknowledged its address in this transfer. @throws any other failure. */
export async function isAnswered(transfer: Promise<unknown>): Promise<boolean> {
  try {
    await transfer;
    return true;
  } catch (error) {
    if (hasCode(error, 'hardware/i2c-no-answer')) return false;
    throw error;
  }
}

/** `0x76`, as datasheets write it. */
export function addressInWords(address: number): string {
  return `0x${address.toString(16).padStart(2, '0')}`;
}
