/**
 * Declaration of a kind of actuator: the fields of its section, what is special about its values, what is wrong with what is written.
 * All kinds' definitions are loaded at every start, so that they hold no more than that; drivers are named here and loaded when a
 * configuration has one of the kind. Every rule about movements lies above the kinds.
 */
import { z } from 'zod';
import { actuatorFields } from '../../config/fields/actuator-fields.ts';
import type { GpioLineConfig } from '../../config/fields/addresses.ts';
import type { ConfigPath } from '../../config/fields/config-fault.ts';
import { section } from '../../config/fields/fields.ts';
import type { Finding, Placed } from '../../config/fields/findings.ts';
import { lazySection } from '../../config/fields/lazy-section.ts';
import type { BrokerOf } from '../../hardware/mqtt-port.ts';
import type { Ports } from '../../hardware/ports.ts';
import type { Log } from '../../host/log.ts';
import type { HostMachine } from '../../host/machine.ts';
import type { ActuatorDriver, ActuatorSettings } from './actuator.ts';

/** The configuration of a kind, by the schema of its section; both keys are given, or follow from the name. */
export type ConfigOf<S extends z.ZodType> = z.infer<S> & { readonly desiredKey: string; readonly stateKey: string };

/** Fields that others look at, under the same names in each kind that has them. */
export interface Places {
  readonly kind: string;
  readonly line?: GpioLineConfig;
  readonly port?: string;
  readonly chip?: number | string;
  readonly channel?: number;
  readonly arguments?: readonly string[];
}

export interface DriverDeps extends Pick<HostMachine, 'clock' | 'runProgram'> {
  readonly ports: Ports;
  /** Broker of a name. */
  readonly brokerOf?: BrokerOf | undefined;
  /** None in what sets safe states after a stop. */
  readonly log?: Log;
}

/** Takes the hardware without moving it. @throws AgentError `hardware/…` as the port does. */
export type OpenDriver = (signal: AbortSignal) => Promise<ActuatorDriver>;

// Methods instead of functions, so that a definition of one kind stands among those of all.
export interface ActuatorDefinition<S extends z.ZodType = z.ZodType, C = ConfigOf<S>> {
  readonly kind: string;
  readonly schema: S;
  /** Loads the driver. An actuator has one opener, which is called again when its hardware has to be opened anew. */
  driver(): Promise<{ opener(config: C, deps: DriverDeps): OpenDriver }>;

  valueType(config: C): ActuatorSettings['valueType'];
  /** The texts that it takes; undefined for any, and for what takes no texts. */
  texts?(config: C): readonly string[] | undefined;
  /** The numbers that the hardware takes, whatever the limits say; default: any. */
  range?(config: C): readonly [number, number] | undefined;
  /** True for a number that the hardware has room for, where the range alone does not say it. */
  holds?(config: C, value: number): boolean;
  /** The number that the hardware makes of one, where it rounds. */
  nearest?(config: C, value: number): number;
  /** The longest pulse anyone may ask for; undefined for one without pulses, as is a kind without it. */
  maxPulseMs?(config: C): number | undefined;
  /** True when the hardware can be asked what it does. */
  isReadable(config: C): boolean;
  /** True where a command that was taken is proven by nobody; default: what takes it moves. */
  isUnproven?(config: C): boolean;
  /** Time between two questions of what the hardware shows, where somebody at the device may change it; default: after movements alone. */
  readEveryMs?(config: C): number | undefined;
  /** Time after which what is in force is written again, for hardware that forgets it; default: never. */
  repeatEveryMs?(config: C): number | undefined;
  /** For one movement, where the usual time may not be enough. */
  deadlineMs?(config: C, usualMs: number): number;
  /** True when setting a value twice is the same as once. */
  readonly isIdempotent: boolean;
  /** True when it stays as it is while this board has no power. */
  readonly hasOwnSupply: boolean;

  /** Options that contradict each other, by the path of the actuator's section. */
  faults?(config: C, path: ConfigPath): Finding[];
  /** Finds what several of the kind cannot have together. */
  faultsAmong?(actuators: readonly Placed<C>[]): Finding[];
}

/** The section of a kind: what every actuator has, and its own fields. */
export function actuatorSection<const K extends string, F extends z.core.$ZodShape>(kind: K, fields: () => F) {
  return lazySection(kind, () => section({ ...actuatorFields, kind: z.literal(kind), ...fields() }));
}

/** A definition as it is written; its kind is that of its section. */
export function defineActuator<S extends z.ZodType & { readonly kind: string }>(
  definition: Omit<ActuatorDefinition<S>, 'kind'>,
): ActuatorDefinition<S> & { readonly kind: S['kind'] } {
  return { ...definition, kind: definition.schema.kind };
}
