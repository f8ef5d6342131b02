/**
 * Definition of a kind of sensor: the fields of its section, the keys it gives, how a scan recognises it, what a first configuration
 * proposes. All kinds' definitions are loaded at every start, so that they hold no more than that; driver and twin are named here and loaded
 * when a configuration, or a simulated board, has one of the kind.
 */
import { z } from 'zod';
import type { ConfigPath } from '../../config/fields/config-fault.ts';
import { section } from '../../config/fields/fields.ts';
import type { Finding, Placed } from '../../config/fields/findings.ts';
import { lazySection } from '../../config/fields/lazy-section.ts';
import { type Deadline, sensorFields } from '../../config/fields/sensor-fields.ts';
import type { I2cBus } from '../../hardware/i2c-port.ts';
import type { Twin } from '../../stand-ins/simulated-board/twin.ts';
import type { JsonObject } from '../../values/json.ts';
import type { Sensor } from './sensor.ts';
import type { SensorDeps } from './sensor-deps.ts';

export type ValueType = 'boolean' | 'number' | 'string';

/** The configuration of a kind, by the schema of its section. */
export type ConfigOf<S extends z.ZodType> = z.infer<S> & Deadline;

/** How `scan i2c` recognises a chip. */
export interface ChipScan {
  /** Those that its address pins allow. */
  readonly addresses: readonly number[];
  /** An identity register says so; otherwise defaults or the address alone do. */
  readonly isCertain: boolean;
  /** Rank among several kinds that an address may be, the lowest is asked for first: 1 for an identity register, 9 for the address alone. */
  readonly turn: number;
  /** It does not acknowledge being read while it has nothing to give: `looksLike` tells whether it is there. */
  readonly isSilent?: boolean;
  /** Only reads, and only of registers that the chip has. */
  looksLike(bus: I2cBus, address: number, signal: AbortSignal): Promise<boolean>;
  /** Options beside bus and address, for a first configuration. @param next numbers a name that is taken: `analog`, `analog2`. */
  options?(next: (name: string) => string): JsonObject;
}

/** How to get what a sensor is read through, where the machine does not have it. */
export interface NeededDevice {
  readonly path: string;
  /** Remedy when it is not there. */
  readonly enable: string;
}

// Methods instead of functions, so that a definition of one kind stands among those of all.
export interface SensorDefinition<S extends z.ZodType = z.ZodType, C = ConfigOf<S>> {
  readonly kind: string;
  readonly schema: S;
  /** Loads the driver. What it opened before it fails it closes again. @throws AgentError (retry), after which it is tried again. */
  driver(): Promise<{ open(config: C, deps: SensorDeps, signal: AbortSignal): Promise<Sensor> }>;
  /** Loads what the simulated board has in the sensor's place. */
  twin?(): Promise<{ readonly twin: Twin }>;

  /** The driver's own keys and their units, null without one, where they are the same whatever the configuration. */
  readonly units?: Readonly<Record<string, string | null>>;
  /** Decimal places that the chip's resolution gives, by key; `init` proposes to round to them, as each digit beyond is a byte of noise. */
  readonly digits?: Readonly<Record<string, number>>;
  /** The driver's own keys where they hang on the configuration; undefined when only the sensor knows them. */
  keys?(config: C): readonly string[] | undefined;
  /** Type of one of the keys, when it is not always a number; undefined when only the sensor knows. */
  valueType?(config: C, key: string): ValueType | undefined;
  /** Its values come as text, of which it makes numbers by itself. */
  readonly givesText?: boolean;
  /** Keys of texts that may be digits alone, such as serial numbers. */
  digitTexts?(config: C): readonly string[];
  /** Which of its keys it gives differs from machine to machine, so that another sensor may give them too. */
  readonly keysVary?: boolean;

  /** How long the chip converts by these settings, as its sheet has it: no read can take less. */
  minReadMs?(config: C): number;
  /** How long a read may have to wait for something else; the default deadline leaves time for it. */
  waitMs?(config: C): number;
  /** Its values come when something happens, and not with its period. */
  reportsByEvent?(config: C): boolean;
  /** Its driver waits by itself, for as long as it was told when it was opened. */
  readonly keepsTimes?: boolean;

  /** Options that contradict each other, by the path of the sensor's section. */
  faults?(config: C, path: ConfigPath): Finding[];
  /** Finds options that several of the kind cannot have together. */
  faultsAmong?(sensors: readonly Placed<C>[]): Finding[];
  /** A file of a user's own that it runs. */
  userCode?(config: C): string;

  readonly scan?: ChipScan;
  /** The family code of its one-wire ids: `28`. */
  readonly oneWireFamily?: string;
  /** Section for a first configuration of a kind that every machine has. */
  readonly everywhere?: string;
  /** Options with which it is told by what it sends through a serial port by itself, at whatever speed. */
  readonly onSerialPort?: Readonly<Record<string, string>>;
  /** Speeds at which it is asked on a silent serial port, one after the other. */
  readonly asked?: readonly { readonly baudRate: number }[];

  /** Remedy when it does not answer, where its bus, line or port does not say enough. */
  remedy?(config: C): string;
  readonly device?: NeededDevice;
}

/** The section of a kind: what every sensor has, and its own fields. */
export function sensorSection<const K extends string, F extends z.core.$ZodShape>(kind: K, fields: () => F) {
  return lazySection(kind, () => section({ ...sensorFields, kind: z.literal(kind), ...fields() }));
}

/** A definition as it is written; its kind is that of its section. */
export function defineSensor<S extends z.ZodType & { readonly kind: string }>(
  definition: Omit<SensorDefinition<S>, 'kind'>,
): SensorDefinition<S> & { readonly kind: S['kind'] } {
  return { ...definition, kind: definition.schema.kind };
}

/** Addresses from the first to the last. */
export function addresses(first: number, last = first): readonly number[] {
  return Array.from({ length: last - first + 1 }, (_, at) => first + at);
}
