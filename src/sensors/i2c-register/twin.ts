/** Any chip by a table: registers that hold what the sensor's own table says. */
import { ANY_SIGNAL } from '../../stand-ins/simulated-board/room-signals.ts';
import type { Twin } from '../../stand-ins/simulated-board/twin.ts';
import { type ChipContext, RegisterChip } from '../../stand-ins/simulated-board/twin.ts';
import type { I2cRegisterConfig } from './definition.ts';

export const twin: Twin = {
  chip: (context) => new TableChip(context),
  fitting: ({ registers }: I2cRegisterConfig) => ({
    signals: Object.fromEntries(Object.keys(registers).map((key) => [key, ANY_SIGNAL])),
    options: { registers },
  }),
};

interface TableField {
  readonly register: number;
  readonly width: number;
  readonly byteOrder?: 'big' | 'little';
  readonly shift?: number;
  readonly scale?: number;
  readonly offset?: number;
}

/** Registers after a sensor's own table (`options.registers`): each holds its signal in the scale and byte order that the table says. */
class TableChip extends RegisterChip {
  readonly #context: ChipContext;
  readonly #fields: readonly (readonly [string, TableField])[];

  constructor(context: ChipContext) {
    super();
    this.#context = context;
    this.#fields = Object.entries((context.options.registers ?? {}) as Readonly<Record<string, TableField>>);
  }

  protected override beforeRead(register: number, length: number): void {
    for (const [key, field] of this.#fields) {
      const { width, scale = 1, offset = 0, shift = 0, byteOrder = 'big' } = field;
      if (register !== field.register || length !== width) continue;
      const raw = Math.round((this.#context.signal(key) - offset) / scale);
      const bytes = Buffer.alloc(8);
      bytes.writeBigInt64BE(BigInt.asIntN(64, BigInt(raw) << BigInt(shift)));
      const kept = bytes.subarray(8 - width);
      this.registers.set(byteOrder === 'big' ? kept : Buffer.from(kept).reverse(), register);
      this.#context.show({ [key]: Number((raw * scale + offset).toPrecision(12)) });
    }
  }
}
