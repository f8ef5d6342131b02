/** An electricity meter that sends SML telegrams through its infrared port, as most German ones do; a reading head is a serial port. */
import { serialPortFields } from '../../config/fields/addresses.ts';
import { MEASUREMENT_UNITS } from '../../config/fields/measurement-keys.ts';
import { type ConfigOf, defineSensor, sensorSection } from '../kind/definition.ts';

/** Keys by the codes of OBIS (value groups C, D and E) that give them; of several the first that comes. */
export const CODES_OF = {
  energyImport: ['1.8.0'],
  energyImportT1: ['1.8.1'],
  energyImportT2: ['1.8.2'],
  energyExport: ['2.8.0'],
  energyExportT1: ['2.8.1'],
  energyExportT2: ['2.8.2'],
  powerTotal: ['16.7.0', '1.7.0', '15.7.0'],
  powerL1: ['36.7.0'],
  powerL2: ['56.7.0'],
  powerL3: ['76.7.0'],
  voltageL1: ['32.7.0'],
  voltageL2: ['52.7.0'],
  voltageL3: ['72.7.0'],
  currentL1: ['31.7.0'],
  currentL2: ['51.7.0'],
  currentL3: ['71.7.0'],
  currentNeutral: ['91.7.0'],
  frequency: ['14.7.0'],
  phaseAngleL1: ['81.7.4'],
  phaseAngleL2: ['81.7.15'],
  phaseAngleL3: ['81.7.26'],
} as const;

export type SmlKey = keyof typeof CODES_OF;
const KEYS = Object.keys(CODES_OF) as SmlKey[];

const schema = sensorSection('sml', () => serialPortFields);

export type SmlConfig = ConfigOf<typeof schema>;
export const UNITS = Object.fromEntries(KEYS.map((key) => [key, MEASUREMENT_UNITS[key] ?? null]));

export const sml = defineSensor({
  schema,
  driver: () => import('./driver.ts'),
  twin: () => import('./twin.ts'),
  units: UNITS,
  // A meter without its PIN tells its counters alone, and few meters tell all.
  keysVary: true,
  onSerialPort: {},
  remedy: () =>
    'see that the reading head sits straight on the meter, and that the meter sends (many want a PIN for more than their counters)',
});
