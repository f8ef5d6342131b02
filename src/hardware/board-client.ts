/** The ports of a simulated board: the same roles as the real ones, over the board's socket. A real tty that the board names is opened as one. */

import { AgentError } from '../errors.ts';
import { withinMs } from '../host/bounded-wait.ts';
import type { Clock } from '../host/clock.ts';
import { BoardGpio } from './board-gpio.ts';
import { type BoardConnection, BoardLink } from './board-link.ts';
import { BoardSerial } from './board-serial.ts';
import { addressInWords, type I2cBus, type I2cPort } from './i2c-port.ts';
import { Modbus } from './modbus.ts';
import type { OneWirePort } from './one-wire-port.ts';
import type { Ports } from './ports.ts';
import type { PwmChannel, PwmPort, PwmRequest, PwmState } from './pwm-port.ts';
import { TurnQueue } from './turn-queue.ts';

export interface BoardPortsDeps {
  readonly clock: Clock;
  readonly socketPath: string;
}

/** Opens nothing yet; the link is made by the first request. `link` is for tests and benches that speak to the board themselves. */
export function boardPorts(deps: BoardPortsDeps): Ports & { readonly link: BoardConnection } {
  return portsOver(new BoardLink(deps), deps.clock);
}

/** The ports at the end of a line to the board. */
export function portsOver(link: BoardConnection, clock: Clock): Ports & { readonly link: BoardConnection } {
  const gpio = new BoardGpio(link, clock);
  const serial = new BoardSerial(link, clock);
  const modbus = new Modbus({ clock, serial, placeOf: (host, port, signal) => placeOnBoard(link, host, port, signal) });
  return {
    link,
    gpio,
    i2c: new BoardI2c(link),
    serial,
    oneWire: oneWireOver(link),
    pwm: pwmOver(link, clock),
    modbus,
    close: async () => {
      await modbus.close();
      await Promise.all([gpio.close(), serial.close()]);
      await link.close();
    },
  };
}

/** A Modbus/TCP host of the board's; hosts that it does not stand in for are not there. */
async function placeOnBoard(
  link: BoardConnection,
  host: string,
  port: number,
  signal: AbortSignal,
): Promise<{ readonly host: string; readonly port: number }> {
  const place = await link.request('modbus.tcp', { host, port }, signal);
  if (place === null)
    throw new AgentError('hardware/modbus-no-answer', `the simulated board has no Modbus host ${host}:${port}`, { recovery: 'retry' });
  return { host: '127.0.0.1', port: place.port };
}

class BoardI2c implements I2cPort {
  readonly #link: BoardConnection;
  /** One transfer at a time per bus, as on the wire: a chip that hangs holds up its neighbours here too. */
  readonly #queues = new Map<number, TurnQueue>();

  constructor(link: BoardConnection) {
    this.#link = link;
  }

  async openBus(bus: number, signal: AbortSignal): Promise<I2cBus> {
    await this.#link.request('i2c.openBus', { bus }, signal);
    const queue = this.#queues.get(bus) ?? new TurnQueue();
    this.#queues.set(bus, queue);
    const name = `i2c-${bus}`;
    const transfer = async (address: number, write: readonly number[], read: number, signal: AbortSignal): Promise<Uint8Array> => {
      const request = { bus, address, write: Buffer.from(write).toString('hex'), read };
      const what = `chip ${addressInWords(address)} on ${name}`;
      return Buffer.from(await queue.run(() => this.#link.request('i2c.transfer', request, signal), { what }, signal), 'hex');
    };
    return {
      name,
      readRegisters: (address, register, length, signal) => transfer(address, [register], length, signal),
      writeRegisters: async (address, register, bytes, signal) => void (await transfer(address, [register, ...bytes], 0, signal)),
      readWord: async (address, register, signal) => Buffer.from(await transfer(address, [register], 2, signal)).readUInt16BE(0),
      writeWord: async (address, register, word, signal) => void (await transfer(address, [register, word >> 8, word & 0xff], 0, signal)),
      read: (address, length, signal) => transfer(address, [], length, signal),
      write: async (address, bytes, signal) => void (await transfer(address, [...bytes], 0, signal)),
      probe: async (address, signal) => {
        try {
          await transfer(address, [], 1, signal);
          return true;
        } catch (error) {
          if (error instanceof AgentError && error.code === 'hardware/i2c-no-answer') return false;
          throw error;
        }
      },
      close: async () => {},
    };
  }

  async list(signal: AbortSignal): Promise<readonly number[]> {
    return await this.#link.request('i2c.list', {}, signal);
  }

  async close(): Promise<void> {}
}

function oneWireOver(link: BoardConnection): OneWirePort {
  const queue = new TurnQueue();
  return {
    list: (signal) => link.request('oneWire.list', {}, signal),
    readSlave: (id, signal) => queue.run(() => link.request('oneWire.read', { id }, signal), { what: `one-wire slave ${id}` }, signal),
    setResolution: async (id, _bits, signal) => void (await link.request('oneWire.read', { id }, signal)),
    close: async () => {},
  };
}

function pwmOver(link: BoardConnection, clock: Clock): PwmPort {
  return {
    openChannel: async (request, signal) => await openPwm({ link, clock }, request, signal),
    list: (signal) => link.request('pwm.list', {}, signal),
    close: async () => {},
  };
}

/** A channel of a board that came back is opened again at its next use. */
async function openPwm(
  { link, clock }: { readonly link: BoardConnection; readonly clock: Clock },
  request: PwmRequest,
  signal: AbortSignal,
): Promise<PwmChannel> {
  let handle: number | undefined = (await link.request('pwm.open', request, signal)).handle;
  const forget = link.onReconnect(() => {
    handle = undefined;
  });
  const opened = async (signal: AbortSignal): Promise<number> => {
    handle ??= (await link.request('pwm.open', request, signal)).handle;
    return handle;
  };
  return {
    set: async (state: PwmState, signal) => void (await link.request('pwm.set', { ...state, handle: await opened(signal) }, signal)),
    read: async (signal) => await link.request('pwm.read', { handle: await opened(signal) }, signal),
    close: async () => {
      forget();
      const held = handle;
      handle = undefined;
      if (held !== undefined)
        await withinMs(clock, CLOSE_DEADLINE_MS, (late) => link.request('close', { handle: held }, late)).catch(() => {});
    },
  };
}

/** A board that does not answer has let go of the channel anyway. */
const CLOSE_DEADLINE_MS = 1_000;
