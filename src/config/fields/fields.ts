/**
 * The kinds of field that sections are made of. Every field says in words what it expects, because the answer to a wrong value
 * is read by a technician; amounts with a unit end up under a name with that unit (`period: 10s` → `periodMs: 10000`).
 */
import { z } from 'zod';
import {
  formatDuration,
  formatSize,
  parseByteRate,
  parseDuration,
  parseFrequency,
  parseRate,
  parseSize,
  Quantity,
  type QuantityUnit,
} from './quantity.ts';
import { Secret } from './secret.ts';

/** The name under which an amount is kept: `retain.bytes` stays `bytes`, `maxBytes` stays `maxBytes`, `period` becomes `periodMs`. */
type FieldName<K, V> = K extends string
  ? V extends Quantity<infer U>
    ? U extends 'Bytes'
      ? K extends `${string}Bytes` | 'bytes'
        ? K
        : `${K}Bytes`
      : `${K}${U}`
    : K
  : never;
type FieldValue<V> = V extends Quantity<QuantityUnit> ? number : V;
type Section<T> = {
  readonly [K in keyof T as FieldName<K, Exclude<T[K], undefined>>]: FieldValue<Exclude<T[K], undefined>>;
};

/** A mapping with exactly these keys; unknown ones are a fault. Amounts get their unit into the name. */
export function section<S extends z.core.$ZodShape>(shape: S) {
  return z.strictObject(shape).transform((fields): Section<typeof fields> => {
    const named = Object.entries(fields).map(([name, value]) =>
      value instanceof Quantity ? [nameWithUnit(name, value.unit), value.amount] : [name, value],
    );
    return Object.fromEntries(named) as Section<typeof fields>;
  });
}

/** The name of an amount in the frozen configuration. */
export function nameWithUnit(name: string, unit: QuantityUnit): string {
  return unit === 'Bytes' && /(?:Bytes|^bytes)$/.test(name) ? name : `${name}${unit}`;
}

export interface AmountLimits {
  /** In the text form of the amount: `100ms`, `1MB`. */
  readonly min?: string;
  readonly max?: string;
}

/** `500ms`, `10s`, `5m`, `1h30m`, `90d`. */
export const duration = (limits: AmountLimits = {}) =>
  amount('Ms', parseDuration, 'a duration such as 500ms, 10s, 5m or 1h30m', formatDuration, limits);
/** `4kB`, `64MB`, `1GiB`. */
export const size = (limits: AmountLimits = {}) =>
  amount('Bytes', parseSize, 'a size such as 64kB, 16MB or 1GB', formatSize, limits);
/** `200kB/s`. */
export const byteRate = (limits: AmountLimits = {}) =>
  amount('BytesPerS', parseByteRate, 'a rate such as 200kB/s', (bytes) => `${formatSize(bytes)}/s`, limits);
/** `50/s`, `10/m`. */
export const rate = (limits: AmountLimits = {}) =>
  amount('PerS', parseRate, 'a rate such as 50/s or 10/m', (perS) => `${perS}/s`, limits);
/** `50Hz`, `1kHz`. */
export const frequency = (limits: AmountLimits = {}) =>
  amount('Hz', parseFrequency, 'a frequency such as 50Hz or 1kHz', (hertz) => `${hertz}Hz`, limits);

function amount<U extends QuantityUnit>(
  unit: U,
  parse: (text: string) => number | undefined,
  expected: string,
  format: (value: number) => string,
  limits: AmountLimits,
) {
  const min = limits.min === undefined ? undefined : parse(limits.min);
  const max = limits.max === undefined ? undefined : parse(limits.max);
  const words = [
    expected,
    ...(min === undefined ? [] : [`at least ${format(min)}`]),
    ...(max === undefined ? [] : [`at most ${format(max)}`]),
  ].join(', ');
  return z
    .unknown()
    .transform((input, context) => {
      const value = typeof input === 'string' ? parse(input) : undefined;
      if (value !== undefined && value >= (min ?? 0) && value <= (max ?? Number.POSITIVE_INFINITY))
        return new Quantity(value, unit);
      context.addIssue({ code: 'custom', message: words, params: { bare: typeof input === 'number' } });
      return z.NEVER;
    })
    .meta({ type: 'string', amount: { unit, min, max }, description: words });
}

/** A whole number within its range. */
export const whole = (min: number, max: number) =>
  z
    .int()
    .min(min)
    .max(max)
    .meta({ expected: `a whole number from ${min} to ${max}` });

/** Text that matches, described in words. Editors' regular expressions know no `\p{…}`: those patterns stay with the agent. */
export function text(pattern: RegExp, expected: string) {
  return z
    .string()
    .refine((value) => pattern.test(value), expected)
    .meta({ expected, ...(pattern.unicode ? {} : { pattern: pattern.source }) });
}

/** Name of a sensor, actuator, rule or key: also a part of attribute names and command lines. */
export const name = () =>
  text(/^[A-Za-z][A-Za-z0-9_-]{0,62}$/, 'a name: a letter, then up to 62 letters, digits, - or _');
/** Name for people, wherever one is shown; it names nothing at the platform. */
export const label = () => text(/^[^\p{Cc}]{1,64}$/u, 'a label of 1 to 64 characters, without control characters');
/** Class of a value or an output: one of `src/pages/names/classes.js`, or a word of a user's own, which gets plain digits and no words. */
export const className = () =>
  text(/^[a-z][a-z0-9_]{0,31}$/, 'a class: a small letter, then up to 31 small letters, digits or _');
/** A telemetry or attribute key: the platform loses blank ones, longer ones and those with markup. */
export const platformKey = () => z.string().refine(isPlatformKey, PLATFORM_KEY).meta({ expected: PLATFORM_KEY });
/** Two spellings of one file would pass for two files. */
export const filePath = () =>
  text(/^(?!.*\/\.{1,2}(\/|$))\/[^\0]*$/, 'an absolute path, beginning with /, without /./ and /../');
/** A file that must be there when the configuration is checked. */
export const existingFile = () => filePath().meta({ exists: 'file' });
/** A program that is started directly, never through a shell. */
export const program = () => text(/^\/[^\0]*$/, 'the absolute path of a program').meta({ exists: 'program' });
export const url = () => z.string().refine(isHttpUrl, HTTP_URL).meta({ format: 'uri', expected: HTTP_URL });
/** Address that a device of the site is asked at; its query may hold a key, so that no message shows it. */
export const requestUrl = () =>
  z.string().max(2_000).refine(isRequestUrl, REQUEST_URL).meta({ format: 'uri', expected: REQUEST_URL, private: true });
/** A regular expression, compiled and judged by `patternFaults`. */
export const pattern = () =>
  z.string().min(1).max(1_000).meta({ format: 'regex', expected: 'a regular expression of at most 1000 characters' });

/** An expression of other keys; compiled where it is checked (checks/expressions.ts). */
export const expression = () =>
  z.string().min(1).max(1_000).meta({ expected: 'an expression of at most 1000 characters' });

export const list = <T extends z.core.SomeType>(
  item: T,
  limits: { readonly min?: number; readonly max?: number } = {},
) =>
  z
    .array(item)
    .min(limits.min ?? 0)
    .max(limits.max ?? 10_000)
    .readonly();
export const table = <K extends z.core.$ZodRecordKey, V extends z.core.SomeType>(key: K, value: V) =>
  z.record(key, value).readonly();

/** Requirements of a secret, in words that do not tell it. */
export interface SecretRule {
  readonly isGood: (value: string) => boolean;
  readonly expected: string;
}

/** Secret that a person types or pastes: blanks around it and line ends within it came along by mistake, and never fit what they are compared with. */
export const PLAIN_SECRET: SecretRule = {
  isGood: (value) => /^(?!\s)[^\p{Cc}]{1,1024}$/u.test(value) && !/\s$/.test(value),
  expected: 'one line without blanks before or behind it',
};
/** It stands in a path, where one or two dots would be a step. */
export const ACCESS_TOKEN: SecretRule = {
  isGood: (value) => /^[\x21-\x7e]{1,255}$/.test(value) && !/^\.{1,2}$/.test(value),
  expected: 'an access token: 1 to 255 letters, digits and signs, without blanks or line ends',
};
export const PROXY_ADDRESS: SecretRule = {
  isGood: (value) => isAddress(value) && isDecodable(new URL(value)) && hasPlainLogin(value),
  expected:
    'an address beginning with http:// or https://; in its password @ is written %40, # %23, / %2F, : %3A, ? %3F and % %25',
};

/** A value that is kept out of every log, error and answer. */
const secret = ({ isGood, expected }: SecretRule) =>
  z
    .string()
    .refine(isGood, expected)
    .transform((value) => new Secret(value))
    .meta({ secret: true, expected });

/** The three places a secret can come from; `secret-sources.ts` turns the last two into the first before the schema sees them. */
export function secretFields<N extends string>(field: N, rule = PLAIN_SECRET) {
  return {
    [field]: secret(rule).optional(),
    [`${field}File`]: filePath().meta({ names: 'secret-file' }).optional(),
    [`${field}Credential`]: text(/^[A-Za-z0-9._-]{1,255}$/, 'the name of a systemd credential')
      .meta({ names: 'secret-credential' })
      .optional(),
  } as Record<N, z.ZodOptional<ReturnType<typeof secret>>> &
    Record<`${N}File`, z.ZodOptional<ReturnType<typeof filePath>>> &
    Record<`${N}Credential`, z.ZodOptional<ReturnType<typeof text>>>;
}

/** Value that is handed on as it is, and may hold a password: no message shows it. */
export const handedOn = () => z.string().meta({ private: true });
/** For programs, whose words end at a NUL. */
export const programWord = () => text(/^[^\0]*$/, 'text without NUL').meta({ private: true });
/** Arguments of a program that is started directly. */
export const programArguments = () => list(programWord(), { max: 64 });

/** Value that another is compared with, or an output is set to. */
export const comparedValue = () => z.union([onOff(), z.number(), z.string().max(1_024)]);

/** `on`, `off`, true, false: how technicians write the state of a relay. */
export const onOff = () =>
  z.union([z.boolean(), z.enum(['on', 'off'])]).transform((value) => value === true || value === 'on');

const PLATFORM_KEY = 'a key of 1 to 255 characters, without < > & quotes, commas or {{ }}';

/** Counted in UTF-16 units, as the platform does. */
function isPlatformKey(key: string): boolean {
  if (key.length > 255 || !key.isWellFormed() || /^[\p{Cf}\p{Z}]*$/u.test(key)) return false;
  return /^[^<>&"'\p{Cc},]+$/u.test(key) && !/\{\{.*\}\}/.test(key);
}

const HTTP_URL = 'a URL beginning with http:// or https://, without user, password, ? or #';

const REQUEST_URL =
  'a URL beginning with http:// or https://, without #, user and password (user: and password: are options)';

/** Marks a setting that a shared attribute may change while the agent runs. */
export const LIVE = { live: true } as const;

function isHttpUrl(value: string): boolean {
  return isAddress(value) && !/[?#]/.test(value) && !/^[^/]*\/\/[^/]*@/.test(value);
}

function isRequestUrl(value: string): boolean {
  return isAddress(value) && !value.includes('#') && !/^[^/]*\/\/[^/]*@/.test(value);
}

/** Any of these signs would end the login too early, and what follows would be taken for the host. */
function hasPlainLogin(value: string): boolean {
  const [, login = '', ...others] = /^https?:\/\/([^@]*)@/i.exec(value) ?? [];
  return others.length === 0 && !/[#?/]|:.*:/.test(login) && (value.match(/@/g) ?? []).length <= 1;
}

/** Also what the URL parser would mend, such as missing slashes, is a mistake. */
function isAddress(value: string): boolean {
  return /^https?:\/\/[^\s\\]+$/i.test(value) && URL.canParse(value);
}

/** User and password go to the proxy as they were before they were written into the address. */
function isDecodable({ username, password }: URL): boolean {
  try {
    return decodeURIComponent(username + password) !== undefined;
  } catch {
    return false;
  }
}
