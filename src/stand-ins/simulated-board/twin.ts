/** Twin of a sensor on the simulated board, from each kind's own file `sensors/<kind>/twin.ts`, and the chips that twins are made of. */
import type { BoardConfigInput, SerialTalkConfigInput } from './board-config.ts';
import type { SignalConfigInput } from './signals.ts';

export type HttpInput = NonNullable<BoardConfigInput['http']>[number];
export type KernelInput = NonNullable<BoardConfigInput['kernel']>[number];
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
  readonly http?: HttpInput;
  readonly kernel?: KernelInput;
  /** Holding registers of a Modbus unit, by address. */
  readonly holding?: Readonly<Record<string, SignalConfigInput>>;
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

export interface SimulatedChip {
  /** One write transaction, without the address. Throws nothing: a chip that does not understand acknowledges all the same. */
  receive(bytes: Uint8Array): void;
  /** One read transaction, from where the write before left the chip; undefined when it does not acknowledge. */
  send(length: number): Uint8Array | undefined;
}

/** Board as a chip sees it. */
export interface ChipContext {
  /** The value of one of its signals now, in its physical unit. */
  readonly signal: (name: string) => number;
  /** To be called when registers that mean these values have left the chip: what the agent must now report. */
  readonly show: (values: Readonly<Record<string, number>>) => void;
  readonly monotonicMs: () => number;
  readonly options: Readonly<Record<string, unknown>>;
}

/** Most chips: the first byte written is a register's number, which then counts up with every byte. */
export abstract class RegisterChip implements SimulatedChip {
  protected readonly registers = new Uint8Array(256);
  #pointer = 0;

  receive(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    this.#pointer = bytes[0] ?? 0;
    this.writeAll(this.#pointer, bytes.subarray(1));
  }

  send(length: number): Uint8Array {
    this.beforeRead(this.#pointer, length);
    const sent = Uint8Array.from({ length }, (_, at) => this.registers[(this.#pointer + at) & 0xff] ?? 0);
    this.#pointer = (this.#pointer + length) & 0xff;
    return sent;
  }

  /** Writes the bytes that follow the register's number; chips that do not count up with writes override it. */
  protected writeAll(register: number, bytes: Uint8Array): void {
    for (const [at, byte] of bytes.entries()) this.write((register + at) & 0xff, byte);
  }

  /** A register was written; chips with side effects override it. */
  protected write(register: number, byte: number): void {
    this.registers[register] = byte;
  }

  /** Registers are about to be read. */
  protected abstract beforeRead(register: number, length: number): void;
}

/** Chips with 16-bit registers behind an 8-bit pointer, most significant byte first: the pointer stays, reads repeat the register. */
export abstract class WordChip implements SimulatedChip {
  protected readonly words = new Uint16Array(256);
  #pointer = 0;

  receive(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    this.#pointer = bytes[0] ?? 0;
    // A register of one byte is the upper half of a word here.
    if (bytes.length >= 2) this.write(this.#pointer, ((bytes[1] ?? 0) << 8) | (bytes[2] ?? 0));
  }

  send(length: number): Uint8Array {
    this.beforeRead(this.#pointer);
    const word = this.words[this.#pointer] ?? 0;
    return Uint8Array.from({ length }, (_, at) => (at % 2 === 0 ? word >> 8 : word & 0xff));
  }

  protected write(register: number, word: number): void {
    this.words[register] = word;
  }

  protected abstract beforeRead(register: number): void;
}
