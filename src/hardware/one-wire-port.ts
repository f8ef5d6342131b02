/** One-wire slaves through the kernel's w1 bus: it does the timing, the search and the CRC, and shows a text per slave. */

export interface OneWirePort {
  /** Ids as the kernel writes them: family, dash, serial (`28-00000a1b2c3d`). */
  list(signal: AbortSignal): Promise<readonly string[]>;
  /**
   * The text of the slave's `w1_slave` file; reading it makes a thermometer convert, which takes up to 750 ms.
   * @throws AgentError `hardware/one-wire-no-slave`, `hardware/one-wire-failed`, `hardware/no-permission`, `hardware/deadline` (all retry).
   */
  readSlave(id: string, signal: AbortSignal): Promise<string>;
  /** Sets how many bits a thermometer converts to, until it loses power. @param bits from 9 to 12. @throws the same as readSlave. */
  setResolution(id: string, bits: number, signal: AbortSignal): Promise<void>;
  /** Idempotent. */
  close(): Promise<void>;
}
