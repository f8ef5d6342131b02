/**
 * INA219 after SBOS448G: shunt and bus are converted in the ranges of the configuration, and end there; the calibration register makes current
 * and power of them (equations 4 and 5), and OVF tells only that this arithmetic overflowed. CNVR falls with a write of the configuration and
 * with a read of the power register (table 8-7). After power-on it converts continuously, uncalibrated.
 */

import { clamped, rounded } from '../../stand-ins/simulated-board/talkers/numbers.ts';
import type { Twin } from '../../stand-ins/simulated-board/twin.ts';
import { type ChipContext, WordChip } from '../../stand-ins/simulated-board/twin.ts';
import type { Ina219Config } from './definition.ts';

export const twin: Twin = {
  chip: (context) => new Ina219Chip(context),
  sample: { address: 0x40 },
  fitting: ({ shuntOhms }: Ina219Config) => ({ options: { shuntOhms } }),
};

const REGISTER = { config: 0, shunt: 1, bus: 2, power: 3, current: 4, calibration: 5 } as const;
const POWER_ON = 0x399f;
const RESET = 0x8000;
const BUS_RANGE_32 = 0x2000;
const CNVR = 2;
const OVF = 1;
/** Microseconds of one conversion by the four bits of its resolution (table 8-6): 9 to 12 bits, then averages of 2 to 128. */
const CONVERSION_US = [84, 148, 276, 532];
const SINGLE_US = 532;

class Ina219Chip extends WordChip {
  readonly #context: ChipContext;
  #readyAtMs = 0;

  constructor(context: ChipContext) {
    super();
    this.#context = context;
    this.write(REGISTER.config, POWER_ON);
  }

  protected override write(register: number, word: number): void {
    if (register === REGISTER.calibration) this.words[register] = word & 0xfffe;
    if (register !== REGISTER.config) return;
    if ((word & RESET) !== 0) this.words.fill(0);
    this.words[REGISTER.config] = (word & RESET) !== 0 ? POWER_ON : word;
    this.words[REGISTER.bus] = (this.words[REGISTER.bus] ?? 0) & ~CNVR;
    const config = this.words[REGISTER.config] ?? 0;
    const bits = (config & 1 ? microseconds(config >> 3) : 0) + (config & 2 ? microseconds(config >> 7) : 0);
    // Modes 0 and 4 convert nothing.
    this.#readyAtMs = bits === 0 ? Number.POSITIVE_INFINITY : this.#context.monotonicMs() + bits / 1_000;
  }

  protected override beforeRead(register: number): void {
    const { words } = this;
    if (this.#context.monotonicMs() >= this.#readyAtMs) this.#convert();
    const isConverted = ((words[REGISTER.bus] ?? 0) & CNVR) !== 0;
    if (register === REGISTER.power) words[REGISTER.bus] = (words[REGISTER.bus] ?? 0) & ~CNVR;
    if (!isConverted) return;
    const config = words[REGISTER.config] ?? 0;
    const ohms = Number(this.#context.options.shuntOhms ?? 0.1);
    const volts = ((words[REGISTER.bus] ?? 0) >> 3) * 0.004;
    const amperes = ((((words[REGISTER.shunt] ?? 0) << 16) >> 16) * 10e-6) / ohms;
    const isVoltage = volts < busEnd(config) * 0.004;
    const isCurrent = Math.abs(Math.round(amperes * ohms * 1e5)) < shuntEnd(config);
    if (register === REGISTER.bus && isVoltage) this.#context.show({ voltage: rounded(volts, 6) });
    if (register !== REGISTER.shunt || !isCurrent) return;
    const current = rounded(amperes, 6);
    this.#context.show({ current, ...(isVoltage && { power: rounded(Math.abs(rounded(volts, 6) * current), 6) }) });
  }

  #convert(): void {
    const { words } = this;
    const { signal, options } = this.#context;
    const config = words[REGISTER.config] ?? 0;
    // Triggered modes convert once.
    if ((config & 4) === 0) this.#readyAtMs = Number.POSITIVE_INFINITY;
    const ohms = Number(options.shuntOhms ?? 0.1);
    const bus = clamped(Math.round(signal('voltage') / 0.004), 0, busEnd(config));
    const shunt = clamped(Math.round((signal('current') * ohms) / 10e-6), -shuntEnd(config), shuntEnd(config));
    const current = Math.trunc((shunt * (words[REGISTER.calibration] ?? 0)) / 4096);
    const power = Math.trunc((Math.abs(current) * bus) / 5_000);
    const overflows = Math.abs(current) > 0x7fff || power > 0xffff;
    words[REGISTER.shunt] = shunt & 0xffff;
    words[REGISTER.bus] = (bus << 3) | CNVR | (overflows ? OVF : 0);
    words[REGISTER.current] = current & 0xffff;
    words[REGISTER.power] = power & 0xffff;
  }
}

/** 40, 80, 160 or 320 mV in steps of 10 µV. */
function shuntEnd(config: number): number {
  return 4_000 << ((config >> 11) & 3);
}

/** 16 or 32 V in steps of 4 mV. */
function busEnd(config: number): number {
  return (config & BUS_RANGE_32) !== 0 ? 8_000 : 4_000;
}

function microseconds(bits: number): number {
  return (bits & 8) === 0 ? (CONVERSION_US[bits & 3] ?? 0) : SINGLE_US * 2 ** (bits & 7);
}
