/**
 * A lab guest: QEMU with a small kernel whose GPIO, I2C and serial hardware is simulated beneath the kernel's own interfaces, and the
 * host's programs. It reaches servers on this machine's loopback at 10.0.2.2. Killing it is a power cut.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CommandChannel, type CommandResult } from './command-channel.ts';
import { accelerator, type MachineOptions, machineArguments, type SerialPortName } from './machine.ts';
import { recordFigure } from './results/figures.ts';

/** The host's loopback, seen from the guest. */
export const HOST_FROM_GUEST = '10.0.2.2';
/** From power-on to the command server, with software emulation on a busy machine. */
const BOOT_DEADLINE_MS = 240_000;
const COMMAND_DEADLINE_MS = 60_000;
/** Characters kept of the console, for the message when a boot fails. */
const CONSOLE_KEPT = 200_000;

export class Guest {
  readonly #process: ChildProcess;
  readonly #folder: string;
  #commands: CommandChannel | undefined;
  #console = '';
  /** Resolves when the machine has ended, by itself or killed. */
  readonly ended: Promise<void>;

  private constructor(process: ChildProcess, folder: string) {
    this.#process = process;
    this.#folder = folder;
    for (const stream of [process.stdout, process.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.#console = (this.#console + text).slice(-CONSOLE_KEPT);
      });
    }
    this.ended = once(process, 'close').then(async () => await rm(folder, { recursive: true, force: true }));
  }

  /** Powers a machine on and waits until it takes commands. */
  static async boot(options: MachineOptions = {}): Promise<Guest> {
    const startMs = performance.now();
    const folder = await mkdtemp(join(tmpdir(), 'lab-'));
    // However this process ends, no machine outlives it.
    const words = ['--pdeathsig', 'KILL', 'qemu-system-x86_64', ...machineArguments(options, folder, accelerator())];
    const child = spawn('setpriv', words, { stdio: ['ignore', 'pipe', 'pipe'] });
    const guest = new Guest(child, folder);
    try {
      const deadline = AbortSignal.timeout(BOOT_DEADLINE_MS);
      guest.#commands = await CommandChannel.open(join(folder, 'commands'), deadline);
      await Promise.race([guest.#commands.ready, guest.ended.then(fail('ended')), rejectOn(deadline)]);
      recordFigure('boot', { seconds: Math.round((performance.now() - startMs) / 100) / 10 });
      return guest;
    } catch (cause) {
      await guest.kill();
      throw new Error(`the guest did not boot; its console:\n${guest.console.slice(-4000)}`, { cause });
    }
  }

  /** Returns the output of the kernel and the init. */
  get console(): string {
    return this.#console;
  }

  /** Runs a bash script as root. @throws when it ends with another status than 0, with what it printed. */
  async run(script: string, options: { readonly deadlineMs?: number } = {}): Promise<string> {
    const { status, stdout, stderr } = await this.attempt(script, options);
    if (status !== 0)
      throw new Error(`in the guest, status ${status}: ${script}\n${stdout.slice(-8000)}${stderr.slice(-8000)}`);
    return stdout;
  }

  /** The same, for scripts that may fail. */
  async attempt(script: string, options: { readonly deadlineMs?: number } = {}): Promise<CommandResult> {
    if (this.#commands === undefined) throw new Error('the guest is not ready');
    return await this.#commands.run(script, AbortSignal.timeout(options.deadlineMs ?? COMMAND_DEADLINE_MS));
  }

  /** The far end of a serial port's cable. Connecting to ttyUSB0 plugs it in, destroying the socket unplugs it. */
  async serial(name: SerialPortName): Promise<Socket> {
    const socket = connect(join(this.#folder, name));
    await once(socket, 'connect');
    // The machine at the other end may be cut off at any time.
    socket.on('error', () => undefined);
    return socket;
  }

  /** The power cut: what the guest's memory held is gone. */
  async kill(): Promise<void> {
    this.#process.kill('SIGKILL');
    await this.ended;
    this.#commands?.close();
  }

  /** Has everything written out, then ends the machine. */
  async shutDown(): Promise<void> {
    await this.attempt('sync', { deadlineMs: 30_000 }).catch(() => undefined);
    await this.kill();
  }
}

function fail(word: string): () => never {
  return () => {
    throw new Error(word);
  };
}

async function rejectOn(signal: AbortSignal): Promise<never> {
  await once(signal, 'abort');
  throw new Error('not within its deadline');
}
