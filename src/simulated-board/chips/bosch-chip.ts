/**
 * BME280 and BMP280 as registers: trimming, forced and normal mode, the busy bit while it measures, reset. BST-BME280-DS002 section 5.
 * After reset it sleeps and its data registers hold 0x80000 (and 0x8000): a driver that does not start a measurement reads that.
 */
import { celsius, fineTemperature, hectopascal, rawFor, relativeHumidity, SAMPLE_TRIMMING, type Trimming } from './bosch-compensation.ts';
import { type ChipContext, RegisterChip } from './simulated-chip.ts';

const REGISTER = {
  trimming: 0x88,
  id: 0xd0,
  reset: 0xe0,
  humidityTrimming: 0xe1,
  controlHumidity: 0xf2,
  status: 0xf3,
  control: 0xf4,
  data: 0xf7,
} as const;
const RESET_WORD = 0xb6;
const MEASURING = 0x08;
/** Typical conversion time with every value oversampled once: 1 + 2 + (2 + 0.5) + (2 + 0.5) ms (appendix B, 9.1). */
const CONVERSION_MS = 8;

export class BoschChip extends RegisterChip {
  readonly #context: ChipContext;
  readonly #trimming: Trimming;
  #readyAtMs = 0;
  #pending = false;
  #shown: Readonly<Record<string, number>> | undefined;

  constructor(context: ChipContext, options: { readonly humidity: boolean }) {
    super();
    this.#context = context;
    this.#trimming = options.humidity ? SAMPLE_TRIMMING : { t: SAMPLE_TRIMMING.t, p: SAMPLE_TRIMMING.p };
    this.registers[REGISTER.id] = options.humidity ? 0x60 : 0x58;
    this.#reset();
  }

  protected override write(register: number, byte: number): void {
    if (register === REGISTER.reset && byte === RESET_WORD) this.#reset();
    else if (register >= REGISTER.controlHumidity && register < REGISTER.data && register !== REGISTER.status) {
      this.registers[register] = byte;
      if (register === REGISTER.control && (byte & 3) !== 0) this.#start();
    }
  }

  protected override beforeRead(register: number, length: number): void {
    const now = this.#context.monotonicMs();
    const mode = (this.registers[REGISTER.control] ?? 0) & 3;
    if (mode === 3 && !this.#pending) this.#start();
    if (this.#pending && now >= this.#readyAtMs) this.#finish(mode);
    this.registers[REGISTER.status] = this.#pending ? MEASURING : 0;
    if (register === REGISTER.data && length >= 6 && this.#shown !== undefined) this.#context.show(this.#shown);
  }

  #reset(): void {
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
    this.registers.set([0, 0, 0, 0], REGISTER.controlHumidity);
    this.registers.set([0x80, 0, 0, 0x80, 0, 0, 0x80, 0], REGISTER.data);
    this.#pending = false;
    this.#shown = undefined;
  }

  #start(): void {
    this.#pending = true;
    this.#readyAtMs = this.#context.monotonicMs() + CONVERSION_MS;
  }

  #finish(mode: number): void {
    this.#pending = false;
    const { signal } = this.#context;
    const trimming = this.#trimming;
    const t = rawFor(signal('temperature'), 0xfffff, (adc) => celsius(fineTemperature(trimming, adc)));
    const fine = fineTemperature(trimming, t);
    const p = rawFor(signal('pressure'), 0xfffff, (adc) => hectopascal(trimming, fine, adc));
    this.registers.set([p >> 12, (p >> 4) & 0xff, (p & 0x0f) << 4, t >> 12, (t >> 4) & 0xff, (t & 0x0f) << 4], REGISTER.data);
    this.#shown = { temperature: celsius(fine), pressure: hectopascal(trimming, fine, p) };
    if (trimming.h !== undefined) {
      const h = rawFor(signal('humidity'), 0xffff, (adc) => relativeHumidity(trimming, fine, adc));
      this.registers.set([h >> 8, h & 0xff], REGISTER.data + 6);
      this.#shown = { ...this.#shown, humidity: relativeHumidity(trimming, fine, h) };
    }
    // Forced mode ends in sleep mode (section 3.3.3).
    if (mode !== 3) this.registers[REGISTER.control] = (this.registers[REGISTER.control] ?? 0) & 0xfc;
  }
}
