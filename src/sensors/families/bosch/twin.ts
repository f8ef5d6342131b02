/**
 * BME280 and BMP280 as registers, after BST-BME280-DS002: forced and normal mode, the busy bit while it measures, reset. Without the filter.
 * After power-on and reset (1.1, 5.4.4) it copies its trimming for 2 ms with `im_update` set, sleeps, and skips everything: what is skipped
 * holds 0x80000, humidity 0x8000 (5.4.7 to 5.4.9). `ctrl_hum` takes effect with the next write of `ctrl_meas` (5.4.3), `config` is ignored in
 * normal mode (5.4.6), and one write may hold several pairs of register and byte (6.2.1).
 */
import { type ChipContext, RegisterChip, type Twin } from '../../../stand-ins/simulated-board/twin.ts';

const REGISTER = {
  trimming: 0x88,
  id: 0xd0,
  reset: 0xe0,
  humidityTrimming: 0xe1,
  controlHumidity: 0xf2,
  status: 0xf3,
  control: 0xf4,
  config: 0xf5,
  data: 0xf7,
} as const;
const RESET_WORD = 0xb6;
const STATUS = { measuring: 0x08, copyingTrimming: 0x01 } as const;
const COPYING_MS = 2;
const NORMAL_MODE = 3;

/** The data registers of what was not measured. */
const SKIPPED = Uint8Array.of(0x80, 0, 0, 0x80, 0, 0, 0x80, 0);

export function boschTwin(humidity: boolean): Twin {
  return { chip: (context) => new BoschChip(context, { humidity }), sample: { address: humidity ? 0x76 : 0x77 } };
}

class BoschChip extends RegisterChip {
  readonly #context: ChipContext;
  readonly #trimming: Trimming;
  #trimmedAtMs = 0;
  #readyAtMs = 0;
  #pending = false;
  /** Oversampling of humidity, as the last write of `ctrl_meas` took it up. */
  #humidity = 0;
  #shown: Readonly<Record<string, number>> | undefined;

  constructor(context: ChipContext, options: { readonly humidity: boolean }) {
    super();
    this.#context = context;
    this.#trimming = options.humidity ? SAMPLE_TRIMMING : { t: SAMPLE_TRIMMING.t, p: SAMPLE_TRIMMING.p };
    this.registers[REGISTER.id] = options.humidity ? 0x60 : 0x58;
    this.#reset();
  }

  protected override writeAll(register: number, bytes: Uint8Array): void {
    const pairs = [register, ...bytes];
    for (let at = 0; at + 1 < pairs.length; at += 2) this.write(pairs[at] ?? 0, pairs[at + 1] ?? 0);
  }

  protected override write(register: number, byte: number): void {
    if (register === REGISTER.reset && byte === RESET_WORD) this.#reset();
    else if (register === REGISTER.config && this.#mode() === NORMAL_MODE) return;
    else if (register >= REGISTER.controlHumidity && register < REGISTER.data && register !== REGISTER.status) {
      this.registers[register] = byte;
      if (register !== REGISTER.control) return;
      this.#humidity = oversamplingOf(this.registers[REGISTER.controlHumidity] ?? 0);
      if ((byte & 3) !== 0) this.#start();
    }
  }

  protected override beforeRead(register: number, length: number): void {
    const now = this.#context.monotonicMs();
    const isTrimmed = now >= this.#trimmedAtMs;
    if (isTrimmed && this.registers[REGISTER.trimming] === 0) this.#trim();
    if (this.#mode() === NORMAL_MODE && !this.#pending) this.#start();
    if (this.#pending && now >= this.#readyAtMs) this.#finish();
    this.registers[REGISTER.status] = (this.#pending ? STATUS.measuring : 0) | (isTrimmed ? 0 : STATUS.copyingTrimming);
    if (register === REGISTER.data && length >= 6 && this.#shown !== undefined) this.#context.show(this.#shown);
  }

  #mode(): number {
    return (this.registers[REGISTER.control] ?? 0) & 3;
  }

  #reset(): void {
    this.#trimmedAtMs = this.#context.monotonicMs() + COPYING_MS;
    this.registers.fill(0, REGISTER.trimming, REGISTER.id);
    this.registers.fill(0, REGISTER.humidityTrimming, REGISTER.data);
    this.registers.set(SKIPPED, REGISTER.data);
    this.#humidity = 0;
    this.#pending = false;
    this.#shown = undefined;
  }

  #trim(): void {
    const { t, p, h } = this.#trimming;
    const view = new DataView(this.registers.buffer);
    for (const [at, word] of [...t, ...p].entries()) view.setUint16(REGISTER.trimming + 2 * at, word & 0xffff, true);
    if (h !== undefined) {
      const [h1, h2, h3, h4, h5, h6] = h;
      this.registers[0xa1] = h1;
      // H4 and H5 are 12 bits each and share a register (table 16).
      this.registers.set(
        [h2 & 0xff, h2 >> 8, h3, (h4 >> 4) & 0xff, (h4 & 0x0f) | ((h5 & 0x0f) << 4), (h5 >> 4) & 0xff, h6 & 0xff],
        REGISTER.humidityTrimming,
      );
    }
  }

  /** Typical times (appendix B, 9.1). */
  #start(): void {
    const control = this.registers[REGISTER.control] ?? 0;
    const [temperature, pressure] = [oversamplingOf(control >> 5), oversamplingOf(control >> 2)];
    const conversionMs =
      1 +
      2 * temperature +
      (pressure > 0 ? 2 * pressure + 0.5 : 0) +
      (this.#humidity > 0 ? 2 * this.#humidity + 0.5 : 0);
    this.#pending = true;
    this.#readyAtMs = this.#context.monotonicMs() + conversionMs;
  }

  #finish(): void {
    this.#pending = false;
    const { signal } = this.#context;
    const trimming = this.#trimming;
    const control = this.registers[REGISTER.control] ?? 0;
    // Forced mode ends in sleep mode (section 3.3.3).
    if (this.#mode() !== NORMAL_MODE) this.registers[REGISTER.control] = control & 0xfc;
    this.registers.set(SKIPPED.subarray(0, trimming.h === undefined ? 6 : 8), REGISTER.data);
    this.#shown = undefined;
    // The others are computed from the temperature: without it they mean nothing.
    if (oversamplingOf(control >> 5) === 0) return;
    const t = rawFor(signal('temperature'), 0xfffff, (adc) => celsius(fineTemperature(trimming, adc)));
    const fine = fineTemperature(trimming, t);
    this.registers.set([t >> 12, (t >> 4) & 0xff, (t & 0x0f) << 4], REGISTER.data + 3);
    this.#shown = { temperature: celsius(fine) };
    if (oversamplingOf(control >> 2) > 0) {
      const p = rawFor(signal('pressure'), 0xfffff, (adc) => hectopascal(trimming, fine, adc));
      this.registers.set([p >> 12, (p >> 4) & 0xff, (p & 0x0f) << 4], REGISTER.data);
      this.#shown = { ...this.#shown, pressure: hectopascal(trimming, fine, p) };
    }
    if (trimming.h !== undefined && this.#humidity > 0) {
      const h = rawFor(signal('humidity'), 0xffff, (adc) => relativeHumidity(trimming, fine, adc));
      this.registers.set([h >> 8, h & 0xff], REGISTER.data + 6);
      this.#shown = { ...this.#shown, humidity: relativeHumidity(trimming, fine, h) };
    }
  }
}

/** Three bits: 0 skips, 1 to 5 are 1, 2, 4, 8 and 16 times, and so are the two above (tables 20, 23 and 24). */
function oversamplingOf(bits: number): number {
  const code = bits & 7;
  return code === 0 ? 0 : 2 ** (Math.min(code, 5) - 1);
}

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
