/**
 * The wire of one simulated serial port: a real pseudo-terminal under a path that stays the same, or bytes within the board's socket.
 * Unplugging closes the pty, which hangs up on whoever has it open, exactly as a pulled USB adapter does; plugging it in makes another.
 */
import { closeSync, rmSync, symlinkSync, writeSync } from 'node:fs';
import { ReadStream } from 'node:tty';
import { systemCode } from '../../errors/agent-error.ts';
import { nativeAddon } from '../../host/native-addon.ts';

export interface SerialWire {
  /** The tty to open, when there is one. */
  readonly device: string | undefined;
  readonly plugged: boolean;
  /** Bytes towards the agent; lost when nobody listens, as on a real line. */
  send(bytes: Uint8Array): void;
  unplug(): void;
  plug(): void;
  close(): void;
}

/** User that has a port open. */
export interface WireUser {
  readonly bytes: (bytes: Uint8Array) => void;
  readonly plug: (plugged: boolean) => void;
}

interface Pty {
  readonly master: number;
  readonly slave: number;
  readonly path: string;
}

/** A tty behind a link at `path`. @param onBytes called with what the agent writes. */
export class PtyWire implements SerialWire {
  readonly device: string;
  readonly #onBytes: (bytes: Uint8Array) => void;
  #pty: (Pty & { readonly stream: ReadStream }) | undefined;

  constructor(path: string, onBytes: (bytes: Uint8Array) => void) {
    this.device = path;
    this.#onBytes = onBytes;
    this.plug();
  }

  get plugged(): boolean {
    return this.#pty !== undefined;
  }

  send(bytes: Uint8Array): void {
    if (this.#pty === undefined) return;
    try {
      // Not through the stream: libuv writes to a tty in a loop until it takes everything, which a reader that is away never lets it.
      writeSync(this.#pty.master, bytes);
    } catch (error) {
      // The line is full because nobody reads: a real one loses the bytes too.
      if (systemCode(error) !== 'EAGAIN') throw error;
    }
  }

  plug(): void {
    if (this.#pty !== undefined) return;
    const pty = nativeAddon<{ openPty(): Pty }>().openPty();
    rmSync(this.device, { force: true });
    symlinkSync(pty.path, this.device);
    const stream = new ReadStream(pty.master);
    stream.on('data', (bytes: Buffer) => this.#onBytes(bytes));
    stream.on('error', () => {});
    this.#pty = { ...pty, stream };
  }

  unplug(): void {
    const pty = this.#pty;
    if (pty === undefined) return;
    this.#pty = undefined;
    rmSync(this.device, { force: true });
    pty.stream.destroy();
    closeSync(pty.slave);
  }

  close(): void {
    this.unplug();
  }
}

/** Bytes without a tty: to every agent that has the port open. */
export class SocketWire implements SerialWire {
  readonly device = undefined;
  readonly #users = new Set<WireUser>();
  #plugged = true;

  get plugged(): boolean {
    return this.#plugged;
  }

  /** The returned function takes the user away again. */
  join(user: WireUser): () => void {
    this.#users.add(user);
    return () => this.#users.delete(user);
  }

  send(bytes: Uint8Array): void {
    if (this.#plugged) for (const { bytes: give } of this.#users) give(bytes);
  }

  plug(): void {
    this.#set(true);
  }

  unplug(): void {
    this.#set(false);
  }

  close(): void {
    this.#users.clear();
  }

  #set(plugged: boolean): void {
    if (this.#plugged === plugged) return;
    this.#plugged = plugged;
    for (const { plug } of this.#users) plug(plugged);
  }
}
