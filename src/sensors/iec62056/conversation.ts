/** Bytes of a meter, in which an answer is waited for: it is given up when no byte comes for a while, however long it is as a whole. */
import { withinDeadline } from '../../hardware/deadline.ts';
import type { SerialPort } from '../../hardware/serial-port.ts';
import { withinMs } from '../../host/bounded-wait.ts';
import type { Clock } from '../../host/clock.ts';
import type { Found } from './frames.ts';

/** The longest readouts have some 10,000 characters. */
const MAX_BYTES = 64_000;
/** Start bit, eight bits of data and parity, and stop bit. */
const BITS_OF_BYTE = 10;
/** Adapters send their last byte a little after they have said so; the quickest meters answer 20 ms after it. */
const AFTER_LAST_BYTE_MS = 5;

export interface ConversationDeps {
  readonly port: SerialPort;
  readonly clock: Clock;
  /** The longest silence. */
  readonly gapMs: number;
}

export class Conversation {
  readonly #deps: ConversationDeps;
  #bytes: Buffer = Buffer.alloc(0);
  #arrival = Promise.withResolvers<void>();

  constructor(deps: ConversationDeps) {
    this.#deps = deps;
  }

  /** Bytes that no answer was found in. */
  get rest(): Buffer {
    return this.#bytes;
  }

  /** Seven bits are data: a server that does not know parity hands on eight. */
  hear(bytes: Uint8Array): void {
    this.#bytes = Buffer.concat([this.#bytes, bytes.map((byte) => byte & 0x7f)]).subarray(-MAX_BYTES);
    this.#arrival.resolve();
    this.#arrival = Promise.withResolvers();
  }

  /** Forgets the first bytes. */
  drop(count: number): void {
    this.#bytes = this.#bytes.subarray(count);
  }

  /** Forgets what came. */
  reset(): void {
    this.#bytes = Buffer.alloc(0);
  }

  /** Resolves when all bytes are on the line at this speed, whatever an adapter keeps for itself. */
  async send(bytes: Uint8Array, baudRate: number, signal: AbortSignal): Promise<void> {
    const { port, clock } = this.#deps;
    const startedMs = clock.monotonicMs();
    await port.write(bytes, signal);
    const lineMs = (1000 * BITS_OF_BYTE * bytes.length) / baudRate + AFTER_LAST_BYTE_MS;
    await clock.sleep(Math.max(0, lineMs - (clock.monotonicMs() - startedMs)), signal);
  }

  /** @throws AgentError `hardware/deadline` (retry) after a silence. */
  async next<T>(find: (bytes: Buffer) => Found<T> | undefined, what: string, signal: AbortSignal): Promise<T> {
    for (;;) {
      const found = find(this.#bytes);
      if (found !== undefined) {
        this.drop(found.used);
        return found.value;
      }
      const { clock, gapMs } = this.#deps;
      const arrival = this.#arrival.promise;
      await withinMs(clock, gapMs, (inner) => withinDeadline(arrival, what, inner), signal);
    }
  }
}
