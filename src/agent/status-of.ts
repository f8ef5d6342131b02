/** Puts together what the parts know of themselves. */
import type { ActuatorState } from '../actuators/actuator.ts';
import type { OutboxStatus } from '../outbox/outbox-status.ts';
import type { SensorState } from '../sensors/sensor-state.ts';
import type { ActuatorStatus, AgentStatus, OutboxSummary, SensorStatus } from '../status/agent-status.ts';

type Known = Omit<AgentStatus, 'alerts' | 'outbox' | 'sensors' | 'actuators'>;

export interface StatusSources {
  readonly known: Known;
  readonly outbox: OutboxStatus;
  readonly sensors: readonly SensorState[];
  readonly actuators: readonly (ActuatorState & { readonly kind: string })[];
  readonly alerts: readonly string[];
}

export function agentStatus({ known, outbox, sensors, actuators, alerts }: StatusSources): AgentStatus {
  const seen = { ...known, outbox: outboxSummary(outbox), sensors: sensors.map(sensorStatus), actuators: actuators.map(actuatorStatus) };
  return { ...seen, alerts: [...alerts, ...derivedAlerts(seen)] };
}

function outboxSummary(status: OutboxStatus): OutboxSummary {
  const { heldEntries, heldBytes, oldestMs, hoursThatFit, rejected, thinned, dropped, diskBytes, fault } = status;
  return {
    heldEntries,
    heldBytes,
    rejected,
    thinned,
    dropped,
    writtenBytes: diskBytes,
    ...(oldestMs === undefined ? {} : { oldestTs: oldestMs }),
    ...(hoursThatFit === undefined ? {} : { hoursThatFit }),
    ...(fault === undefined ? {} : { fault }),
  };
}

function sensorStatus(state: SensorState): SensorStatus {
  return {
    name: state.name,
    kind: state.kind,
    state: state.state === 'working' ? 'ok' : state.state,
    ...(state.error === undefined ? {} : { fault: state.error.message }),
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
  const stuck = actuators.filter(({ fault }) => fault !== undefined);
  return [
    ...(outbox.fault === undefined
      ? []
      : [`the disk does not take readings (${outbox.fault}); they are kept in memory, as far as it goes`]),
    ...(connection.state === 'held' && connection.reason !== undefined ? [connection.reason] : []),
    ...(timeSynchronised ? [] : ['the clock is not synchronised; readings wait until their time is known']),
    ...failing.map(({ name, fault }) => `sensor ${name} fails: ${fault ?? 'no reason given'}`),
    ...stuck.map(({ name, fault }) => `actuator ${name}: ${fault}`),
  ];
}
