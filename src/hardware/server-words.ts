/** Words that a server says before it hangs up: ser2net tells in a line that a port is busy or not there, and closes the connection. */

/** Longer texts are cut. */
const MAX_CHARACTERS = 120;

/** The first bytes of one connection, kept in case they are words. */
export class ServerWords {
  #bytes = Buffer.alloc(0);

  take(bytes: Uint8Array): void {
    if (this.#bytes.length < MAX_CHARACTERS) this.#bytes = Buffer.concat([this.#bytes, bytes]);
  }

  /** Returns how it hung up, with what it said before where that was text. */
  hungUp(server: string): string {
    const text = this.#bytes.toString('latin1').trim();
    return /^[\x20-\x7e\r\n\t]+$/.test(text)
      ? `${server} hung up: ${text.replace(/\s+/g, ' ').slice(0, MAX_CHARACTERS)}`
      : `${server} hung up`;
  }
}
