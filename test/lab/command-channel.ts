/** The outside end of guest/command-server: scripts in, status and output back, several at once. */
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

export interface CommandResult {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

interface Waiting {
  readonly resolve: (result: CommandResult) => void;
  readonly reject: (reason: Error) => void;
}

export class CommandChannel {
  readonly #socket: Socket;
  readonly #waiting = new Map<string, Waiting>();
  #ready: (() => void) | undefined;
  #rest = '';
  #nextId = 1;
  /** Resolves when the guest is ready for commands; again after each boot of the same machine. */
  readonly ready: Promise<void>;

  private constructor(socket: Socket) {
    this.#socket = socket;
    this.ready = new Promise((resolve) => {
      this.#ready = resolve;
    });
    socket.setEncoding('utf8');
    socket.on('data', (text: string) => this.#receive(text));
    socket.on('close', () => this.#fail('the guest is gone'));
    socket.on('error', () => undefined);
  }

  /** Waits until QEMU has made its socket. */
  static async open(path: string, signal: AbortSignal): Promise<CommandChannel> {
    for (;;) {
      signal.throwIfAborted();
      const socket = await new Promise<Socket | undefined>((resolve) => {
        const candidate = connect(path, () => resolve(candidate));
        candidate.on('error', () => resolve(undefined));
      });
      if (socket !== undefined) return new CommandChannel(socket);
      await sleep(20);
    }
  }

  /** Runs a bash script; what it started is killed when the signal aborts. */
  async run(script: string, signal: AbortSignal): Promise<CommandResult> {
    signal.throwIfAborted();
    const id = String(this.#nextId++);
    const kill = (): void => void this.#socket.write(`KILL ${id}\n`);
    signal.addEventListener('abort', kill, { once: true });
    try {
      return await new Promise<CommandResult>((resolve, reject) => {
        this.#waiting.set(id, { resolve, reject });
        this.#socket.write(`RUN ${id} ${Buffer.from(script).toString('base64')}\n`);
      });
    } finally {
      signal.removeEventListener('abort', kill);
    }
  }

  close(): void {
    this.#socket.destroy();
  }

  #receive(text: string): void {
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) {
      const [word, id = '', status = '', stdout = '-', stderr = '-'] = line.split(' ');
      if (word === 'READY') this.#ready?.();
      if (word !== 'DONE') continue;
      this.#waiting.get(id)?.resolve({ status: Number(status), stdout: decode(stdout), stderr: decode(stderr) });
      this.#waiting.delete(id);
    }
  }

  #fail(reason: string): void {
    for (const { reject } of this.#waiting.values()) reject(new Error(reason));
    this.#waiting.clear();
  }
}

function decode(text: string): string {
  return text === '-' ? '' : Buffer.from(text, 'base64').toString('utf8');
}
