/** Serial ports that survive being unplugged: an open port comes back by itself, and tells its users when it is gone and when it is back. */
import { type AgentError, retryable } from '../errors/agent-error.ts';

/** How the driver of a UART turns an RS-485 line round (kernel documentation, "RS485 Serial Communications"). */
export interface Rs485Settings {
  readonly rtsOnSend: boolean;
  readonly rtsAfterSend: boolean;
  readonly delayBeforeMs: number;
  readonly delayAfterMs: number;
  readonly receiveWhileSending: boolean;
}

export interface SerialSettings {
  /** `/dev/ttyUSB0`, or better a name under `/dev/serial/by-id/`; `tcp://host:4001` or `rfc2217://host:4001` behind a device server. */
  readonly port: string;
  readonly baudRate: number;
  /** Default 8. */
  readonly dataBits?: 5 | 6 | 7 | 8;
  /** Default 1. */
  readonly stopBits?: 1 | 2;
  /** Default `none`. */
  readonly parity?: 'none' | 'even' | 'odd';
  /** Default `none`. */
  readonly flowControl?: 'none' | 'hardware' | 'software';
  /** Default: the converter turns the line round, or the line is not RS-485. */
  readonly rs485?: Rs485Settings | undefined;
}

/** Settings that may change while a port is open. */
export type SerialSpeed = Pick<SerialSettings, 'baudRate' | 'dataBits' | 'parity' | 'stopBits'>;

export interface SerialPort {
  readonly path: string;
  /** False while the port is unplugged. */
  readonly plugged: boolean;
  /** Resolves when the bytes have left for the hardware. @throws AgentError `hardware/serial-unplugged` or `hardware/serial-failed` (retry). */
  write(bytes: Uint8Array, signal: AbortSignal): Promise<void>;
  /**
   * Goes to another speed, parity and length once the bytes before it have left; a port that comes back has those that it was opened with.
   * Absent where another device sets the line, such as a device server. @throws AgentError as write.
   */
  change?(speed: SerialSpeed, signal: AbortSignal): Promise<void>;
  /** Calls back with whatever arrives, in pieces of any size, until the returned function is called. */
  onBytes(listener: (bytes: Uint8Array) => void): () => void;
  /** Reason for which no byte can come, in words that follow the path; undefined while there is none, or nobody knows it. */
  readonly outage?: string | undefined;
  /** Calls back when the port is unplugged (with the reason) and when it has come back. */
  onPlug(listener: (plugged: boolean, reason: string) => void): () => void;
  /** Idempotent. */
  close(): Promise<void>;
}

/** One port, for people who look for it. */
export interface SerialDescription {
  readonly path: string;
  /** The name that stays the same when ports are renumbered. */
  readonly stablePath?: string;
  readonly maker?: string;
}

export interface SerialPorts {
  /** Resolves with the port opened. @throws AgentError `hardware/serial-no-port`, `hardware/serial-busy`, `hardware/no-permission` (all retry). */
  open(settings: SerialSettings, signal: AbortSignal): Promise<SerialPort>;
  list(signal: AbortSignal): Promise<readonly SerialDescription[]>;
  /** Closes every port. Idempotent. */
  close(): Promise<void>;
}

export function unplugged(path: string, outage = 'is unplugged'): AgentError {
  return retryable('hardware/serial-unplugged', `${path} ${outage}`);
}
