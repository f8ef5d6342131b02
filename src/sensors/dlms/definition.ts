/** An electricity meter that pushes DLMS messages through its customer port, plain or encrypted: HAN of the north, M-Bus of Austria. */
import { serialPortFields } from '../../config/fields/addresses.ts';
import { secretFields, text } from '../../config/fields/fields.ts';
import { MEASUREMENT_UNITS } from '../../config/fields/measurement-keys.ts';
import { CIPHER_KEY } from '../families/ciphers/definition.ts';
import { METER_CODES } from '../families/obis/definition.ts';
import { type ConfigOf, defineSensor, sensorSection } from '../kind/definition.ts';

/** The speed of almost all customer ports with DLMS. */
const DEFAULT_BAUD_RATE = 2400;
/** The longest period in which a meter sends its powers; some send counters once an hour beside them. */
const PUSH_MS = 10_000;

/** OBIS code of each key (value groups C, D and E of electricity). */
export const CODES_OF = {
  ...METER_CODES,
  powerImportL1: '21.7.0',
  powerImportL2: '41.7.0',
  powerImportL3: '61.7.0',
  powerExportL1: '22.7.0',
  powerExportL2: '42.7.0',
  powerExportL3: '62.7.0',
  reactivePowerImport: '3.7.0',
  reactivePowerExport: '4.7.0',
  energyImportL1: '21.8.0',
  energyImportL2: '41.8.0',
  energyImportL3: '61.8.0',
  energyExportL1: '22.8.0',
  energyExportL2: '42.8.0',
  energyExportL3: '62.8.0',
};

/** Powers of a direction have no place in the vocabulary of all meters. */
function unitOf(key: string): string | null {
  if (/^power(Import|Export)/.test(key)) return 'W';
  if (/^reactivePower(Import|Export)/.test(key)) return 'var';
  return MEASUREMENT_UNITS[key] ?? null;
}

export const UNITS: Readonly<Record<string, string | null>> = Object.fromEntries(
  Object.keys(CODES_OF).map((key) => [key, unitOf(key)]),
);

const schema = sensorSection('dlms', () => ({
  ...serialPortFields,
  baudRate: serialPortFields.baudRate.removeDefault().default(DEFAULT_BAUD_RATE),
  /** Encryption key of the meter (GUEK), which the grid operator gives to its customer. */
  ...secretFields('key', CIPHER_KEY),
  /** Authentication key of the meter (GAK). Without it, an authenticated message is read, and not proved to be the meter's. */
  ...secretFields('authenticationKey', CIPHER_KEY),
  /** System title of a meter that does not send it with its encrypted messages. */
  systemTitle: text(/^[0-9A-Fa-f]{16}$/, 'sixteen hexadecimal digits, in quotes').optional(),
}));

export type DlmsConfig = ConfigOf<typeof schema>;

export const dlms = defineSensor({
  schema,
  driver: () => import('./driver.ts'),
  twin: () => import('./twin.ts'),
  units: UNITS,
  keysVary: true,
  waitMs: () => PUSH_MS,
  remedy: () =>
    'see that the customer port is switched on by the grid operator, and that baud rate, parity and key are those of its papers',
});
