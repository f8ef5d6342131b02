/** The ports of a simulated board: the same roles as the real ones, over the board's socket. A real tty that the board names is opened as one. */
import { retryable } from '../errors/agent-error.ts';
import type { Clock } from '../host/clock.ts';
import { BoardGpio } from './board-gpio.ts';
import { BoardHandle } from './board-handle.ts';
import { type BoardConnection, BoardLink, type BoardLinkDeps } from './board-link.ts';
import { BoardSerial } from './board-serial.ts';
import { addressInWords, type I2cBus, type I2cPort, isAnswered } from './i2c-port.ts';
import { Modbus } from './modbus.ts';
import type { TcpPlace } from './modbus-transports.ts';
import type { OneWirePort } from './one-wire-port.ts';
import type { Ports } from './ports.ts';
import type { PwmPort } from './pwm-port.ts';
import { TurnQueue, TurnQueues } from './turn-queue.ts';

/** Opens nothing yet; the link is made by the first request. `link` is for tests and benches that speak to the board themselves. */
export function boardPorts(deps: BoardLinkDeps): Ports & { readonly link: BoardConnection } {
  return portsOver(new BoardLink(deps), deps.clock);
}

/** The ports at the end of a line to the board. */
export function portsOver(link: BoardConnection, clock: Clock): Ports & { readonly link: BoardConnection } {
  const [gpio, serial] = [new BoardGpio(link, clock), new BoardSerial(link, clock)];
  const modbus = new Modbus({ clock, serial, placeOf: (place, signal) => placeOnBoard(link, place, signal) });
  const close = async (): Promise<void> => {
    await modbus.close();
    await Promise.all([gpio.close(), serial.close()]);
    await link.close();
  };
  return { link, gpio, i2c: i2cOver(link), serial, oneWire: oneWireOver(link), pwm: pwmOver(link, clock), modbus, close };
}

/** A Modbus/TCP host of the board's; hosts that it does not stand in for are not there. */
async function placeOnBoard(link: BoardConnection, { host, port }: TcpPlace, signal: AbortSignal): Promise<TcpPlace> {
  const place = await link.request('modbus.tcp', { host, port }, signal);
  if (place === null) throw retryable('hardware/modbus-no-answer', `the simulated board has no Modbus host ${host}:${port}`);
  return { host: '127.0.0.1', port: place.port };
}

function i2cOver(link: BoardConnection): I2cPort {
  // One transfer at a time per bus, as on the wire: a chip that hangs holds up its neighbours here too.
  const queues = new TurnQueues();
  return {
    openBus: async (bus, signal) => {
      await link.request('i2c.openBus', { bus }, signal);
      return busOver(link, bus, queues.at(String(bus)));
    },
    list: (signal) => link.request('i2c.list', {}, signal),
    close: async () => {},
  };
}

function busOver(link: BoardConnection, bus: number, queue: TurnQueue): I2cBus {
  const name = `i2c-${bus}`;
  const transfer = async (address: number, write: readonly number[], read: number, signal: AbortSignal): Promise<Buffer> => {
    const request = { bus, address, write: Buffer.from(write).toString('hex'), read };
    const what = `chip ${addressInWords(address)} on ${name}`;
    return Buffer.from(await queue.run(() => link.request('i2c.transfer', request, signal), { what }, signal), 'hex');
  };
  return {
    name,
    readRegisters: (address, register, length, signal) => transfer(address, [register], length, signal),
    writeRegisters: async (address, register, bytes, signal) => void (await transfer(address, [register, ...bytes], 0, signal)),
    readWord: async (address, register, signal) => (await transfer(address, [register], 2, signal)).readUInt16BE(0),
    writeWord: async (address, register, word, signal) => void (await transfer(address, [register, word >> 8, word & 0xff], 0, signal)),
    read: (address, length, signal) => transfer(address, [], length, signal),
    write: async (address, bytes, signal) => void (await transfer(address, [...bytes], 0, signal)),
    probe: (address, signal) => isAnswered(transfer(address, [], 1, signal)),
    close: async () => {},
  };
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
    openChannel: async (request, signal) => {
      const channel = new BoardHandle(link, clock, { open: async (inner) => (await link.request('pwm.open', request, inner)).handle });
      await channel.id(signal);
      return {
        set: async (state, inner) => void (await link.request('pwm.set', { ...state, handle: await channel.id(inner) }, inner)),
        read: async (inner) => await link.request('pwm.read', { handle: await channel.id(inner) }, inner),
        close: () => channel.close(),
      };
    },
    list: (signal) => link.request('pwm.list', {}, signal),
    close: async () => {},
  };
}
