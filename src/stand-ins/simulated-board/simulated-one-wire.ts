/**
 * One-wire slaves with the very text of the kernel's `w1_slave` file; families of DS18x20 thermometers. Byte 6 of the scratchpad is what the
 * maker's chips hold there: 0x0c from power-on, after a conversion 0x10 less the lowest four bits (0x0e beside 0x0172 in the kernel's
 * Documentation/w1/slaves/w1_therm.rst).
 */
import type { BoardConfig } from './board-config.ts';
import { type BoardContext, boardFault, FOREVER } from './simulated-part.ts';
import { clamped } from './talkers/numbers.ts';

/** 85 °C, low byte first (datasheet, table 1). */
const POWER_ON: readonly [number, number] = [0x50, 0x05];

export class SimulatedOneWire {
  readonly #slaves: ReadonlyMap<string, BoardConfig['oneWire'][number]>;
  readonly #context: BoardContext;

  constructor(slaves: BoardConfig['oneWire'], context: BoardContext) {
    this.#context = context;
    this.#slaves = new Map(slaves.map((slave) => [slave.id, slave]));
    for (const { id, signal } of slaves) context.signals.add(id, signal);
  }

  list(): readonly string[] {
    return [...this.#slaves.keys()].filter((id) => this.#context.faults.of(id) !== 'unplug').sort();
  }

  /** @throws AgentError `hardware/one-wire-no-slave` (retry). */
  async read(id: string): Promise<string> {
    const slave = this.#slaves.get(id);
    const fault = this.#context.faults.of(id, 'one-wire');
    if (fault === 'hang') return await FOREVER;
    if (slave === undefined || fault === 'unplug')
      throw boardFault('hardware/one-wire-no-slave', `one-wire slave ${id} is not on the bus`);
    // 12 bits: steps of 1/16 °C (DS18B20 datasheet, "Temperature register format").
    const sixteenths = Math.round(clamped(this.#context.signals.value(id), -55, 125) * 16);
    const lost = fault === 'brown-out';
    const [low, high] = lost ? POWER_ON : [sixteenths & 0xff, (sixteenths >> 8) & 0xff];
    const bytes = Buffer.from([low, high, 0x4b, 0x46, 0x7f, 0xff, lost ? 0x0c : 0x10 - (low & 0x0f), 0x10]);
    const crc = crc8(bytes);
    if (fault === 'garbage') bytes[0] = (bytes[0] ?? 0) ^ 0x55;
    else if (!lost) this.#context.record.add('shown', id, slave.keys.temperature ?? 'temperature', sixteenths / 16);
    const hex = [...bytes, crc].map((byte) => byte.toString(16).padStart(2, '0')).join(' ');
    const isWhole = crc8(bytes) === crc;
    return `${hex} : crc=${crc8(bytes).toString(16).padStart(2, '0')} ${isWhole ? 'YES' : 'NO'}\n${hex} t=${Math.trunc((sixteenths * 1000) / 16)}\n`;
  }
}

/** Maxim's one-wire CRC: x^8 + x^5 + x^4 + 1, low bit first (application note 27). */
function crc8(bytes: Uint8Array): number {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit += 1) crc = crc & 1 ? (crc >> 1) ^ 0x8c : crc >> 1;
  }
  return crc;
}
