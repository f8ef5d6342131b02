/** Amounts with a unit, as people write them in YAML: `10s`, `1h30m`, `64MB`, `200kB/s`, `50/s`, `1kHz`. */

import { MS_OF } from '../../names/duration.ts';

export { formatDuration } from '../../names/duration.ts';

/** The unit of a parsed amount, in the form in which it ends a field's name: `period: 10s` becomes `periodMs: 10000`. */
export type QuantityUnit = 'Ms' | 'Bytes' | 'BytesPerS' | 'PerS' | 'Hz';

export class Quantity<U extends QuantityUnit> {
  readonly amount: number;
  readonly unit: U;

  constructor(amount: number, unit: U) {
    this.amount = amount;
    this.unit = unit;
  }
}

const BYTES_OF: Readonly<Record<string, number>> = {
  B: 1,
  kB: 1e3,
  KB: 1e3,
  MB: 1e6,
  GB: 1e9,
  KiB: 2 ** 10,
  MiB: 2 ** 20,
  GiB: 2 ** 30,
};
const HERTZ_OF: Readonly<Record<string, number>> = { Hz: 1, kHz: 1e3, MHz: 1e6 };

const DURATION = /^(?:\d+(?:\.\d+)?(?:ms|s|m|h|d))+$/;
const DURATION_PART = /(\d+(?:\.\d+)?)(ms|s|m|h|d)/g;
const AMOUNT = /^(\d+(?:\.\d+)?) ?([A-Za-z]*)$/;

/** Milliseconds of `500ms`, `10s`, `1h30m`, `2d`; undefined for anything else, bare numbers too: nobody remembers their unit. */
export function parseDuration(text: string): number | undefined {
  if (!DURATION.test(text)) return undefined;
  let totalMs = 0;
  for (const [, amount, unit] of text.matchAll(DURATION_PART))
    totalMs += Number(amount) * (MS_OF[unit ?? ''] ?? Number.NaN);
  return Number.isFinite(totalMs) ? totalMs : undefined;
}

/** Bytes of `64MB` (10^6), `64MiB` (2^20), `4096B`; undefined for anything else. */
export function parseSize(text: string): number | undefined {
  const bytes = withUnit(text, BYTES_OF);
  return bytes === undefined ? undefined : Math.round(bytes);
}

/** Bytes per second of `200kB/s`. */
export function parseByteRate(text: string): number | undefined {
  return text.endsWith('/s') ? parseSize(text.slice(0, -2)) : undefined;
}

/** Things per second of `50/s`, `10/m`, `6/h`. */
export function parseRate(text: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?)\/(s|m|h)$/.exec(text);
  if (match === null) return undefined;
  return (Number(match[1]) * 1_000) / (MS_OF[match[2] ?? ''] ?? Number.NaN);
}

/** Hertz of `50Hz`, `1.5kHz`. */
export function parseFrequency(text: string): number | undefined {
  return withUnit(text, HERTZ_OF);
}

const PARSERS: Readonly<Record<QuantityUnit, (text: string) => number | undefined>> = {
  Ms: parseDuration,
  Bytes: parseSize,
  BytesPerS: parseByteRate,
  PerS: parseRate,
  Hz: parseFrequency,
};

/** Amount of a text in a unit; undefined for what is none, and for a unit that there is not. */
export function parseQuantity(unit: string, text: string): number | undefined {
  return Object.hasOwn(PARSERS, unit) ? PARSERS[unit as QuantityUnit](text) : undefined;
}

/** A size in the largest decimal unit that keeps it readable: 64000000 → `64MB`. */
export function formatSize(bytes: number): string {
  for (const unit of ['GB', 'MB', 'kB'] as const) {
    const size = BYTES_OF[unit] ?? 1;
    if (bytes >= size) return `${Math.round((bytes / size) * 10) / 10}${unit}`;
  }
  return `${bytes}B`;
}

function withUnit(text: string, units: Readonly<Record<string, number>>): number | undefined {
  const [, amount, unit = ''] = AMOUNT.exec(text) ?? [];
  const size = Object.hasOwn(units, unit) ? units[unit] : undefined;
  return size === undefined ? undefined : Number(amount) * size;
}
