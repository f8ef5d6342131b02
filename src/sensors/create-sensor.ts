/** Opens a configured sensor by the driver of its kind, and gives it to the sampler as that wants it. */

import { createHash } from 'node:crypto';
import { conversionOf } from '../config/fields/conversion.ts';
import { Secret } from '../config/fields/secret.ts';
import { readingsOf } from '../config/keys/rule-parts.ts';
import { sensorKeys } from '../config/keys/sensor-keys.ts';
import type { AgentConfig, SensorConfig } from '../config/schema/agent-config.ts';
import { type AgentError, messageOf, systemCode } from '../errors/agent-error.ts';
import { definitionOf } from '../kinds/sensor-kinds.ts';
import { sendableKey } from '../platform/wire-values.ts';
import type { Conversions } from './conversion/sensor-conversion.ts';
import type { Reading, Refusal, Sensor } from './kind/sensor.ts';
import type { SensorDeps } from './kind/sensor-deps.ts';
import { sensorFault } from './kind/sensor-fault.ts';
import type { SamplerEntry } from './sampler.ts';

/** Values taken of one read whose keys nobody has configured: as many as the status shows. Ten times as many every few seconds fill the outbox. */
const MAX_UNNAMED_KEYS = 1_000;

/**
 * Loads the drivers of all kinds that are configured, of sensors that are off, too. Node reads a file that it loads while everything else waits,
 * so it is done before anything has a deadline, and while the disk is there. What cannot be loaded is its sensors' fault, who try again.
 */
export async function loadDrivers({ sensors }: Pick<AgentConfig, 'sensors'>): Promise<void> {
  const kinds = new Set(sensors.map(({ kind }) => kind));
  await Promise.allSettled([...kinds].map((kind) => definitionOf(kind).driver()));
}

/** @throws AgentError (retry): `sensors/no-driver` when the program's own file cannot be read; from the sensor's ports or the driver itself. */
export async function createSensor(config: SensorConfig, deps: SensorDeps, signal: AbortSignal): Promise<Sensor> {
  const driver = await definitionOf(config.kind)
    .driver()
    .catch((cause: unknown) => {
      const why = `the driver of ${config.kind} cannot be loaded (${systemCode(cause) ?? messageOf(cause)})`;
      throw sensorFault('no-driver', `${why}: the installed release or its disk is at fault`, cause);
    });
  const maxKeys = sensorKeys(config) === undefined ? MAX_UNNAMED_KEYS : Number.POSITIVE_INFINITY;
  return withSendableKeys(await driver.open(config, deps, signal), { keyOf: deps.keyOf ?? sendableKey, maxKeys });
}

/**
 * Keys may come from outside: of a line, a program, a user's own driver. From here on there are only so many, and each goes by the name under which
 * the platform keeps it, so that no screen, rule or log knows it by another.
 */
function withSendableKeys(
  sensor: Sensor,
  { keyOf, maxKeys }: { readonly keyOf: (key: string) => string; readonly maxKeys: number },
): Sensor {
  let leftOut: readonly Refusal[] = [];
  const named = (readings: readonly Reading[]): readonly Reading[] => {
    leftOut = readings
      .slice(maxKeys, maxKeys + 1)
      .map(({ key }) => ({ key, fault: tooManyKeys(readings.length - maxKeys) }));
    return readings.slice(0, maxKeys).map((reading) => {
      const key = keyOf(reading.key);
      return key === reading.key ? reading : { ...reading, key };
    });
  };
  const refusals = (): readonly Refusal[] => [...leftOut, ...(sensor.refused?.() ?? [])].slice(0, maxKeys);
  const { name, speaksByItself, subscribe } = sensor;
  return {
    name,
    ...(speaksByItself !== undefined && { speaksByItself }),
    read: async (signal) => named(await sensor.read(signal)),
    refused: () => refusals().map((refusal) => ({ ...refusal, key: keyOf(refusal.key) })),
    ...(subscribe !== undefined && {
      subscribe: (listener) => subscribe.call(sensor, (readings) => listener(named(readings))),
    }),
    close: () => sensor.close(),
  };
}

function tooManyKeys(leftOut: number): AgentError {
  const what = `this key and all after it are left out, ${leftOut} in all: at most ${MAX_UNNAMED_KEYS} are taken of one read`;
  return sensorFault('too-many-keys', `${what}; name those to read (paths, columns, blocks)`);
}

type Users = Pick<AgentConfig, 'rules' | 'actuators' | 'brokers'>;

/** A configured sensor as the sampler wants it. @param users what may act on its readings, and the brokers. @param code fingerprint of a driver of a user's own. */
export function samplerEntry(
  config: SensorConfig,
  deps: SensorDeps,
  users: Users = { rules: [], actuators: [] },
  code?: string,
): SamplerEntry {
  const {
    name,
    kind,
    periodMs,
    deadlineMs,
    givenDeadlineMs: _given,
    align,
    window,
    prefix: _prefix,
    keys,
    ...driver
  } = config;
  const broker = 'broker' in config ? users.brokers?.find((one) => one.name === config.broker) : undefined;
  return {
    name,
    kind,
    periodMs,
    deadlineMs,
    align,
    ...(window !== undefined && { window }),
    conversions: conversionsOf(keys),
    use: useOf(config, users),
    // A sensor is opened again only when something that concerns its driver has changed.
    revision: revisionOf({
      ...driver,
      code,
      ...(broker !== undefined && { settings: revisionOf(broker) }),
      ...(definitionOf(kind).keepsTimes === true && { periodMs, deadlineMs }),
    }),
    open: (signal) => createSensor(config, deps, signal),
  };
}

/** Text that differs when a driver's options do; another password is another option, though it shows as `[secret]`. */
function revisionOf(options: object): string {
  const secrets = Object.values(options).filter((value) => value instanceof Secret);
  return JSON.stringify([options, secrets.map((secret) => createHash('sha256').update(secret.reveal()).digest('hex'))]);
}

export function conversionsOf(keys: SensorConfig['keys']): Conversions {
  return Object.fromEntries(Object.entries(keys).map(([key, rules]) => [key, conversionOf(rules)]));
}

/** A new rule, or one whose actuator is another now, acts on the next reading; other report rules tell of it. */
function useOf(config: SensorConfig, { rules, actuators }: Users): unknown {
  const watching = rules.filter((rule) => readingsOf(rule).some(({ sensor }) => sensor === config.name));
  const moved = new Set(watching.map(({ set }) => set.actuator));
  return [config, watching, actuators.filter(({ name }) => moved.has(name))];
}
