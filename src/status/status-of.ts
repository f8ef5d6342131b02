/** Puts together what the parts know of themselves. */
import type { ActuatorState } from '../actuators/actuator.ts';
import type { OutboxStatus } from '../outbox/outbox.ts';
import type { SensorState } from '../sensors/sensor-state.ts';
import type { ActuatorStatus, AdaptedSummary, AgentStatus, OutboxSummary, SensorStatus } from './agent-status.ts';

type Known = Omit<AgentStatus, 'alerts' | 'outbox' | 'adapted' | 'sensors' | 'actuators'>;

export interface StatusSources {
  readonly known: Known;
  readonly outbox: OutboxStatus;
  readonly adapted: AdaptedSummary;
  readonly sensors: readonly SensorState[];
  readonly actuators: readonly (ActuatorState & { readonly kind: string })[];
  readonly alerts: readonly string[];
}

export function agentStatus({ known, outbox, adapted, sensors, actuators, alerts }: StatusSources): AgentStatus {
  const seen = {
    ...known,
    outbox: outboxSummary(outbox),
    adapted,
    sensors: sensors.map(sensorStatus),
    actuators: actuators.map(actuatorStatus),
  };
  return { ...seen, alerts: [...alerts, ...derivedAlerts(seen)] };
}

function outboxSummary(status: OutboxStatus): OutboxSummary {
  const { heldEntries, heldBytes, oldestMs, hoursThatFit, rejected, thinned, dropped, diskBytes, fault, missingBytes } = status;
  const { damaged, lastLost, unreadSegments, hangingReadMs, untimedEntries } = status;
  return {
    heldEntries,
    heldBytes,
    rejected,
    thinned,
    dropped,
    damaged,
    ...(lastLost === undefined ? {} : { lastLost }),
    writtenBytes: diskBytes,
    ...(oldestMs === undefined ? {} : { oldestTs: oldestMs }),
    ...(hoursThatFit === undefined ? {} : { hoursThatFit }),
    ...(fault === undefined ? {} : { fault }),
    ...(missingBytes === undefined ? {} : { missingBytes }),
    ...(unreadSegments === undefined ? {} : { unreadSegments }),
    ...(untimedEntries === undefined ? {} : { untimedEntries }),
    ...(hangingReadMs === undefined ? {} : { hangingReadMs }),
  };
}

function sensorStatus(state: SensorState): SensorStatus {
  const fault = state.error?.message ?? state.refused.map(({ key, message }) => `no ${key}: ${message}`).join('; ');
  return {
    name: state.name,
    kind: state.kind,
    state: state.state === 'working' ? 'ok' : state.state,
    ...(fault === '' ? {} : { fault }),
    readings: state.readings.map(({ key, value, unit, monotonicMs }) => ({
      key,
      value,
      ...(unit === undefined ? {} : { unit }),
      atMs: monotonicMs,
    })),
  };
}

function actuatorStatus({ name, kind, value, fault }: StatusSources['actuators'][number]): ActuatorStatus {
  return { name, kind, value: value ?? null, ...(fault === undefined ? {} : { fault }) };
}

/** What is wrong, in words, beside the alerts that the parts raised themselves. */
function derivedAlerts(status: Pick<AgentStatus, 'connection' | 'outbox' | 'sensors' | 'actuators' | 'timeSynchronised'>): string[] {
  const { connection, outbox, sensors, actuators, timeSynchronised } = status;
  const failing = sensors.filter(({ state }) => state === 'failing');
  const partly = sensors.filter(({ state, fault }) => state !== 'failing' && fault !== undefined);
  const stuck = actuators.filter(({ fault }) => fault !== undefined);
  return [
    ...(outbox.fault === undefined
      ? []
      : [`the disk does not take readings (${outbox.fault}); they are kept in memory, as far as it goes`]),
    ...(outbox.unreadSegments === undefined
      ? []
      : ['the disk does not give back part of what waits for delivery, which is tried again; the rest is sent']),
    ...(outbox.hangingReadMs === undefined
      ? []
      : [
          `the disk has not come back from a read for ${minutesOf(outbox.hangingReadMs)} min; what is stored waits, new readings are stored`,
        ]),
    ...(outbox.missingBytes === undefined
      ? []
      : ['the disk has less free space than outbox.minFree; the outbox does not grow, and gives up readings as outbox.whenFull says']),
    ...(outbox.untimedEntries === undefined
      ? []
      : [
          `${outbox.untimedEntries} readings of earlier starts wait for their time: the clock was not right then, and what is known leaves too much room; outbox.timeUncertain: send sends them marked, outbox.maxAge drops them`,
        ]),
    ...(connection.state === 'held' && connection.reason !== undefined ? [connection.reason] : []),
    ...(timeSynchronised ? [] : ['the clock is not synchronised; readings wait until their time is known']),
    ...failing.map(({ name, fault }) => `sensor ${name} fails: ${fault ?? 'no reason given'}`),
    ...partly.map(({ name, fault }) => `sensor ${name} gives ${fault}`),
    ...stuck.map(({ name, fault }) => `actuator ${name}: ${fault}`),
  ];
}

function minutesOf(ms: number): number {
  return Math.floor(ms / 60_000);
}
