/**
 * Operations of a simulated board by user: each user is one process that uses the hardware. Everything it opened is released when it
 * ends; outputs keep their level then, and the record goes on.
 */

import { AgentError } from '../../errors/agent-error.ts';
import type { BoardEvent, BoardOperation, BoardOperations } from '../../hardware/board-protocol.ts';
import type { SimulatedBoard } from './simulated-board.ts';
import type { HeldLine } from './simulated-gpio.ts';
import type { HeldChannel } from './simulated-pwm.ts';
import type { SerialUser } from './simulated-serial.ts';

/** Something a user holds. */
interface Held {
  release(): void;
}

/** Result of an operation's code; any will do where the protocol's result is always null. */
type Done<Result> = [Result] extends [null] ? unknown : Result;

export type Operations = {
  readonly [Op in BoardOperation]: (
    params: BoardOperations[Op]['params'],
    user: BoardUser,
  ) => Done<BoardOperations[Op]['result']> | Promise<Done<BoardOperations[Op]['result']>>;
};

export class BoardUser {
  /** Tells of an event of something that is held. */
  readonly tell: (event: BoardEvent) => void;
  readonly #held = new Map<number, Held>();
  #lastHandle: number;

  /** @param after handles are above: one of an earlier connection is none of this one. */
  constructor(tell: (event: BoardEvent) => void, after = 0) {
    this.tell = tell;
    this.#lastHandle = after;
  }

  /** Keeps what an operation opened. @param open gets the handle, for its events. */
  hold(open: (handle: number) => Held): { readonly handle: number } {
    this.#lastHandle += 1;
    const handle = this.#lastHandle;
    this.#held.set(handle, open(handle));
    return { handle };
  }

  /** @throws AgentError `hardware/board-gone` (retry): opened on an earlier connection. */
  held<T extends Held>(handle: number): T {
    const held = this.#held.get(handle);
    if (held === undefined)
      throw new AgentError('hardware/board-gone', `the simulated board knows no handle ${handle}`, {
        recovery: 'retry',
      });
    return held as T;
  }

  release(handle: number): void {
    this.#held.get(handle)?.release();
    this.#held.delete(handle);
  }

  /** Releases everything. Idempotent. */
  end(): void {
    for (const held of this.#held.values()) held.release();
    this.#held.clear();
  }
}

export function operationsOf(board: SimulatedBoard): Operations {
  const { gpio, i2c, serial, oneWire, kernel, pwm, bench } = board;
  return {
    'gpio.openInput': (request, user) =>
      user.hold((handle) => gpio.openInput(request, (edge) => user.tell({ event: 'edge', handle, ...edge }))),
    'gpio.openOutput': (request, user) => user.hold(() => gpio.openOutput(request)),
    'gpio.read': async ({ handle }, user) => await bench.unlessHung('gpio', () => user.held<HeldLine>(handle).read()),
    'gpio.write': async ({ handle, level }, user) =>
      await bench.unlessHung('gpio', () => user.held<HeldLine>(handle).write(level)),
    'gpio.list': () => gpio.list(),
    'i2c.openBus': ({ bus }) => i2c.openBus(bus),
    'i2c.transfer': async ({ bus, address, write, read }) =>
      Buffer.from(await i2c.transfer(bus, address, Buffer.from(write, 'hex'), read)).toString('hex'),
    'i2c.list': () => i2c.list(),
    'serial.open': ({ port }, user) => {
      const { handle } = user.hold((handle) =>
        serial.open(port, {
          bytes: (bytes) => user.tell({ event: 'bytes', handle, bytes: Buffer.from(bytes).toString('hex') }),
          plug: (plugged) => user.tell({ event: 'plug', handle, plugged }),
        }),
      );
      return {
        handle,
        device: user.held<SerialUser>(handle).device,
      };
    },
    'serial.write': ({ handle, bytes }, user) => user.held<SerialUser>(handle).write(Buffer.from(bytes, 'hex')),
    'serial.list': () => serial.list(),
    'modbus.tcp': async ({ host, port }) => await board.modbusTcp(host, port),
    'http.ask': async ({ host }) => await bench.unlessHung(host, () => board.http.answer(host)),
    'oneWire.read': ({ id }) => oneWire.read(id),
    'oneWire.list': () => oneWire.list(),
    'kernel.list': ({ of }) => kernel.list(of),
    'kernel.read': ({ folder, file }) => kernel.read(folder, file),
    'pwm.open': (request, user) => user.hold(() => pwm.open(request)),
    'pwm.set': ({ handle, ...state }, user) => user.held<HeldChannel>(handle).set(state),
    'pwm.read': ({ handle }, user) => user.held<HeldChannel>(handle).read(),
    'pwm.list': () => pwm.list(),
    close: ({ handle }, user) => user.release(handle),
    'record.moves': ({ line, sinceMs }) => bench.moves(line, sinceMs),
    'record.counts': () => bench.counts(),
    'bench.hold': ({ target, value }) => bench.hold(target, value),
    'bench.fault': ({ target, fault }) => bench.fault(target, fault),
    'bench.faults': () => bench.faults(),
  };
}
