/**
 * A heat, water, gas or electricity meter on a wired M-Bus, behind a level converter on a serial port. Keys are those of the measurement
 * vocabulary, with tariff and subunit after them: `heatEnergy_t1`, `energyImport_u2`.
 */
import { z } from 'zod';
import { serialPortFields } from '../../config/fields/addresses.ts';
import type { ConfigPath } from '../../config/fields/config-fault.ts';
import { duration, text, whole } from '../../config/fields/fields.ts';
import { type Finding, findingAtKey } from '../../config/fields/findings.ts';
import { type ConfigOf, defineSensor, sensorSection } from '../kind/definition.ts';

/** The longest answer takes 1.2 s at 2400 baud. */
const DEFAULT_RESPONSE_TIMEOUT = '2s';
const DEFAULT_BAUD_RATE = 2400;
/** Meters of a bus wait for each other: thirty that are due at once take some 45 s. A mute one is given up long before. */
const TURNS_MS = 60_000;
export const TEXTS: readonly string[] = ['maker', 'serialNumber', 'medium'];

const schema = sensorSection('mbus', () => ({
  ...serialPortFields,
  baudRate: serialPortFields.baudRate.removeDefault().default(DEFAULT_BAUD_RATE),
  parity: serialPortFields.parity.removeDefault().default('even'),
  /** Primary address, 254 for the only meter of a bus; or the eight digits of the meter's number, F for any, which select it. */
  address: z.union([whole(0, 250), z.literal(254), text(/^[0-9F]{8}$/, 'the eight digits of the meter, in quotes')]),
  /** Speed that the meter is asked to go to for each reading, and back again; the bus keeps `baudRate`. Not every meter does it. */
  readBaudRate: z.literal([300, 600, 1200, 2400, 4800, 9600, 19200, 38400]).optional(),
  responseTimeout: duration({ min: '100ms', max: '1m' }).prefault(DEFAULT_RESPONSE_TIMEOUT),
}));

export type MbusConfig = ConfigOf<typeof schema>;

export const mbus = defineSensor({
  schema,
  driver: () => import('./driver.ts'),
  twin: () => import('./twin.ts'),
  valueType: (_config, key) => (TEXTS.includes(key) ? 'string' : 'number'),
  digitTexts: () => ['serialNumber'],
  keysVary: true,
  waitMs: () => TURNS_MS,
  faults,
  remedy: () =>
    "check the meter's address and baud rate (2400 or 300), and that the level converter feeds the bus with some 36 V",
});

function faults({ port, readBaudRate }: MbusConfig, path: ConfigPath): Finding[] {
  return readBaudRate !== undefined && port.startsWith('tcp:')
    ? [
        findingAtKey(
          [...path, 'readBaudRate'],
          'readBaudRate at a device server, whose speed cannot be changed from here:',
          'a port of this machine, or one at rfc2217://host:port',
        ),
      ]
    : [];
}
