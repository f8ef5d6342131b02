/**
 * From raw numbers to physical values for BME280 and BMP280: datasheet BST-BME280-DS002 revision 1.6, section 4.2.3, and
 * BST-BMP280-DS001 section 3.11.3, in the integer form, so that equal registers always give equal values.
 */

export interface BoschTrimming {
  readonly t: readonly [number, number, number];
  readonly p: readonly [number, number, number, number, number, number, number, number, number];
  /** Only a BME280 has it. */
  readonly h?: readonly [number, number, number, number, number, number];
}

/** @param first registers 0x88 to 0xa1; @param second registers 0xe1 to 0xe7 of a BME280 (table 16). */
export function parseTrimming(first: Uint8Array, second?: Uint8Array): BoschTrimming {
  const view = new DataView(first.buffer, first.byteOffset, first.byteLength);
  const unsigned = (at: number): number => view.getUint16(at, true);
  const signed = (at: number): number => view.getInt16(at, true);
  const t = [unsigned(0), signed(2), signed(4)] as const;
  const p = [
    unsigned(6),
    signed(8),
    signed(10),
    signed(12),
    signed(14),
    signed(16),
    signed(18),
    signed(20),
    signed(22),
  ] as const;
  if (second === undefined) return { t, p };
  const [h2Low = 0, h2High = 0, h3 = 0, h4High = 0, h4h5Low = 0, h5High = 0, h6 = 0] = second;
  const signedByte = (byte: number): number => (byte << 24) >> 24;
  // H4 and H5 are 12 bits each, signed, and share a register.
  const h4 = (signedByte(h4High) << 4) | (h4h5Low & 0x0f);
  const h5 = (signedByte(h5High) << 4) | (h4h5Low >> 4);
  return { t, p, h: [first[25] ?? 0, (((h2High << 8) | h2Low) << 16) >> 16, h3, h4, h5, signedByte(h6)] };
}

/** The sheet's `t_fine`: temperature at a finer step, which the other two formulas need. */
export function fineTemperature({ t: [t1, t2, t3] }: BoschTrimming, adc: number): number {
  const coarse = Math.floor((((adc >> 3) - t1 * 2) * t2) / 2 ** 11);
  const difference = (adc >> 4) - t1;
  return coarse + Math.floor((Math.floor((difference * difference) / 2 ** 12) * t3) / 2 ** 14);
}

/** °C in steps of 0.01. */
export function celsius(fine: number): number {
  return ((fine * 5 + 128) >> 8) / 100;
}

/** Pa in steps of 1/256; undefined where the sheet's formula would divide by zero (a chip without trimming). */
export function pascal({ p }: BoschTrimming, fine: number, adc: number): number | undefined {
  const [p1, p2, p3, p4, p5, p6, p7, p8, p9] = p.map(BigInt) as [
    bigint,
    bigint,
    bigint,
    bigint,
    bigint,
    bigint,
    bigint,
    bigint,
    bigint,
  ];
  let var1 = BigInt(fine) - 128_000n;
  let var2 = var1 * var1 * p6;
  var2 += (var1 * p5) << 17n;
  var2 += p4 << 35n;
  var1 = ((var1 * var1 * p3) >> 8n) + ((var1 * p2) << 12n);
  var1 = (((1n << 47n) + var1) * p1) >> 33n;
  if (var1 === 0n) return undefined;
  let q24 = (((BigInt(1_048_576 - adc) << 31n) - var2) * 3125n) / var1;
  var1 = (p9 * (q24 >> 13n) * (q24 >> 13n)) >> 25n;
  var2 = (p8 * q24) >> 19n;
  q24 = ((q24 + var1 + var2) >> 8n) + (p7 << 4n);
  return Number(q24) / 256;
}

/** Percent relative humidity in steps of 1/1024; the formula itself keeps it within 0 and 100. */
export function relativeHumidity(h: NonNullable<BoschTrimming['h']>, fine: number, adc: number): number {
  const [h1, h2, h3, h4, h5, h6] = h;
  const shift = (value: number, bits: number): number => Math.floor(value / 2 ** bits);
  const v = fine - 76_800;
  const scaled = shift(adc * 2 ** 14 - h4 * 2 ** 20 - h5 * v + 16_384, 15);
  const slope = shift((shift(shift(v * h6, 10) * (shift(v * h3, 11) + 32_768), 10) + 2_097_152) * h2 + 8_192, 14);
  const linear = scaled * slope;
  const bent = linear - shift(shift(shift(linear, 15) ** 2, 7) * h1, 4);
  return shift(Math.min(Math.max(bent, 0), 419_430_400), 12) / 1024;
}
