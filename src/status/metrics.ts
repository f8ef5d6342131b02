/**
 * The numbers an operator scrapes, with conventional names and base units. One list behind `/metrics` and the telemetry keys.
 * https://prometheus.io/docs/practices/naming/
 */
import { CONTACT_STATES } from '../platform/contact.ts';
import type { UploadTimesStatus } from '../telemetry/upload-times.ts';
import type { AgentStatus } from './shape/agent-status.ts';
import { type DeviceStatus, deviceVerdict } from './shape/device-status.ts';
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
  /** Attached devices, all of them and always in one order, so that each keeps its label. */
  readonly devices?: readonly DeviceStatus[] | undefined;
}

/** Row of the table. Each of several samples has its label; without a value there is nothing of the kind now. */
type Row = readonly [
  name: string,
  type: Metric['type'],
  help: string,
  value: number | undefined | readonly MetricSample[],
];

const UPLOAD_STATES: readonly AgentStatus['connection']['state'][] = ['idle', 'sending', 'backing-off', 'held'];
/** Metrics that telemetry has already, or cannot use. */
const NOT_IN_TELEMETRY: ReadonlySet<string> = new Set(
  [
    'build_info',
    'upload_duration_seconds',
    'sensor_up',
    'reading',
    'actuator_up',
    'device_up',
    'device_held_entries',
    'device_accepted_entries_total',
  ].map((name) => `turnstone_${name}`),
);

export function metricsOf(sources: MetricSources): readonly Metric[] {
  return tableOf(sources).map(([name, type, help, value = []]) => ({
    name,
    help,
    type,
    samples: typeof value === 'number' ? [{ value }] : value,
    ...(NOT_IN_TELEMETRY.has(name) && { inTelemetry: false }),
  }));
}

function tableOf({ status, view, uploads, process, openPages, devices = [] }: MetricSources): readonly Row[] {
  const { version, nowMs, adapted, platform, connection, outbox, sensors, actuators } = status;
  const link = status.link.features;
  const { renamed, retimed, asText } = adapted;
  const contacts = CONTACT_STATES.map((state) => ({ labels: { state }, value: Number(state === platform.state) }));
  const states = UPLOAD_STATES.map((state) => ({ labels: { state }, value: Number(state === connection.state) }));
  const sensorsUp = sensors.map(({ name, kind, state }) => ({
    labels: { sensor: name, kind },
    value: Number(state === 'ok'),
  }));
  const actuatorsUp = actuators.map(({ name, fault }) => ({
    labels: { actuator: name },
    value: Number(fault === undefined),
  }));
  const oldestSeconds = outbox.oldestTs && outbox.oldestTs / 1000;
  const roomSeconds = outbox.hoursThatFit && outbox.hoursThatFit * 3600;
  const ageSeconds = (atMs: number | undefined) =>
    atMs === undefined ? undefined : Math.max(0, (nowMs - atMs) / 1000);
  return [
    ['turnstone_build_info', 'gauge', 'Always 1; the version is a label.', [{ labels: { version }, value: 1 }]],
    ['turnstone_uptime_seconds', 'gauge', 'How long the agent runs.', ageSeconds(status.startedAtMs)],
    [
      'turnstone_clock_synchronised',
      'gauge',
      'Whether the wall clock can be trusted.',
      Number(status.timeSynchronised),
    ],
    ['turnstone_alerts', 'gauge', 'Things a person should know of.', status.alerts.length],
    ['turnstone_locked_out', 'gauge', 'Whether remote control is locked out at the device.', Number(status.lockedOut)],
    ['turnstone_outbox_held_entries', 'gauge', 'Entries that wait for delivery.', outbox.heldEntries],
    ['turnstone_outbox_held_bytes', 'gauge', 'Size of what waits for delivery.', outbox.heldBytes],
    ['turnstone_outbox_lane_entries', 'gauge', 'Entries that wait, by lane.', byLabel('lane', view.outbox.lanes)],
    ['turnstone_outbox_oldest_timestamp_seconds', 'gauge', 'When the oldest waiting entry was taken.', oldestSeconds],
    [
      'turnstone_outbox_room_seconds',
      'gauge',
      'How long an outage may last before an entry is thinned or dropped.',
      roomSeconds,
    ],
    ['turnstone_outbox_fault', 'gauge', 'Whether the disk refuses entries.', Number(outbox.fault !== undefined)],
    ['turnstone_outbox_rejected_entries_total', 'counter', 'Entries that the platform refused.', outbox.rejected],
    [
      'turnstone_outbox_thinned_entries_total',
      'counter',
      'Entries that gave way to others of their key.',
      outbox.thinned,
    ],
    ['turnstone_outbox_dropped_entries_total', 'counter', 'Entries that gave way undelivered.', outbox.dropped],
    ['turnstone_outbox_damaged_entries_total', 'counter', 'Entries that damage on the disk took.', outbox.damaged],
    [
      'turnstone_telemetry_renamed_entries_total',
      'counter',
      'Entries whose key the platform would have lost, under another.',
      renamed,
    ],
    [
      'turnstone_telemetry_retimed_entries_total',
      'counter',
      'Entries whose source gave a time that cannot be.',
      retimed,
    ],
    ['turnstone_telemetry_text_entries_total', 'counter', 'Numbers that the platform can only keep as text.', asText],
    [
      'turnstone_outbox_written_bytes_total',
      'counter',
      'Bytes written to the disk for the outbox.',
      outbox.writtenBytes,
    ],
    ['turnstone_contact_state', 'gauge', 'Contact with the platform: one of these is 1.', contacts],
    [
      'turnstone_up_to_date',
      'gauge',
      'The last upload was acknowledged, and nothing that is due waits.',
      Number(platform.verdict === 'good'),
    ],
    ['turnstone_connection_state', 'gauge', 'Uploads of telemetry: one of these is 1.', states],
    [
      'turnstone_upload_last_acknowledged_age_seconds',
      'gauge',
      'Since the platform acknowledged something.',
      ageSeconds(platform.lastAcknowledgedAtMs),
    ],
    ['turnstone_upload_failures', 'gauge', 'Failed uploads since the last that did not.', connection.failures],
    [
      'turnstone_upload_acknowledged_entries_total',
      'counter',
      'Entries that the platform has.',
      connection.acknowledgedEntries,
    ],
    ['turnstone_http_sent_bytes_total', 'counter', 'Bytes sent to the platform.', connection.sentBytes],
    ['turnstone_http_received_bytes_total', 'counter', 'Bytes received from the platform.', connection.receivedBytes],
    [
      'turnstone_link_used_bytes',
      'gauge',
      'Carried by the link this month, with TLS and TCP/IP, by what it was for.',
      byLabel('feature', link),
    ],
    ['turnstone_link_today_bytes', 'gauge', 'Carried by the link in this UTC day.', status.link.todayBytes],
    ['turnstone_link_forecast_bytes', 'gauge', 'Forecast of the whole month.', status.link.forecastBytes],
    ['turnstone_upload_duration_seconds', 'histogram', 'How long uploads take.', durations(uploads)],
    ['turnstone_uploads_total', 'counter', 'Uploads by how they ended.', byLabel('outcome', uploads.outcomes)],
    ['turnstone_sensor_up', 'gauge', 'Whether the sensor gives readings.', sensorsUp],
    ['turnstone_reading', 'gauge', 'The last reading of each key that is a number or a switch.', lastReadings(view)],
    ['turnstone_actuator_up', 'gauge', 'Whether the actuator can be moved.', actuatorsUp],
    [
      'turnstone_device_up',
      'gauge',
      'Whether the attached device delivers; of "other", how many do.',
      byDevice(devices, isUp),
    ],
    [
      'turnstone_device_held_entries',
      'gauge',
      'Entries of the attached device that wait.',
      byDevice(devices, (one) => one.heldEntries),
    ],
    [
      'turnstone_device_accepted_entries_total',
      'counter',
      'Entries of the attached device that the platform has.',
      byDevice(devices, (one) => one.acceptedEntries),
    ],
    ['turnstone_status_pages', 'gauge', 'Status pages that are open.', openPages],
    ['process_resident_memory_bytes', 'gauge', 'Resident memory.', process.residentBytes],
    ['nodejs_heap_size_used_bytes', 'gauge', 'Heap in use.', process.heapUsedBytes],
    ['process_cpu_seconds_total', 'counter', 'User and system time of the process.', process.cpuSeconds],
  ];
}

/** Devices with a label of their own; the rest is one sample. */
const MAX_DEVICE_LABELS = 200;
const REST = 'other';

function byDevice(
  devices: readonly DeviceStatus[],
  numberOf: (device: DeviceStatus) => number,
): readonly MetricSample[] {
  const values = new Map<string, number>();
  for (const [at, device] of devices.entries()) {
    const label = at < MAX_DEVICE_LABELS ? device.id : REST;
    values.set(label, (values.get(label) ?? 0) + numberOf(device));
  }
  return [...values].map(([device, value]) => ({ labels: { device }, value }));
}

function isUp(device: DeviceStatus): number {
  return Number(deviceVerdict(device).verdict === 'good');
}

function byLabel(label: string, values: Readonly<Record<string, number>>): readonly MetricSample[] {
  return Object.entries(values).map(([name, value]) => ({ labels: { [label]: name }, value }));
}

function lastReadings({ sensors }: StatusView): readonly MetricSample[] {
  return sensors.flatMap(({ name, readings }) =>
    readings
      .filter(({ value }) => typeof value === 'number' || typeof value === 'boolean')
      .map(({ key, value, unit = '' }) => ({ labels: { sensor: name, key, unit }, value: Number(value) })),
  );
}

function durations({ buckets, sumSeconds, count }: UploadTimesStatus): readonly MetricSample[] {
  return [
    ...buckets.map(([bound, value]) => ({ suffix: '_bucket', labels: { le: String(bound) }, value })),
    { suffix: '_bucket', labels: { le: '+Inf' }, value: count },
    { suffix: '_sum', value: sumSeconds },
    { suffix: '_count', value: count },
  ];
}

export const PROMETHEUS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

export function prometheusText(metrics: readonly Metric[]): string {
  return metrics
    .filter(({ samples }) => samples.length > 0)
    .map(
      ({ name, help, type, samples }) =>
        `# HELP ${name} ${escapeHelp(help)}\n# TYPE ${name} ${type}\n${samples.map((sample) => line(name, sample)).join('')}`,
    )
    .join('');
}

function line(name: string, { suffix = '', labels, value }: MetricSample): string {
  const pairs = Object.entries(labels ?? {}).map(([label, text]) => `${label}="${escapeLabel(text)}"`);
  return `${name}${suffix}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${number(value)}\n`;
}

function number(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  return Number.isFinite(value) ? String(value) : value > 0 ? '+Inf' : '-Inf';
}

function escapeHelp(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
}

function escapeLabel(text: string): string {
  return escapeHelp(text).replaceAll('"', '\\"');
}
