/** Numbers as converters have them: with ends, and with a finest step. */

export function clamped(value: number, min: number, max: number): number {
  return Math.min(max, Math.max(min, value));
}

export function rounded(value: number, digits: number): number {
  return Math.round(value * 10 ** digits) / 10 ** digits;
}
