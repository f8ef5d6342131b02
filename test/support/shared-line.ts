/**
 * Several devices behind one RS-485 line, as makers have them: a board of eight relays that acknowledges, a scale with tare, a dust sensor that
 * sleeps. Each hears all that is told, and answers what is its own after a while; two answers at once are a collision.
 */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { PtyWire } from '../../src/stand-ins/simulated-board/serial-wire.ts';

// Each byte is two digits and a blank.
const RELAY = /a0 0([1-8]) 0([01]) a. /;
const SCALE = /(53|54) 0d 0a /;
/** Work, sleep and query of an SDS011. */
const DUST = /aa b4 0([46]) .. 0([01]) (?:.. ){13}ab /;

export const WORK = 'aab406010100000000000000000000ffff06ab';
export const SLEEP = 'aab406010000000000000000000000ffff05ab';
export const QUERY = 'aab404000000000000000000000000ffff02ab';

export class SharedLine {
  /** Commands as they were heard, in order: `3 on`, `tare`. */
  readonly told: string[] = [];
  /** Weights that the scale has given, of which no two are alike. */
  readonly weights = new Set<number>();
  readonly dusts = new Set<number>();
  collisions = 0;
  isDustAwake = false;
  /** Draws a number from 0 to below 1; above the share of mute answers a device answers. */
  readonly #draw: () => number;
  #text = '';
  #answering = 0;
  #send: (bytes: Buffer) => void = () => {};
  readonly #mute: number;

  constructor(draw: () => number, { mute = 0 }: { readonly mute?: number } = {}) {
    this.#draw = draw;
    this.#mute = mute;
  }

  connect(send: (bytes: Buffer) => void): void {
    this.#send = send;
  }

  hear(bytes: Uint8Array): void {
    if (this.#answering > 0) this.collisions += 1;
    this.#text += [...bytes].map((byte) => `${byte.toString(16).padStart(2, '0')} `).join('');
    for (let found = this.#next(); found !== undefined; found = this.#next()) this.#do(found);
  }

  #next(): RegExpExecArray | undefined {
    const found = [RELAY, SCALE, DUST]
      .map((pattern) => pattern.exec(this.#text))
      .filter((one) => one !== null)
      .sort((a, b) => a.index - b.index)[0];
    if (found !== undefined) this.#text = this.#text.slice(found.index + found[0].length);
    return found;
  }

  #do([whole, first = '', state = '']: RegExpExecArray): void {
    if (whole.startsWith('a0')) {
      this.told.push(`${first} ${state === '1' ? 'on' : 'off'}`);
      this.#answer(Buffer.from('OK\r\n'));
    } else if (first === '54') {
      this.told.push('tare');
      this.#answer(Buffer.from('T S      0.00 g\r\n'));
    } else if (first === '53') {
      const weight = 1_000 + this.weights.size;
      this.weights.add(weight);
      this.#answer(Buffer.from(`S S ${String(weight).padStart(8)} g\r\n`));
    } else if (first === '6') {
      this.isDustAwake = state === '1';
      this.told.push(this.isDustAwake ? 'work' : 'sleep');
      this.#answer(dustFrame(0xc5, 6));
    } else if (this.isDustAwake) {
      const dust = 1 + this.dusts.size;
      this.dusts.add(dust);
      this.#answer(dustFrame(0xc0, dust));
    }
  }

  #answer(bytes: Buffer): void {
    if (this.#draw() < this.#mute) return;
    this.#answering += 1;
    const half = Math.floor(bytes.length * this.#draw());
    setTimeout(() => {
      this.#send(bytes.subarray(0, half));
      setTimeout(() => {
        this.#answering -= 1;
        this.#send(bytes.subarray(half));
      }, 3);
    }, this.#draw() * 15);
  }
}

function dustFrame(kind: number, value: number): Buffer {
  const data = Buffer.from([value & 0xff, value >> 8, 0, 0, 0x11, 0x22]);
  const sum = data.reduce((all, byte) => all + byte, 0) & 0xff;
  return Buffer.from([0xaa, kind, ...data, sum, 0xab]);
}

/** The line behind a pseudo-terminal at `path`, or behind a device server. */
export async function openSharedLine(
  line: SharedLine,
  { path }: { readonly path?: string },
): Promise<{ readonly port: string; close(): void }> {
  if (path !== undefined) {
    const wire = new PtyWire(path, (bytes) => line.hear(bytes));
    line.connect((bytes) => wire.send(bytes));
    return { port: path, close: () => wire.close() };
  }
  const sockets = new Set<Socket>();
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket);
    line.connect((bytes) => socket.write(bytes));
    socket.on('data', (bytes) => line.hear(bytes)).on('error', () => {});
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const close = (): void => {
    for (const socket of sockets) socket.destroy();
    server.close();
  };
  return { port: `tcp://127.0.0.1:${(server.address() as AddressInfo).port}`, close };
}
