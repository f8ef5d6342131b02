/** Twin of a sensor on the simulated board, from each kind's own file `sensors/<kind>/twin.ts`. */
import type { BoardConfigInput, SerialTalkConfigInput } from './board-config.ts';
import type { SignalConfigInput } from './signals.ts';
import type { ChipContext, SimulatedChip } from './simulated-chip.ts';

export type OneWireInput = NonNullable<BoardConfigInput['oneWire']>[number];

/** Part of a board for one configured sensor. */
export interface Fitting {
  /** Signals of a chip, by the names that it asks for; without them those of a room. */
  readonly signals?: Readonly<Record<string, SignalConfigInput>>;
  /** Options of a chip: `shuntOhms`, `registers`. */
  readonly options?: Readonly<Record<string, unknown>>;
  /** Signal of a GPIO line, other than pulses. */
  readonly line?: SignalConfigInput;
  /** Device at the far end of a serial line. */
  readonly talk?: SerialTalkConfigInput;
  readonly oneWire?: OneWireInput;
}

export interface Twin {
  /** The chip, for kinds that hang on an I2C bus. */
  chip?(context: ChipContext): SimulatedChip;
  /** Where the sample board has one. */
  readonly sample?: { readonly address: number; readonly signals?: Readonly<Record<string, SignalConfigInput>> };
  /** @param keys that the sensor gives, where its configuration says it. */
  fitting?(config: never, keys: readonly string[]): Fitting;
}

/** By kind. */
export type Twins = ReadonlyMap<string, Twin>;
