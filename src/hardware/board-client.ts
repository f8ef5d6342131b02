/** The ports of a simulated board: the same roles as the real ones, over the board's socket. A real tty that the board names is opened as one. */
import { retryable } from '../errors/agent-error.ts';
import { withinMs } from '../host/bounded-wait.ts';
import type { Clock } from '../host/clock.ts';
import { once } from '../host/shared-work.ts';
import { Listeners } from '../values/listeners.ts';
import { type BoardConnection, BoardLink, type BoardLinkDeps } from './board-link.ts';
import type { GpioPort, LineEdge } from './gpio-port.ts';
import type { HttpPort } from './http-port.ts';
import { addressInWords, type I2cBus, type I2cPort, isAnswered } from './i2c-port.ts';
import type { IioPort } from './iio-port.ts';
import { Modbus } from './modbus.ts';
import type { TcpPlace } from './modbus-lines.ts';
import type { MqttPort } from './mqtt-port.ts';
import type { OneWirePort } from './one-wire-port.ts';
import type { Ports } from './ports.ts';
import { Programs } from './programs.ts';
import type { PwmPort } from './pwm-port.ts';
import { SerialBuses } from './serial-buses.ts';
import { type SerialPort, type SerialPorts, type SerialSettings, unplugged } from './serial-port.ts';
import { TurnQueue, TurnQueues } from './turn-queue.ts';

/** A board that does not answer has released it anyway. */
const CLOSE_WITHIN_MS = 1_000;

/** Opens nothing yet; the link is made by the first request. `link` is for tests and benches that speak to the board themselves. */
export function boardPorts(deps: BoardLinkDeps): Ports & { readonly link: BoardConnection } {
  return portsOver(new BoardLink(deps), deps.clock);
}

/** The ports at the end of a line to the board. */
export function portsOver(link: BoardConnection, clock: Clock): Ports & { readonly link: BoardConnection } {
  const [gpio, serial] = [gpioOver(link, clock), serialOver(link, clock)];
  const modbus = new Modbus({ clock, serial, placeOf: (place, signal) => placeOnBoard(link, place, signal) });
  const programs = new Programs(clock);
  const close = async (): Promise<void> => {
    await Promise.all([modbus.close(), programs.close()]);
    await Promise.all([gpio.close(), serial.close()]);
    await link.close();
  };
  return {
    link,
    gpio,
    i2c: i2cOver(link),
    serial,
    serialBuses: new SerialBuses(serial, clock),
    oneWire: oneWireOver(link),
    pwm: pwmOver(link, clock),
    iio: kernelOver(link, 'iio'),
    hwmon: kernelOver(link, 'hwmon'),
    modbus,
    http: httpOver(link),
    programs,
    mqtt: noBrokers(),
    close,
  };
}

/** A Modbus/TCP host of the board's; hosts that it does not stand in for are not there. */
async function placeOnBoard(link: BoardConnection, { host, port }: TcpPlace, signal: AbortSignal): Promise<TcpPlace> {
  const place = await link.request('modbus.tcp', { host, port }, signal);
  if (place === null)
    throw retryable('hardware/modbus-no-answer', `the simulated board has no Modbus host ${host}:${port}`);
  return { host: '127.0.0.1', port: place.port };
}

/** Devices of the board's; it answers every request to one of them alike. */
function httpOver(link: BoardConnection): HttpPort {
  return {
    request: async ({ url }, signal) => {
      const { host } = new URL(url);
      const body = await link.request('http.ask', { host }, signal);
      if (body === null) throw retryable('hardware/http-no-answer', `the simulated board has no HTTP device ${host}`);
      return { status: 200, headers: {}, body: Buffer.from(body) };
    },
    close: async () => {},
  };
}

/** A board has no broker: those who name one hear nothing. */
function noBrokers(): MqttPort {
  return {
    open: async ({ name }) => {
      const outage = `the simulated board has no broker ${name}`;
      return {
        outage,
        onOutage: () => () => {},
        refusal: () => undefined,
        subscribe: () => () => {},
        publish: async () => {
          throw retryable('hardware/mqtt-no-answer', outage);
        },
        close: async () => {},
      };
    },
    close: async () => {},
  };
}

/** Releases what the board has opened for us, once. */
function closer(link: BoardConnection, clock: Clock, handle: number): () => Promise<void> {
  return once(async () => {
    link.onEvents(handle, undefined);
    await withinMs(clock, CLOSE_WITHIN_MS, (late) => link.request('close', { handle }, late)).catch(() => {});
  });
}

function gpioOver(link: BoardConnection, clock: Clock): GpioPort {
  const lines = new Set<() => Promise<void>>();
  const lineOn = (handle: number) => {
    const close = closer(link, clock, handle);
    lines.add(close);
    return { read: (signal: AbortSignal) => link.request('gpio.read', { handle }, signal), close };
  };
  return {
    openInput: async (request, signal) => {
      const { handle } = await link.request('gpio.openInput', request, signal);
      const edges = new Listeners<[LineEdge]>();
      link.onEvents(handle, (event) => {
        if (event.event === 'edge')
          edges.tell({ level: event.level, monotonicMs: event.monotonicMs, missed: event.missed });
      });
      return { ...lineOn(handle), watch: edges.add };
    },
    openOutput: async (request, signal) => {
      const { handle } = await link.request('gpio.openOutput', request, signal);
      return {
        ...lineOn(handle),
        write: async (level, inner) => void (await link.request('gpio.write', { handle, level }, inner)),
      };
    },
    list: (signal) => link.request('gpio.list', {}, signal),
    close: async () => void (await Promise.all([...lines].map((close) => close()))),
  };
}

/** Real ttys where the board made a pty, else bytes over the board's socket. */
function serialOver(link: BoardConnection, clock: Clock): SerialPorts {
  const open = new Set<SerialPort>();
  const ttys = async (): Promise<SerialPorts> => new (await import('./linux-serial.ts')).LinuxSerial({ clock });
  return {
    open: async (settings, signal) => {
      const { handle, device } = await link.request('serial.open', settings, signal);
      const port =
        device === undefined
          ? portOver(link, clock, settings, handle)
          : await (await ttys()).open({ ...settings, port: device }, signal);
      open.add(port);
      return port;
    },
    list: (signal) => link.request('serial.list', {}, signal),
    close: async () => void (await Promise.all([...open].map((port) => port.close()))),
  };
}

function portOver(link: BoardConnection, clock: Clock, settings: SerialSettings, handle: number): SerialPort {
  const bytes = new Listeners<[Uint8Array]>();
  const plugs = new Listeners<[boolean, string]>();
  let isPlugged = true;
  link.onEvents(handle, (event) => {
    if (event.event === 'bytes') bytes.tell(Buffer.from(event.bytes, 'hex'));
    if (event.event !== 'plug') return;
    isPlugged = event.plugged;
    plugs.tell(isPlugged, isPlugged ? 'back' : 'unplugged');
  });
  const close = closer(link, clock, handle);
  return {
    path: settings.port,
    get plugged() {
      return isPlugged;
    },
    write: async (written, signal) => {
      if (!isPlugged) throw unplugged(settings.port);
      await link.request('serial.write', { handle, bytes: Buffer.from(written).toString('hex') }, signal);
    },
    // Bytes without a tty have no speed.
    change: async () => {},
    onBytes: bytes.add,
    onPlug: plugs.add,
    close: async () => {
      isPlugged = false;
      await close();
    },
  };
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
  const transfer = async (
    address: number,
    write: readonly number[],
    read: number,
    signal: AbortSignal,
  ): Promise<Buffer> => {
    const request = { bus, address, write: Buffer.from(write).toString('hex'), read };
    const what = `chip ${addressInWords(address)} on ${name}`;
    return Buffer.from(await queue.run(() => link.request('i2c.transfer', request, signal), { what }, signal), 'hex');
  };
  return {
    name,
    readRegisters: (address, register, length, signal) => transfer(address, [register], length, signal),
    writeRegisters: async (address, register, bytes, signal) =>
      void (await transfer(address, [register, ...bytes], 0, signal)),
    readWord: async (address, register, signal) => (await transfer(address, [register], 2, signal)).readUInt16BE(0),
    writeWord: async (address, register, word, signal) =>
      void (await transfer(address, [register, word >> 8, word & 0xff], 0, signal)),
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
    readSlave: (id, signal) =>
      queue.run(() => link.request('oneWire.read', { id }, signal), { what: `one-wire slave ${id}` }, signal),
    setResolution: async (id, _bits, signal) => void (await link.request('oneWire.read', { id }, signal)),
    close: async () => {},
  };
}

function kernelOver(link: BoardConnection, of: 'iio' | 'hwmon'): IioPort {
  const queue = new TurnQueue();
  return {
    list: (signal) => link.request('kernel.list', { of }, signal),
    read: ({ folder }, file, signal) =>
      queue.run(() => link.request('kernel.read', { folder, file }, signal), { what: `reading ${file}` }, signal),
    capture: async () => {
      throw retryable('hardware/kernel-device-failed', 'a simulated board has no buffers of the kernel');
    },
    close: async () => {},
  };
}

function pwmOver(link: BoardConnection, clock: Clock): PwmPort {
  return {
    openChannel: async (request, signal) => {
      const { handle } = await link.request('pwm.open', request, signal);
      return {
        set: async (state, inner) => void (await link.request('pwm.set', { ...state, handle }, inner)),
        read: (inner) => link.request('pwm.read', { handle }, inner),
        close: closer(link, clock, handle),
      };
    },
    list: (signal) => link.request('pwm.list', {}, signal),
    close: async () => {},
  };
}
