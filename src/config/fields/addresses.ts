/** Where hardware is: GPIO lines, I2C addresses, serial ports, Modbus connections. Shared by sensors and actuators. */
import { normalize } from 'node:path';
import { z } from 'zod';
import { duration, name, section, text, whole } from './fields.ts';

/** The longest wait for one answer on a serial line or Modbus connection: ten times the slowest meter seen. */
const DEFAULT_RESPONSE_TIMEOUT = '1s';
/** Modbus RTU's usual speed when a meter leaves the works. */
const DEFAULT_BAUD_RATE = 9600;
/** Registered port of Modbus TCP. */
const MODBUS_TCP_PORT = 502;

/** A GPIO line as technicians name it: `GPIO17`, `17` (both BCM), a line name, or `{chip, offset}`. */
const lineInput = z.union([
  z.strictObject({
    /** Kernel name (`gpiochip0`) or label (`pinctrl-bcm2711`). */
    chip: z.string().min(1),
    offset: whole(0, 1023),
  }),
  whole(0, 1023),
  text(/^\S{1,64}$/, 'a line name such as GPIO17, or {chip: gpiochip0, offset: 17}'),
]);

/** The chips that carry the pin header on each generation of Raspberry Pi. */
export const RASPBERRY_PI_LABELS: ReadonlySet<string> = new Set(['pinctrl-bcm2835', 'pinctrl-bcm2711', 'pinctrl-rp1']);
/** The number of a pin of that header, as people write it. */
export const BCM_NAME = /^(?:GPIO|BCM)[ _-]?(\d{1,3})$/i;

/** A line by chip and offset, or by its name (which includes `GPIO17`, the BCM number on a Raspberry Pi); hardware's LineReference. */
export type GpioLineConfig = string | { readonly chip: string; readonly offset: number };

export const gpioLine = () =>
  lineInput.transform((line): GpioLineConfig => (typeof line === 'number' ? `GPIO${line}` : line));

/** A line as it is compared: one of the pin header is `GPIO17` in each spelling that says so. */
export function lineIdentity(line: GpioLineConfig): string {
  if (typeof line !== 'string')
    return RASPBERRY_PI_LABELS.has(line.chip) ? `GPIO${line.offset}` : `${line.chip}:${line.offset}`;
  const bcm = BCM_NAME.exec(line)?.[1];
  return bcm === undefined ? line : `GPIO${Number(bcm)}`;
}

/** The line of the first chip that most boards have as this one; undefined where there is no such. */
export function likelySameLine(line: GpioLineConfig): string | undefined {
  return typeof line !== 'string' && line.chip === 'gpiochip0' ? `GPIO${line.offset}` : undefined;
}

/** Fields of a sensor that reads one GPIO line. */
export const gpioInputFields = {
  line: gpioLine(),
  activeLow: z.boolean().default(false),
  /** Sysfs cannot set it: there `as-is` is the only choice that works. */
  bias: z.enum(['as-is', 'disabled', 'pull-up', 'pull-down']).default('as-is'),
  /** A change shorter than this is contact bounce. */
  debounce: duration({ max: '10s' }).prefault('0s'),
};

/** Addresses below 0x03 and above 0x77 are reserved (I2C specification UM10204, section 3.1.12). */
const i2cAddress = (min = 0x03, max = 0x77) =>
  whole(min, max).meta({ expected: `an address from ${hex(min)} to ${hex(max)}` });

const hex = (address: number): string => `0x${address.toString(16).padStart(2, '0')}`;

export const i2cFields = (addresses: { readonly default?: number; readonly min?: number; readonly max?: number }) => ({
  /** N of /dev/i2c-N. */
  bus: whole(0, 255).default(1),
  address: i2cAddress(addresses.min, addresses.max).prefault(addresses.default ?? 0x03),
});

/** A port of this machine, or one behind a device server that hands its bytes on. */
const SERIAL_PORT =
  /^(?:(?!.*\/\.{1,2}(?:\/|$))\/[^\0]*|(?:tcp|rfc2217):\/\/(?:[A-Za-z0-9_](?:[A-Za-z0-9._-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\]):[1-9]\d{0,4})$/;

/**
 * A line that the driver of its UART turns round by itself: RTS opens the transmitter, for as long as is sent. Converters that turn round by
 * themselves, as those on USB do, need none of it.
 */
export const rs485 = section({
  /** RTS is high while something is sent. */
  rtsOnSend: z.boolean().default(true),
  /** RTS is high afterwards. */
  rtsAfterSend: z.boolean().default(false),
  delayBefore: duration({ max: '1s' }).prefault('0s'),
  delayAfter: duration({ max: '1s' }).prefault('0s'),
  /** Hears what is sent, too. */
  receiveWhileSending: z.boolean().default(false),
});

const portField = () =>
  text(
    SERIAL_PORT,
    'an absolute path, beginning with /, without /./ and /../, or tcp://host:port or rfc2217://host:port',
  ).overwrite((port) => (port.startsWith('/') ? normalize(port) : port));

export const serialPortFields = {
  /** Name of a line of `lines`, in place of port and settings. */
  on: name().optional(),
  /** A /dev/serial/by-id/… path stays the same when ports are plugged in another order; tcp://host:4001 is one of a device server, rfc2217://host:4001 one whose settings are set from here. */
  port: portField(),
  baudRate: whole(50, 4_000_000).default(DEFAULT_BAUD_RATE),
  dataBits: z.literal([5, 6, 7, 8]).default(8),
  parity: z.enum(['none', 'even', 'odd']).default('none'),
  stopBits: z.literal([1, 2]).default(1),
  rs485: rs485.optional(),
};

/** A port or a device server that sensors and outputs are on, by its name. */
export const serialLine = section({
  name: name(),
  port: portField(),
  baudRate: serialPortFields.baudRate.removeDefault().optional(),
  dataBits: serialPortFields.dataBits.removeDefault().optional(),
  parity: serialPortFields.parity.removeDefault().optional(),
  stopBits: serialPortFields.stopBits.removeDefault().optional(),
  rs485: serialPortFields.rs485,
});

/** A name, an IPv4 address, or an IPv6 address with at least two colons and, for a link's own, its zone; in brackets as in a URL, or without. */
const HOST =
  /^([A-Za-z0-9_]([A-Za-z0-9._-]*[A-Za-z0-9])?\.?|(?=(.*:){2})[0-9A-Fa-f:.]+(%[A-Za-z0-9._-]+)?|\[(?=(.*:){2})[0-9A-Fa-f:.]+(%[A-Za-z0-9._-]+)?\])$/;
export const hostName = () =>
  text(HOST, 'a host name or an address by itself, without scheme, port and path').overwrite((host) =>
    host.replace(/^\[(.*)\]$/, '$1'),
  );

const modbusManners = {
  responseTimeout: duration({ min: '10ms', max: '1m' }).prefault(DEFAULT_RESPONSE_TIMEOUT),
  /** Some units hear nothing for a while after the port was opened or the connection made. */
  connectDelay: duration({ max: '1m' }).prefault('0s'),
  /** Silence that a unit needs after its answer. */
  betweenRequests: duration({ max: '10s' }).prefault('0s'),
  /** Takes answers with another unit number, and over TCP with another transaction number. */
  lenient: z.boolean().default(false),
};

/** The line sends back what it is given. Requests that read find it out; it is needed where only writes are made, without `readBack`. */
const echo = z.boolean().default(false);

const modbusHost = { host: hostName(), port: whole(1, 65_535).default(MODBUS_TCP_PORT) };

/** One schema for all who have such a connection: each takes memory. */
export const modbusConnection = z.discriminatedUnion('transport', [
  section({ transport: z.enum(['rtu', 'ascii']), ...serialPortFields, ...modbusManners, echo }),
  section({ transport: z.literal('tcp'), ...modbusHost, ...modbusManners }),
  section({ transport: z.enum(['rtu-over-tcp', 'ascii-over-tcp']), ...modbusHost, ...modbusManners, echo }),
]);

export type ModbusConnectionConfig = z.infer<typeof modbusConnection>;
