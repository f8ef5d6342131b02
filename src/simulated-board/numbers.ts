/** Numbers as converters have them: with ends, and with a finest step. */

export function clamped(value: number, least: number, greatest: number): number {
  return Math.min(greatest, Math.max(least, value));
}

export function rounded(value: number, digits: number): number {
  return Math.round(value * 10 ** digits) / 10 ** digits;
}
