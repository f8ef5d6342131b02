/**
 * The compensation formulas of BME280 and BMP280 from the chip's side: BME280 datasheet BST-BME280-DS002, section 4.2.3 (temperature and
 * humidity in 32-bit, pressure in 64-bit integers). Written apart from the driver's, because a witness that shares the code it
 * judges is none; here on bigint throughout, rounded as the sheet's C does.
 */

export interface Trimming {
  readonly t: readonly [number, number, number];
  readonly p: readonly [number, number, number, number, number, number, number, number, number];
  /** Absent on a BMP280. */
  readonly h?: readonly [number, number, number, number, number, number];
}

/** Trimming of the worked example in the BMP280 datasheet (BST-BMP280-DS001), section 3.12; humidity of a real BME280. */
export const SAMPLE_TRIMMING: Trimming = {
  t: [27504, 26435, -1000],
  p: [36477, -10685, 3024, 2855, 140, -7, 15500, -14600, 6000],
  h: [75, 370, 0, 313, 50, 30],
};

const int32 = (value: bigint): bigint => BigInt.asIntN(32, value);

/** t_fine of a raw temperature. */
export function fineTemperature({ t: [t1, t2, t3] }: Trimming, adc: number): bigint {
  const raw = BigInt(adc);
  const first = int32(((raw >> 3n) - (BigInt(t1) << 1n)) * BigInt(t2)) >> 11n;
  const square = (raw >> 4n) - BigInt(t1);
  const second = int32((int32(square * square) >> 12n) * BigInt(t3)) >> 14n;
  return first + second;
}

/** °C, in steps of 0.01. */
export function celsius(fine: bigint): number {
  return Number((fine * 5n + 128n) >> 8n) / 100;
}

/** hPa, in steps of 1/256 Pa. */
export function hectopascal({ p }: Trimming, fine: bigint, adc: number): number {
  const [p1, p2, p3, p4, p5, p6, p7, p8, p9] = p.map(BigInt) as [bigint, bigint, bigint, bigint, bigint, bigint, bigint, bigint, bigint];
  const x = fine - 128000n;
  let y = x * x * p6 + ((x * p5) << 17n) + (p4 << 35n);
  const z = (((1n << 47n) + (((x * x * p3) >> 8n) + ((x * p2) << 12n))) * p1) >> 33n;
  if (z === 0n) return 0;
  let pressure = 1048576n - BigInt(adc);
  pressure = (((pressure << 31n) - y) * 3125n) / z;
  const a = (p9 * (pressure >> 13n) * (pressure >> 13n)) >> 25n;
  y = (p8 * pressure) >> 19n;
  pressure = ((pressure + a + y) >> 8n) + (p7 << 4n);
  return Number(pressure) / 256 / 100;
}

/** Percent relative humidity, in steps of 1/1024. */
export function relativeHumidity({ h = [0, 0, 0, 0, 0, 0] }: Trimming, fine: bigint, adc: number): number {
  const [h1, h2, h3, h4, h5, h6] = h.map(BigInt) as [bigint, bigint, bigint, bigint, bigint, bigint];
  const x = fine - 76800n;
  const left = int32((BigInt(adc) << 14n) - (h4 << 20n) - h5 * x + 16384n) >> 15n;
  const inner = ((((x * h6) >> 10n) * (((x * h3) >> 11n) + 32768n)) >> 10n) + 2097152n;
  let value = int32(left * int32((inner * h2 + 8192n) >> 14n));
  value -= ((((value >> 15n) * (value >> 15n)) >> 7n) * h1) >> 4n;
  value = value < 0n ? 0n : value > 419430400n ? 419430400n : value;
  return Number(value >> 12n) / 1024;
}

/** The raw number whose meaning is nearest to the wanted value, for a formula that rises or falls steadily between 0 and greatest. */
export function rawFor(wanted: number, greatest: number, meaning: (adc: number) => number): number {
  const rising = meaning(Math.floor(greatest * 0.7)) > meaning(Math.floor(greatest * 0.3));
  let low = 0;
  let high = greatest;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (rising ? meaning(middle) < wanted : meaning(middle) > wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}
