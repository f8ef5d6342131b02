/**
 * A Pylontech battery on its RS-485 connector (protocol "RS485", versions 2 and 3): module by module, or a stack through its master. Keys are
 * those of the measurement vocabulary, with the number of the module after them for a stack: `batteryVoltage_m2`. Nothing is ever set.
 */
import { z } from 'zod';
import { serialPortFields } from '../../config/fields/addresses.ts';
import { duration, whole } from '../../config/fields/fields.ts';
import { type ConfigOf, defineSensor, sensorSection } from '../kind/definition.ts';

/** Speed with all switches of the master off; its first switch makes 9600 of it. */
const DEFAULT_BAUD_RATE = 115_200;
/** The longest answer, of a stack of sixteen, takes 3.6 s at 9600 baud. */
const DEFAULT_RESPONSE_TIMEOUT = '4s';
/** Modules of a line wait for each other. */
const TURNS_MS = 20_000;

const schema = sensorSection('pylontech', () => ({
  ...serialPortFields,
  baudRate: serialPortFields.baudRate.removeDefault().default(DEFAULT_BAUD_RATE),
  /** The master is 2, the modules behind it 3 and on; early ones begin with 1. */
  address: whole(0, 15).default(2),
  /** Group of stacks, as the switches of its master have it. */
  group: whole(0, 15).default(0),
  /** Asks the master for all modules at once: keys end in `_m1`, `_m2` and on. Not every firmware answers for more than itself. */
  stack: z.boolean().default(false),
  responseTimeout: duration({ min: '100ms', max: '1m' }).prefault(DEFAULT_RESPONSE_TIMEOUT),
}));

export type PylontechConfig = ConfigOf<typeof schema>;

export const pylontech = defineSensor({
  schema,
  driver: () => import('./driver.ts'),
  twin: () => import('./twin.ts'),
  valueType: () => 'number',
  keysVary: true,
  waitMs: () => TURNS_MS,
  asked: [{ baudRate: 115_200 }, { baudRate: 9_600 }],
  remedy: () =>
    'check that the cable is in the connector RS485 of the master and not in its console, that baudRate is that of its switches (115200 or 9600), and the address: 2 for the master',
});
