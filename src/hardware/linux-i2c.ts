/**
 * I2C through i2c-bus, asynchronous calls only: each blocks a thread of the pool for as long as the adapter's driver waits (1 s when
 * a chip holds the clock), never the event loop. One queue per bus number, whoever uses it, however often it is opened.
 */

import { readdir } from 'node:fs/promises';
import type { I2CFuncs, PromisifiedBus } from 'i2c-bus';
import { AgentError, retryable, systemCode } from '../errors/agent-error.ts';
import { once } from '../host/shared-work.ts';
import { withinDeadline } from './deadline.ts';
import { addressInWords, type I2cBus, type I2cPort, isAnswered } from './i2c-port.ts';
import { hardwareFault } from './linux-faults.ts';
import { type TurnQueue, TurnQueues } from './turn-queue.ts';

export interface LinuxI2cDeps {
  /** Normally /dev. */
  readonly deviceFolder?: string;
  /** Opens a bus by number; tests give a twin of i2c-bus. */
  readonly openNumber?: (bus: number) => Promise<PromisifiedBus>;
}

/** Errors of an adapter when no chip acknowledged: most say ENXIO, Raspberry Pi and i2c-stub EREMOTEIO or ENODEV. */
const NO_ANSWER: ReadonlySet<string> = new Set(['ENXIO', 'EREMOTEIO', 'ENODEV']);
/** The most one SMBus block carries. */
const BLOCK = 32;

/** An open bus, its abilities and its users. */
interface SharedBus {
  readonly bus: PromisifiedBus;
  readonly funcs: I2CFuncs;
  readonly queue: TurnQueue;
  readonly close: () => Promise<void>;
  users: number;
}

export class LinuxI2c implements I2cPort {
  readonly #deps: LinuxI2cDeps;
  readonly #buses = new Map<number, Promise<SharedBus>>();
  readonly #queues = new TurnQueues();

  constructor(deps: LinuxI2cDeps = {}) {
    this.#deps = deps;
  }

  async openBus(number: number, signal: AbortSignal): Promise<I2cBus> {
    try {
      const shared = await withinDeadline(this.#opening(number), `opening i2c-${number}`, signal);
      shared.users += 1;
      return busOver(shared, `i2c-${number}`, () => this.#release(number, shared));
    } catch (cause) {
      throw openFault(number, cause);
    }
  }

  async list(_signal: AbortSignal): Promise<readonly number[]> {
    const names = await readdir(this.#deps.deviceFolder ?? '/dev').catch(() => []);
    return names
      .flatMap((name) => /^i2c-(\d+)$/.exec(name)?.[1] ?? [])
      .map(Number)
      .sort((a, b) => a - b);
  }

  async close(): Promise<void> {
    const open = [...this.#buses.values()];
    this.#buses.clear();
    await Promise.all(open.map(async (opening) => (await opening.catch(() => undefined))?.close()));
  }

  /** The bus that is open or being opened; a caller whose deadline passes leaves it to the next. */
  #opening(number: number): Promise<SharedBus> {
    const known = this.#buses.get(number);
    if (known !== undefined) return known;
    // Behind what hangs in an earlier opening; whoever waits for it has a deadline.
    const queue = this.#queues.at(String(number));
    const opening = queue.run(
      () => this.#openShared(number, queue),
      { what: `opening i2c-${number}` },
      new AbortController().signal,
    );
    this.#buses.set(number, opening);
    opening.catch(() => this.#buses.delete(number));
    return opening;
  }

  async #openShared(number: number, queue: TurnQueue): Promise<SharedBus> {
    const bus = await (this.#deps.openNumber ?? openWithI2cBus)(number);
    // In its turn, or the file would be closed beneath a transfer.
    const close = (): Promise<void> => queue.runAtLast(() => bus.close().catch(() => {}), `closing i2c-${number}`);
    try {
      return { bus, funcs: await bus.i2cFuncs(), queue, close, users: 0 };
    } catch (error) {
      await bus.close().catch(() => {});
      throw error;
    }
  }

  async #release(number: number, shared: SharedBus): Promise<void> {
    shared.users -= 1;
    if (shared.users > 0) return;
    this.#buses.delete(number);
    await shared.close();
  }
}

function busOver(shared: SharedBus, name: string, release: () => Promise<void>): I2cBus {
  const turn = async <T>(
    doing: string,
    address: number,
    signal: AbortSignal,
    transfer: (shared: SharedBus) => Promise<T>,
  ): Promise<T> => {
    const what = `${doing} of chip ${addressInWords(address)} on ${name}`;
    try {
      return await shared.queue.run(() => transfer(shared), { what }, signal);
    } catch (cause) {
      const code = systemCode(cause) ?? '';
      if (NO_ANSWER.has(code))
        throw retryable(
          'hardware/i2c-no-answer',
          `${what}: no chip acknowledges that address (wiring, power, address?)`,
          cause,
        );
      if (code === 'EBUSY')
        throw retryable('hardware/i2c-failed', `${what}: a kernel driver holds that address`, cause);
      throw hardwareFault('i2c', 'hardware/i2c-failed', what, cause);
    }
  };
  return {
    name,
    readRegisters: async (address, register, length, signal) => {
      const buffer = Buffer.alloc(length);
      return await turn(
        `reading ${length} bytes from register ${addressInWords(register)}`,
        address,
        signal,
        async ({ bus, funcs }) => {
          // A block read is one transaction with a repeated start, on plain adapters too; write-then-read through i2c-dev would be two.
          if (funcs.smbusReadI2cBlock) {
            for (let at = 0; at < length; at += BLOCK) {
              const part = buffer.subarray(at, Math.min(at + BLOCK, length));
              checkLength((await bus.readI2cBlock(address, register + at, part.length, part)).bytesRead, part.length);
            }
          } else if (funcs.i2c) {
            await bus.i2cWrite(address, 1, Buffer.of(register));
            checkLength((await bus.i2cRead(address, length, buffer)).bytesRead, length);
          } else {
            for (let at = 0; at < length; at += 1) buffer[at] = await bus.readByte(address, register + at);
          }
          return buffer;
        },
      );
    },
    writeRegisters: async (address, register, bytes, signal) => {
      await turn(`writing register ${addressInWords(register)}`, address, signal, async ({ bus, funcs }) => {
        if (funcs.i2c) await bus.i2cWrite(address, bytes.length + 1, Buffer.of(register, ...bytes));
        else for (const [at, byte] of bytes.entries()) await bus.writeByte(address, register + at, byte);
      });
    },
    readWord: async (address, register, signal) => {
      return await turn(`reading register ${addressInWords(register)}`, address, signal, async ({ bus, funcs }) => {
        // An SMBus word has its low byte first; these chips send the high one first.
        if (funcs.smbusReadWord) return swapped(await bus.readWord(address, register));
        const buffer = Buffer.alloc(2);
        await bus.i2cWrite(address, 1, Buffer.of(register));
        checkLength((await bus.i2cRead(address, 2, buffer)).bytesRead, 2);
        return buffer.readUInt16BE(0);
      });
    },
    writeWord: async (address, register, word, signal) => {
      await turn(`writing register ${addressInWords(register)}`, address, signal, async ({ bus, funcs }) => {
        if (funcs.i2c) await bus.i2cWrite(address, 3, Buffer.of(register, word >> 8, word & 0xff));
        else await bus.writeWord(address, register, swapped(word));
      });
    },
    read: async (address, length, signal) => {
      return await turn(`reading ${length} bytes`, address, signal, async ({ bus, funcs }) => {
        const buffer = Buffer.alloc(length);
        if (funcs.i2c) checkLength((await bus.i2cRead(address, length, buffer)).bytesRead, length);
        else if (length === 1) buffer[0] = await bus.receiveByte(address);
        else throw unsupported(name, `a plain read of ${length} bytes`);
        return buffer;
      });
    },
    write: async (address, bytes, signal) => {
      const [first = 0, second = 0] = bytes;
      await turn(`writing ${bytes.length} bytes`, address, signal, async ({ bus, funcs }) => {
        if (funcs.i2c) await bus.i2cWrite(address, bytes.length, Buffer.from(bytes));
        else if (bytes.length === 1) await bus.sendByte(address, first);
        else if (bytes.length === 2) await bus.writeByte(address, first, second);
        else throw unsupported(name, `a plain write of ${bytes.length} bytes`);
      });
    },
    probe: (address, signal) => {
      const looking = turn('looking for a chip', address, signal, async ({ bus, funcs }) => {
        if (funcs.smbusReceiveByte) await bus.receiveByte(address);
        else if (funcs.i2c) await bus.i2cRead(address, 1, Buffer.alloc(1));
        else await bus.readByte(address, 0);
      });
      return isAnswered(looking);
    },
    close: once(release),
  };
}

function swapped(word: number): number {
  return ((word & 0xff) << 8) | ((word >> 8) & 0xff);
}

function checkLength(got: number, wanted: number): void {
  if (got !== wanted) throw retryable('hardware/i2c-failed', `${got} bytes came instead of ${wanted}`);
}

function unsupported(bus: string, what: string): AgentError {
  return new AgentError('hardware/unsupported', `${bus} speaks only SMBus, which has no form for ${what}`, {
    recovery: 'hold',
  });
}

function openFault(number: number, cause: unknown): AgentError {
  if (systemCode(cause) === 'ENOENT' || systemCode(cause) === 'ENODEV') {
    return retryable(
      'hardware/i2c-no-bus',
      `there is no i2c-${number}: is the bus enabled (raspi-config, device tree, modprobe i2c-dev)?`,
      cause,
    );
  }
  return hardwareFault('i2c', 'hardware/i2c-failed', `opening i2c-${number}`, cause);
}

async function openWithI2cBus(number: number): Promise<PromisifiedBus> {
  return await (await import('i2c-bus')).openPromisified(number, { forceAccess: false });
}
