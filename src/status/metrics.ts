/**
 * The numbers an operator scrapes, with conventional names and base units. One list behind `/metrics` and the telemetry keys.
 * https://prometheus.io/docs/practices/naming/
 */

import type { UploadTimesStatus } from '../telemetry/upload-times.ts';
import type { AdaptedSummary, AgentStatus } from './agent-status.ts';
import type { StatusView } from './status-view.ts';

export interface Metric {
  readonly name: string;
  readonly help: string;
  readonly type: 'gauge' | 'counter' | 'histogram';
  readonly samples: readonly MetricSample[];
  /** False for what telemetry has already, or cannot use. */
  readonly inTelemetry?: false;
}

export interface MetricSample {
  /** `_bucket`, `_sum` or `_count` of a histogram. */
  readonly suffix?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface MetricSources {
  readonly status: AgentStatus;
  readonly view: StatusView;
  readonly uploads: UploadTimesStatus;
  readonly process: { readonly residentBytes: number; readonly heapUsedBytes: number; readonly cpuSeconds: number };
  readonly openPages: number;
}

const CONNECTION_STATES: readonly AgentStatus['connection']['state'][] = ['idle', 'sending', 'backing-off', 'held'];

export function metricsOf(sources: MetricSources): readonly Metric[] {
  const { status, view, uploads, process } = sources;
  const { adapted, connection, outbox } = status;
  const ageSeconds = (atMs: number): number => Math.max(0, (status.nowMs - atMs) / 1000);
  return [
    { ...gauge('turnstone_build_info', 'Always 1; the version is a label.', 1, { version: status.version }), inTelemetry: false },
    gauge('turnstone_uptime_seconds', 'How long the agent runs.', ageSeconds(status.startedAtMs)),
    gauge('turnstone_clock_synchronised', 'Whether the wall clock can be trusted.', Number(status.timeSynchronised)),
    gauge('turnstone_alerts', 'Things a person should know of.', status.alerts.length),
    gauge('turnstone_locked_out', 'Whether remote control is locked out at the device.', Number(status.lockedOut)),
    gauge('turnstone_outbox_held_entries', 'Entries that wait for delivery.', outbox.heldEntries),
    gauge('turnstone_outbox_held_bytes', 'Size of what waits for delivery.', outbox.heldBytes),
    {
      ...gauge('turnstone_outbox_lane_entries', 'Entries that wait, by lane.'),
      samples: Object.entries(view.outbox.lanes).map(([lane, value]) => ({ labels: { lane }, value })),
    },
    ...optional(outbox.oldestTs, (ts) =>
      gauge('turnstone_outbox_oldest_timestamp_seconds', 'When the oldest waiting entry was taken.', ts / 1000),
    ),
    ...optional(outbox.hoursThatFit, (hours) =>
      gauge('turnstone_outbox_room_seconds', 'How long an outage may last before an entry is thinned or dropped.', hours * 3600),
    ),
    gauge('turnstone_outbox_fault', 'Whether the disk refuses entries.', Number(outbox.fault !== undefined)),
    counter('turnstone_outbox_rejected_entries_total', 'Entries that the platform refused.', outbox.rejected),
    counter('turnstone_outbox_thinned_entries_total', 'Entries that gave way to others of their key.', outbox.thinned),
    counter('turnstone_outbox_dropped_entries_total', 'Entries that gave way undelivered.', outbox.dropped),
    counter('turnstone_outbox_damaged_entries_total', 'Entries that damage on the disk took.', outbox.damaged),
    ...(adapted === undefined ? [] : adaptedEntries(adapted)),
    counter('turnstone_outbox_written_bytes_total', 'Bytes written to the disk for the outbox.', outbox.writtenBytes),
    {
      ...gauge('turnstone_connection_state', 'One of these is 1.'),
      samples: CONNECTION_STATES.map((state) => ({ labels: { state }, value: Number(state === connection.state) })),
    },
    ...optional(connection.lastAcknowledgedAtMs, (atMs) =>
      gauge('turnstone_upload_last_acknowledged_age_seconds', 'Since the platform acknowledged something.', ageSeconds(atMs)),
    ),
    gauge('turnstone_upload_failures', 'Failed uploads since the last that did not.', connection.failures),
    counter('turnstone_upload_acknowledged_entries_total', 'Entries that the platform has.', connection.acknowledgedEntries),
    counter('turnstone_http_sent_bytes_total', 'Bytes sent to the platform.', connection.sentBytes),
    counter('turnstone_http_received_bytes_total', 'Bytes received from the platform.', connection.receivedBytes),
    gauge('turnstone_http_sent_today_bytes', 'Bytes sent in this UTC day, against the daily budget.', connection.sentTodayBytes),
    uploadDurations(uploads),
    {
      ...counter('turnstone_uploads_total', 'Uploads by how they ended.'),
      samples: Object.entries(uploads.outcomes).map(([outcome, value]) => ({ labels: { outcome }, value })),
    },
    {
      ...gauge('turnstone_sensor_up', 'Whether the sensor gives readings.'),
      samples: status.sensors.map(({ name, kind, state }) => ({ labels: { sensor: name, kind }, value: Number(state === 'ok') })),
      inTelemetry: false,
    },
    {
      ...gauge('turnstone_reading', 'The last reading of each key that is a number or a switch.'),
      samples: view.sensors.flatMap(({ name, readings }) =>
        readings.flatMap(({ key, value, unit = '' }) =>
          typeof value === 'number' || typeof value === 'boolean' ? [{ labels: { sensor: name, key, unit }, value: Number(value) }] : [],
        ),
      ),
      inTelemetry: false,
    },
    {
      ...gauge('turnstone_actuator_up', 'Whether the actuator can be moved.'),
      samples: status.actuators.map(({ name, fault }) => ({ labels: { actuator: name }, value: Number(fault === undefined) })),
      inTelemetry: false,
    },
    gauge('turnstone_status_pages', 'Status pages that are open.', sources.openPages),
    gauge('process_resident_memory_bytes', 'Resident memory.', process.residentBytes),
    gauge('nodejs_heap_size_used_bytes', 'Heap in use.', process.heapUsedBytes),
    counter('process_cpu_seconds_total', 'User and system time of the process.', process.cpuSeconds),
  ];
}

function gauge(name: string, help: string, value?: number, labels?: Readonly<Record<string, string>>): Metric {
  return { name, help, type: 'gauge', samples: value === undefined ? [] : [{ value, ...(labels === undefined ? {} : { labels }) }] };
}

function counter(name: string, help: string, value?: number): Metric {
  return { ...gauge(name, help, value), type: 'counter' };
}

function optional(value: number | undefined, metric: (value: number) => Metric): Metric[] {
  return value === undefined ? [] : [metric(value)];
}

function adaptedEntries({ renamed, retimed, asText }: AdaptedSummary): Metric[] {
  return [
    counter('turnstone_telemetry_renamed_entries_total', 'Entries whose key the platform would have lost, under another.', renamed),
    counter('turnstone_telemetry_retimed_entries_total', 'Entries whose source gave a time that cannot be.', retimed),
    counter('turnstone_telemetry_text_entries_total', 'Numbers that the platform can only keep as text.', asText),
  ];
}

function uploadDurations({ buckets, sumSeconds, count }: UploadTimesStatus): Metric {
  return {
    name: 'turnstone_upload_duration_seconds',
    help: 'How long uploads take.',
    type: 'histogram',
    inTelemetry: false,
    samples: [
      ...buckets.map(([bound, value]) => ({ suffix: '_bucket', labels: { le: String(bound) }, value })),
      { suffix: '_bucket', labels: { le: '+Inf' }, value: count },
      { suffix: '_sum', value: sumSeconds },
      { suffix: '_count', value: count },
    ],
  };
}
