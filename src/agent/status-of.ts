/** Puts together what the parts know of themselves. */

import type { OutboxStatus } from '../outbox/outbox-status.ts';
import type { SensorState } from '../sensors/sampled-sensor.ts';
import type { AgentStatus, ConnectionStatus, OutboxSummary, SensorStatus } from '../status/agent-status.ts';
import type { UploadState } from '../telemetry/uploader.ts';

export function connectionStatus(
  upload: UploadState,
  traffic: { readonly sentBytes: number; readonly receivedBytes: number },
  budget: { readonly sentTodayBytes: number; readonly dailyBudgetBytes?: number },
): ConnectionStatus {
  return { ...upload, ...traffic, ...budget };
}

export function outboxSummary(status: OutboxStatus): OutboxSummary {
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

export function sensorStatus(state: SensorState): SensorStatus {
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

/** What is wrong, in words, beside the alerts that the parts raised themselves. */
export function derivedAlerts(status: Pick<AgentStatus, 'connection' | 'outbox' | 'sensors' | 'timeSynchronised'>): string[] {
  const { connection, outbox, sensors, timeSynchronised } = status;
  const failing = sensors
    .filter(({ state }) => state === 'failing')
    .map(({ name, fault }) => `sensor ${name} fails: ${fault ?? 'no reason given'}`);
  return [
    ...(outbox.fault === undefined
      ? []
      : [`the disk does not take readings (${outbox.fault}); they are kept in memory, as far as it goes`]),
    ...(connection.state === 'held' && connection.reason !== undefined ? [connection.reason] : []),
    ...(timeSynchronised ? [] : ['the clock is not synchronised; readings wait until their time is known']),
    ...failing,
  ];
}
