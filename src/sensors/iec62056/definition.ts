/**
 * A meter with an optical head (D0) that speaks IEC 62056-21 (IEC 1107): it is asked and answers with its readout in modes A, B and C, gives
 * single registers in mode C, or sends by itself in mode D. Nothing is ever written to it, and no password is sent.
 */

import { z } from 'zod';
import { serialPortFields } from '../../config/fields/addresses.ts';
import type { ConfigPath } from '../../config/fields/config-fault.ts';
import { duration, list, platformKey, section, table, text, whole } from '../../config/fields/fields.ts';
import { type Finding, findingAtKey } from '../../config/fields/findings.ts';
import { MEASUREMENT_UNITS } from '../../config/fields/measurement-keys.ts';
import { METER_CODES } from '../families/obis/definition.ts';
import { type ConfigOf, defineSensor, sensorSection } from '../kind/definition.ts';

/** Every meter that is asked begins at this speed. */
const DEFAULT_BAUD_RATE = 300;
/** The standard gives a meter 1.5 s for its answer and between two characters. */
const DEFAULT_RESPONSE_TIMEOUT = '2s';
/** The longest readouts take so long at 300 baud. */
const READOUT_MS = 90_000;
/** Each reading of a battery meter costs some of its battery. */
const BATTERY_PERIOD_MS = 900_000;
const MAX_REGISTERS = 50;

/** OBIS code of each key (value groups C, D and E of electricity). */
export const CODES_OF = {
  ...METER_CODES,
  energyImportT3: '1.8.3',
  energyImportT4: '1.8.4',
  energyExportT3: '2.8.3',
  energyExportT4: '2.8.4',
  energySum: '15.8.0',
  powerL1: '36.7.0',
  powerL2: '56.7.0',
  powerL3: '76.7.0',
  phaseAngleL1: '81.7.4',
  phaseAngleL2: '81.7.15',
  phaseAngleL3: '81.7.26',
};

/** Keys of heat meters, whose codes have no medium before them: `6.8(0029.055*MWh)`. */
export const HEAT_CODES_OF = {
  heatEnergy: '6.8.0',
  volume: '6.26.0',
  operatingHours: '6.31.0',
} as const;

/** Makers whose power of direction 1 has a sign, and is that of both directions. */
export const SIGNED_CODES_OF: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  ESY: { '1.7.0': 'powerTotal', '21.7.0': 'powerL1', '41.7.0': 'powerL2', '61.7.0': 'powerL3' },
};

export const TEXTS: readonly string[] = ['maker', 'identification', 'serialNumber'];
/** A code as it stands before its bracket: `1.6.1`, `1-0:1.8.0*01`, `C.7.0`. */
const CODE = /^(?:\d{1,3}-\d{1,3}:)?[0-9A-Z]{1,3}(?:\.[0-9A-Z]{1,3}){0,3}(?:[*&]\d{1,3})?$/;
const CODE_WORDS = 'a code such as 1.6.1, 1-0:1.8.0*01 or C.7.0, in quotes';

const schema = sensorSection('iec62056', () => ({
  ...serialPortFields,
  /** Speed of the request; of what a meter sends by itself, often 9600. */
  baudRate: serialPortFields.baudRate.removeDefault().default(DEFAULT_BAUD_RATE),
  dataBits: serialPortFields.dataBits.removeDefault().default(7),
  parity: serialPortFields.parity.removeDefault().default('even'),
  /** `auto`: A, B or C by the meter's identification. D: the meter sends by itself and is not asked. */
  mode: z.enum(['auto', 'A', 'B', 'C', 'D']).default('auto'),
  /** Address of the meter, where several share a line: its number, up to 32 digits or letters. */
  address: text(/^[0-9A-Za-z ]{1,32}$/, 'up to 32 digits or letters, in quotes').optional(),
  /** Zeros before the request, which wake a battery meter: 40 to 80 for most. */
  wakeUpZeros: whole(1, 1_000).optional(),
  /** Silence between zeros and request. */
  wakeUpPause: duration({ max: '10s' }).prefault('1500ms'),
  /** The highest speed that line and head can do, in mode C. */
  maxBaudRate: z.literal([300, 600, 1200, 2400, 4800, 9600, 19200]).default(9600),
  /** Registers that are read one by one in mode C, in place of the readout. */
  readRegisters: list(text(CODE, CODE_WORDS), { min: 1, max: MAX_REGISTERS }).optional(),
  /** Further values by the key that they get: `maxDemand: "1.6.1"`; with `place: 2` that of the second bracket, such as a time. */
  codes: table(
    platformKey(),
    z.union([
      text(CODE, CODE_WORDS),
      section({
        code: text(CODE, CODE_WORDS),
        place: whole(1, 9).default(1),
        type: z.enum(['number', 'text']).default('number'),
      }),
    ]),
  ).optional(),
  responseTimeout: duration({ min: '100ms', max: '1m' }).prefault(DEFAULT_RESPONSE_TIMEOUT),
}));

export type Iec62056Config = ConfigOf<typeof schema>;

export const UNITS: Readonly<Record<string, string | null>> = Object.fromEntries(
  [...Object.keys(CODES_OF), ...Object.keys(HEAT_CODES_OF)].map((key) => [key, MEASUREMENT_UNITS[key] ?? null]),
);

export const iec62056 = defineSensor({
  schema,
  driver: () => import('./driver.ts'),
  twin: () => import('./twin.ts'),
  valueType: ({ codes }, key) => {
    if (TEXTS.includes(key)) return 'string';
    const code = codes?.[key];
    return typeof code === 'object' && code.type === 'text' ? 'string' : 'number';
  },
  digitTexts: ({ codes = {} }) => [
    'serialNumber',
    ...Object.entries(codes).flatMap(([key, code]) => (typeof code === 'object' && code.type === 'text' ? [key] : [])),
  ],
  keysVary: true,
  waitMs: () => READOUT_MS,
  faults,
  remedy: ({ wakeUpZeros, mode }) =>
    mode === 'D'
      ? 'see that the reading head sits straight on the meter, and that baud rate and parity are those of its papers'
      : `see that the reading head sits straight on the meter${wakeUpZeros === undefined ? ', and whether it wants wakeUpZeros (battery meters)' : ', and that a button has woken its optical port, where it wants that'}`,
});

function faults(config: Iec62056Config, path: ConfigPath): Finding[] {
  const { address, mode, periodMs, readRegisters, wakeUpZeros } = config;
  const isSilent = mode === 'D';
  const asking = Object.entries({ address, readRegisters, wakeUpZeros }).flatMap(([option, value]) =>
    value === undefined ? [] : [option],
  );
  return [
    ...(isSilent
      ? asking.map((option) => findingAtKey([...path, option], `${option} beside mode: D`, 'a meter that is asked'))
      : []),
    ...(readRegisters !== undefined && (mode === 'A' || mode === 'B')
      ? [findingAtKey([...path, 'readRegisters'], `readRegisters beside mode: ${mode}`, 'mode C, which alone has them')]
      : []),
    ...(wakeUpZeros !== undefined && periodMs < BATTERY_PERIOD_MS
      ? [
          findingAtKey(
            [...path, 'wakeUpZeros'],
            'a battery meter that is read too often:',
            'period: 15m or longer, as each reading costs some of its battery',
          ),
        ]
      : []),
  ];
}
