/** How a number lies in 16-bit Modbus registers (V1.1b3, section 4.3): how many it takes, and what they can hold. */

interface Width {
  readonly words: number;
  /** Range of whole numbers that are exact, below 2^53; without it every number fits. */
  readonly range?: readonly [least: number, most: number];
}

const WIDTHS = {
  bool: { words: 1 },
  uint16: { words: 1, range: [0, 0xffff] },
  int16: { words: 1, range: [-0x8000, 0x7fff] },
  uint32: { words: 2, range: [0, 0xffffffff] },
  int32: { words: 2, range: [-0x80000000, 0x7fffffff] },
  uint64: { words: 4, range: [0, Number.MAX_SAFE_INTEGER] },
  int64: { words: 4, range: [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER] },
  // In 16 digits, as people are told; what is more by less than a digit still becomes the largest one.
  float32: { words: 2, range: [-3.402823466385289e38, 3.402823466385289e38] },
  float64: { words: 4 },
  string: { words: 1 },
} as const satisfies Readonly<Record<string, Width>>;

export type ModbusType = keyof typeof WIDTHS;
export const MODBUS_TYPES = Object.keys(WIDTHS) as [ModbusType, ...ModbusType[]];

interface Scaled {
  readonly type: ModbusType;
  readonly scale: number;
  readonly offset: number;
}

/** How many registers a value takes; a text has its own length. */
export function registersOf({
  type,
  length = 1,
}: {
  readonly type: ModbusType;
  readonly length?: number | undefined;
}): number {
  return type === 'string' ? length : WIDTHS[type].words;
}

/** True when registers of this type can hold a raw number. */
export function fitsModbus(type: ModbusType, raw: number): boolean {
  const { range }: Width = WIDTHS[type];
  return range === undefined || (raw >= range[0] && raw <= range[1]);
}

/** The values that a register can hold, after scale and offset; undefined when every number fits. */
export function modbusRange({ type, scale, offset }: Scaled): readonly [number, number] | undefined {
  const { range }: Width = WIDTHS[type];
  if (range === undefined) return undefined;
  const [a, b] = range.map((raw) => Number((raw * scale + offset).toPrecision(16)));
  return [Math.min(a ?? 0, b ?? 0), Math.max(a ?? 0, b ?? 0)];
}

/** True when the register value nearest to `value` exists. */
export function holdsModbus({ type, scale, offset }: Scaled, value: number): boolean {
  return fitsModbus(type, Math.round((value - offset) / scale));
}

/** Decimals that are tried at first: what a person wrote has no more. A float32 holds seven digits at most. */
const DIGITS = { usual: 12, float32: 6, most: 17 } as const;

/** The value of a raw number, in the fewest digits that make the same register. */
export function valueOfModbus(layout: Scaled, raw: number): number {
  const { type, scale, offset } = layout;
  const value = raw * scale + offset;
  for (let digits: number = type === 'float32' ? DIGITS.float32 : DIGITS.usual; digits < DIGITS.most; digits += 1) {
    const short = Number(value.toPrecision(digits));
    if (rawOf(layout, short) === raw) return short;
  }
  return value;
}

/** Returns the value that a register makes of a number: 21.37 in steps of 0.1 is 21.4. Off stays 0 whatever scale and offset make of its register. */
export function nearestModbus(layout: Scaled, value: number): number {
  const raw = rawOf(layout, value);
  return holdsModbus(layout, 0) && raw === rawOf(layout, 0) ? 0 : valueOfModbus(layout, raw);
}

function rawOf({ type, scale, offset }: Scaled, value: number): number {
  const raw = (value - offset) / scale;
  if (type === 'float32') return Math.fround(raw);
  return type === 'float64' ? raw : Math.round(raw);
}
