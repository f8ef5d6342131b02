/** The board's I2C buses: chips by address, and everything a bus can do wrong. */
import type { BoardConfig } from './board-config.ts';
import { type BoardContext, boardFault, FOREVER } from './simulated-part.ts';
import type { SimulatedChip, Twins } from './twin.ts';

export class SimulatedI2c {
  readonly #context: BoardContext;
  readonly #twins: Twins;
  readonly #buses = new Map<number, { readonly smbusOnly: boolean; readonly chips: Map<number, SimulatedChip> }>();

  constructor(buses: BoardConfig['i2c'], context: BoardContext, twins: Twins) {
    this.#context = context;
    this.#twins = twins;
    for (const { bus, smbusOnly, chips } of buses) {
      for (const { address, signals } of chips)
        for (const [name, signal] of Object.entries(signals))
          context.signals.add(`${targetOf(bus, address)}/${name}`, signal);
      const powered = new Map(chips.map((chip) => [chip.address, this.#switchOn(bus, chip)]));
      this.#buses.set(bus, { smbusOnly, chips: powered });
      context.faults.onChange((target, fault) => {
        if (fault !== 'brown-out') return;
        for (const chip of chips)
          if (target === `i2c-${bus}` || target === targetOf(bus, chip.address))
            powered.set(chip.address, this.#switchOn(bus, chip));
      });
    }
  }

  /** @throws AgentError `hardware/i2c-no-bus` (retry). */
  openBus(bus: number): void {
    if (!this.#buses.has(bus)) throw boardFault('hardware/i2c-no-bus', `the simulated board has no i2c-${bus}`);
  }

  list(): readonly number[] {
    return [...this.#buses.keys()].sort((a, b) => a - b);
  }

  /** @throws AgentError `hardware/i2c-no-answer`, `hardware/i2c-failed`, `hardware/i2c-no-bus` (retry). */
  async transfer(bus: number, address: number, write: Uint8Array, read: number): Promise<Uint8Array> {
    this.openBus(bus);
    const { smbusOnly = false, chips = new Map<number, SimulatedChip>() } = this.#buses.get(bus) ?? {};
    const where = targetOf(bus, address);
    const fault = this.#context.faults.of(where, `i2c-${bus}`);
    if (fault === 'hang') return await FOREVER;
    const chip = chips.get(address);
    if (chip === undefined || fault === 'nak')
      throw boardFault('hardware/i2c-no-answer', `no chip acknowledges ${where}`);
    if (smbusOnly && ((write.length === 0 && read > 1) || (write.length > 2 && read > 0))) {
      throw boardFault('hardware/i2c-failed', `i2c-${bus} speaks only SMBus`);
    }
    if (write.length > 0) chip.receive(write);
    if (read === 0) return new Uint8Array();
    // A bus with a loose wire delivers anything, and nothing that the chip could be judged by.
    if (fault === 'garbage')
      return Uint8Array.from({ length: read }, () => Math.floor(this.#context.clock.jitter() * 256));
    const sent = chip.send(read);
    if (sent === undefined) throw boardFault('hardware/i2c-no-answer', `no chip acknowledges ${where}`);
    return sent;
  }

  /** The chip as it is after power-on. */
  #switchOn(bus: number, { kind, address, keys, options }: BoardConfig['i2c'][number]['chips'][number]): SimulatedChip {
    const twin = this.#twins.get(kind);
    if (twin?.chip === undefined) {
      const known = [...this.#twins].flatMap(([name, { chip }]) => (chip === undefined ? [] : [name]));
      throw boardFault(
        'hardware/unsupported',
        `the simulated board knows no chip ${kind}; it knows ${known.join(', ')}`,
      );
    }
    const where = targetOf(bus, address);
    return twin.chip({
      signal: (name) => this.#context.signals.value(`${where}/${name}`),
      show: (values) => {
        for (const [key, value] of Object.entries(values))
          this.#context.record.add('shown', where, keys[key] ?? key, value);
      },
      monotonicMs: () => this.#context.clock.monotonicMs(),
      options,
    });
  }
}

/** `i2c-1:0x76`, as faults and the record name a chip. */
function targetOf(bus: number, address: number): string {
  return `i2c-${bus}:0x${address.toString(16).padStart(2, '0')}`;
}
