/** Proportional control: a value for each reading, linear between the points of a curve and held outside them. Pure. */

/** A reading and its value, the readings ascending. */
export type CurvePoints = readonly (readonly number[])[];

export interface CurveUse {
  /** Value that the output has by the curve; undefined before the first. */
  readonly before: number | undefined;
  /** Step of the actuator, counted from `origin`. */
  readonly step: number | undefined;
  readonly origin: number;
}

/** A step of the curve's span that is worth a movement, where the actuator has none. */
const STEPS_OF_SPAN = 100;
/** Tolerance for binary fractions. */
const DIGITS = 12;

/** The value before, until the curve is a whole step away from it or at its lowest or highest value. */
export function curveValue(points: CurvePoints, reading: number, { before, step, origin }: CurveUse): number {
  const value = valueAt(points, reading);
  const values = points.map(([, each = 0]) => each);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const moves = step ?? (high - low) / STEPS_OF_SPAN;
  if (before !== undefined && value !== low && value !== high && Math.abs(value - before) < moves) return before;
  return Number((step === undefined ? value : origin + Math.round((value - origin) / step) * step).toPrecision(DIGITS));
}

function valueAt(points: CurvePoints, reading: number): number {
  const next = points.findIndex(([at = 0]) => at >= reading);
  const [[x1 = 0, y1 = 0] = [], [x2 = 0, y2 = 0] = []] = [points[next - 1] ?? points.at(next), points.at(next)];
  return x1 === x2 ? y2 : y1 + ((y2 - y1) * (reading - x1)) / (x2 - x1);
}
