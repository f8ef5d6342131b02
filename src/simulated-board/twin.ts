/** What the simulated board has in a sensor's place: each kind's own file `sensors/<kind>/twin.ts` says it. */
import type { BoardConfigInput, SerialTalkConfigInput } from './board-config.ts';
import type { SignalConfigInput } from './signals.ts';
import type { ChipContext, SimulatedChip } from './simulated-chip.ts';

export type OneWireInput = NonNullable<BoardConfigInput['oneWire']>[number];

/** Of a board for one configured sensor. */
export interface Fitting {
  /** Of a chip, by the names that it asks for; without them what a room shows. */
  readonly signals?: Readonly<Record<string, SignalConfigInput>>;
  /** What a chip is told besides: `shuntOhms`, `registers`. */
  readonly options?: Readonly<Record<string, unknown>>;
  /** Of a GPIO line, other than pulses. */
  readonly line?: SignalConfigInput;
  /** What sits at the far end of a serial line. */
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
