/** Where the sentences of NMEA 0183 have their values, as data: position, unit, flag. Fields are counted from 0 behind the address. */
import type { KEYS_OF, NmeaKey, SentenceType } from './definition.ts';

type Fields = readonly string[];
/** The value of a field; null for one that is empty or cannot be, undefined where the sentence is not about it. */
type Extract = (fields: Fields) => number | null | undefined;

interface Layout<T extends SentenceType> {
  /** The flag by which the sender calls its values good. */
  readonly isValid?: (fields: Fields) => boolean;
  readonly values: Readonly<Record<(typeof KEYS_OF)[T][number], Extract>>;
}

const METRES_PER_SECOND: Readonly<Record<string, number>> = { N: 1852 / 3600, K: 1 / 3.6, M: 1, S: 0.44704 };
const KILOMETRES_PER_HOUR_PER_KNOT = 1.852;
const METRES_PER_FOOT = 0.3048;
const METRES_PER_FATHOM = 1.8288;

const DECIMAL = /^[+-]?(?:\d{1,12}(?:\.\d{0,12})?|\.\d{1,12})$/;
/** Degrees, then two digits of minutes with their decimals; leading zeros may be missing. */
const DEGREES = /^(\d{0,3}?)(\d{1,2}(?:\.\d{0,12})?)$/;

export function decimal(text = ''): number | null {
  return DECIMAL.test(text) ? Number(text) : null;
}

const number =
  (at: number, factor = 1): Extract =>
  (fields) => {
    const value = decimal(fields[at]);
    return value === null ? null : value * factor;
  };

/** The first of several that has a value. */
const first =
  (...extracts: readonly Extract[]): Extract =>
  (fields) =>
    extracts.reduce<number | null>((found, extract) => found ?? extract(fields) ?? null, null);

/** A field that belongs to this sentence only when its mark, another field, says so. */
const marked =
  (extract: Extract, mark: string, at: number): Extract =>
  (fields) =>
    fields[at] === mark ? extract(fields) : undefined;

const degrees =
  (at: number, positive: string, negative: string): Extract =>
  (fields) => {
    const [, whole, minutes] = DEGREES.exec(fields[at] ?? '') ?? [];
    const sign = fields[at + 1] === positive ? 1 : fields[at + 1] === negative ? -1 : 0;
    return minutes === undefined || Number(minutes) >= 60 || sign === 0
      ? null
      : sign * (Number(whole) + Number(minutes) / 60);
  };

const position = (at: number) => ({ latitude: degrees(at, 'N', 'S'), longitude: degrees(at + 2, 'E', 'W') });

/** Speed in m/s by the letter of its unit in the next field. */
const windSpeed =
  (at: number): Extract =>
  (fields) => {
    const factor = METRES_PER_SECOND[fields[at + 1] ?? ''];
    return factor === undefined ? null : number(at, factor)(fields);
  };

/** An angle east or west of another. */
const eastward = (fields: Fields, at: number): number | null => {
  const value = decimal(fields[at]);
  return value === null ? null : fields[at + 1] === 'W' ? -value : fields[at + 1] === 'E' ? value : null;
};

/** The compass with its deviation is magnetic north, and with the variation true north. */
const magneticHeading: Extract = (fields) => turned(decimal(fields[0]), eastward(fields, 1) ?? 0);
const trueHeading: Extract = (fields) => turned(magneticHeading(fields) ?? null, eastward(fields, 3));

function turned(angle: number | null, by: number | null): number | null {
  return angle === null || by === null ? null : (angle + by + 360) % 360;
}

/** The transducer's offset: up to the surface when it is positive, down to the keel when it is negative. */
const withOffset =
  (sign: 1 | -1): Extract =>
  (fields) => {
    const [depth, offset] = [decimal(fields[0]), decimal(fields[1])];
    return depth === null || offset === null || offset * sign <= 0 ? null : depth + offset;
  };

const isActive = (at: number) => (fields: Fields) => fields[at] === 'A';

export const LAYOUTS: { readonly [T in SentenceType]: Layout<T> } = {
  RMC: {
    isValid: isActive(1),
    values: { ...position(2), speed: number(6, KILOMETRES_PER_HOUR_PER_KNOT), course: number(7) },
  },
  GGA: {
    isValid: (fields) => fixOf(fields[5]) !== undefined,
    values: { ...position(1), altitude: number(8), satellites: number(6) },
  },
  GLL: { isValid: isActive(5), values: position(0) },
  VTG: {
    isValid: (fields) => fields[8] !== 'N',
    values: {
      speed: first(marked(number(6), 'K', 7), marked(number(4, KILOMETRES_PER_HOUR_PER_KNOT), 'N', 5)),
      course: number(0),
    },
  },
  ZDA: { values: {} },
  HDT: { values: { heading: number(0) } },
  HDG: { values: { heading: trueHeading, headingMagnetic: magneticHeading } },
  HDM: { values: { headingMagnetic: number(0) } },
  VHW: {
    values: {
      waterSpeed: first(number(6), number(4, KILOMETRES_PER_HOUR_PER_KNOT)),
      heading: number(0),
      headingMagnetic: number(2),
    },
  },
  MWV: {
    isValid: isActive(4),
    values: {
      windAngle: marked(number(0), 'R', 1),
      windSpeed: marked(windSpeed(2), 'R', 1),
      windAngleTrue: marked(number(0), 'T', 1),
      windSpeedTrue: marked(windSpeed(2), 'T', 1),
    },
  },
  MWD: {
    values: {
      windDirection: number(0),
      windDirectionMagnetic: number(2),
      windSpeedTrue: first(windSpeed(6), windSpeed(4)),
    },
  },
  DPT: { values: { depth: number(0), depthBelowSurface: withOffset(1), depthBelowKeel: withOffset(-1) } },
  DBT: { values: { depth: first(number(2), number(0, METRES_PER_FOOT), number(4, METRES_PER_FATHOM)) } },
  MTW: { values: { waterTemperature: marked(number(0), 'C', 1) } },
  XDR: { values: {} },
};

/** Unit, credible range and digits: a centimetre on the ground, and the resolution of instruments for the others. */
export const VALUES: Readonly<
  Record<NmeaKey, { readonly unit?: string; readonly range: readonly [number, number]; readonly digits: number }>
> = {
  latitude: { unit: '°', range: [-90, 90], digits: 7 },
  longitude: { unit: '°', range: [-180, 180], digits: 7 },
  altitude: { unit: 'm', range: [-1_000, 100_000], digits: 2 },
  speed: { unit: 'km/h', range: [0, 2_000], digits: 3 },
  course: { unit: '°', range: [0, 360], digits: 2 },
  satellites: { range: [0, 200], digits: 0 },
  heading: { unit: '°', range: [0, 360], digits: 2 },
  headingMagnetic: { unit: '°', range: [0, 360], digits: 2 },
  waterSpeed: { unit: 'km/h', range: [-200, 200], digits: 3 },
  windAngle: { unit: '°', range: [-180, 360], digits: 2 },
  windSpeed: { unit: 'm/s', range: [0, 150], digits: 3 },
  windAngleTrue: { unit: '°', range: [-180, 360], digits: 2 },
  windSpeedTrue: { unit: 'm/s', range: [0, 150], digits: 3 },
  windDirection: { unit: '°', range: [0, 360], digits: 2 },
  windDirectionMagnetic: { unit: '°', range: [0, 360], digits: 2 },
  depth: { unit: 'm', range: [0, 12_000], digits: 2 },
  depthBelowSurface: { unit: 'm', range: [0, 12_000], digits: 2 },
  depthBelowKeel: { unit: 'm', range: [-100, 12_000], digits: 2 },
  waterTemperature: { unit: '°C', range: [-10, 100], digits: 2 },
};

/** Kinds of fix by the quality that GGA tells. */
const FIXES: readonly (string | undefined)[] = [
  undefined,
  ...['fix', 'dgps-fix', 'pps-fix', 'rtk', 'rtk-float', 'estimated', 'manual', 'simulated'],
];

export function fixOf(quality = ''): string | undefined {
  return /^\d$/.test(quality) ? FIXES[Number(quality)] : undefined;
}

/** Units of XDR by their letter; a P is percent for humidity and volumes, and pascal for pressure. */
const TRANSDUCER_UNITS: Readonly<Record<string, string>> = {
  C: '°C',
  K: 'K',
  D: '°',
  M: 'm',
  B: 'bar',
  V: 'V',
  A: 'A',
  I: 'A',
  H: 'Hz',
  N: 'N',
  R: '1/min',
  L: 'l/s',
  S: 'ppt',
};

/** The measurements of an XDR sentence: four fields each, of which the last is the transducer's name. */
export function transducersOf(
  fields: Fields,
): readonly { readonly name: string; readonly value: number | null; readonly unit: string | undefined }[] {
  return Array.from({ length: Math.floor(fields.length / 4) }, (_, index) => {
    const [type, value, unit = '', name = ''] = fields.slice(index * 4);
    return { name, value: decimal(value), unit: unit === 'P' ? (type === 'P' ? 'Pa' : '%') : TRANSDUCER_UNITS[unit] };
  });
}
