/** The status as a page for people. */
import { formatSize } from '../config/fields/quantity.ts';
import { nameText, shownText } from '../names/shown-text.ts';
import {
  type ActuatorStatus,
  type AgentStatus,
  type AlarmStatus,
  failureText,
  shortFingerprint,
} from '../status/shape/agent-status.ts';
import { seenText } from './alarms.ts';
import type { Call } from './command.ts';
import { type Printer, printable, type Style } from './printer.ts';
import { kindText, outputText, readingText, shortAge, stateText } from './value-text.ts';

export async function showStatus({ agent, print }: Pick<Call, 'agent' | 'print'>): Promise<void> {
  const status = await (await agent()).ask('getStatus');
  print.result(status, () => statusText(status, print));
}

function statusText(status: AgentStatus, print: Printer): string {
  const { bold, yellow } = print.style;
  const ago = (atMs: number): string => `${shortAge(status.nowMs - atMs)} ago`;
  const alerts = status.alerts.map((alert) => `${yellow('!')} ${printable(alert)}\n`).join('');
  const alarms = status.alarms.map((alarm) => `${print.style.red('✕')} ${alarmText(alarm, status)}\n`).join('');
  const clock = status.timeSynchronised ? '' : ', clock not synchronised yet';
  const locked = status.lockedOut ? ', LOCKED OUT: nothing remote moves' : '';
  const called = status.label ?? status.deviceName;
  const name = called === '' ? '' : `${bold(printable(called))}  `;
  const head = `${name}turnstone ${status.version}, running ${shortAge(status.nowMs - status.startedAtMs)}, configuration ${status.configHash}${clock}${locked}\n`;
  const rows = print.table([
    ['platform', platformText(status, print.style)],
    ['uploads', uploadsText(status)],
    outboxRow(status),
    ['storage', printable(status.writes.words)],
    ['link', printable(status.link.words)],
    ...adaptedRows(status),
    ...(status.devices === undefined ? [] : [['devices', status.devices.words]]),
    ['firmware', firmwareText(status)],
    ...(status.firmware.failed ?? []).map((failed) => ['', printable(failureText(failed))]),
    ...pageRows(status),
  ]);
  return `${head}${alarms}${alerts}${rows}${sensorRows(status, print, ago)}${actuatorRows(status, print)}`;
}

/** `Cold room is 7.2 °C, above 5 (hot), for 14m; it moves compressor`. */
function alarmText(alarm: AlarmStatus, { nowMs, actuators }: Pick<AgentStatus, 'nowMs' | 'actuators'>): string {
  const { key, keyLabel, device, value, limit, name, label = name, sinceMs, isFromStart, moves } = alarm;
  const called = label === limit ? '' : ` (${label})`;
  const outputs = moves.map((one) => actuators.find((output) => output.name === one)?.label ?? one);
  const moved = moves.length === 0 ? '' : `; it moves ${outputs.join(', ')}`;
  const whose = device === undefined ? '' : ` of ${device}`;
  const { above, below, unit, class: kind } = alarm;
  const shown = shownText(value, { key, unit, class: kind, above, below });
  const reading = `${nameText({ label: keyLabel, key })}${whose} is ${shown}`;
  const since = `${shortAge(nowMs - sinceMs)}${isFromStart ? ' or longer' : ''}`;
  const seen = alarm.acknowledged === undefined ? '' : `, ${seenText(alarm)}`;
  return printable(`${reading}, ${limit}${called}, for ${since}${seen}${moved}`);
}

function platformText({ platform, nowMs }: AgentStatus, { green, red, yellow }: Style): string {
  const paint = { good: green, waiting: yellow, fault: red }[platform.verdict];
  const since = platform.verdict === 'fault' ? `, for ${shortAge(nowMs - platform.sinceMs)}` : '';
  return `${paint(printable(platform.words))}${since}`;
}

function uploadsText({ platform, connection, nowMs }: AgentStatus): string {
  const { acknowledgedEntries, triesAgainAtMs = nowMs } = connection;
  const { lastAcknowledgedAtMs: atMs } = platform;
  const last = atMs === undefined ? 'nothing acknowledged yet' : `last acknowledged ${shortAge(nowMs - atMs)} ago`;
  const again = triesAgainAtMs <= nowMs ? '' : `, trying again in ${shortAge(triesAgainAtMs - nowMs)}`;
  return `${last}, ${acknowledgedEntries} entries sent${again}`;
}

function outboxRow({ outbox, wallMs }: AgentStatus): readonly string[] {
  const oldest = outbox.oldestTs === undefined ? '' : `, oldest ${shortAge(wallMs - outbox.oldestTs)}`;
  const fits = outbox.hoursThatFit === undefined ? '' : `, ${Math.floor(outbox.hoursThatFit)} more hours fit`;
  const lost = (['resent', 'rejected', 'thinned', 'dropped', 'damaged'] as const)
    .filter((what) => (outbox[what] ?? 0) > 0)
    .map((what) => `, ${outbox[what]} ${what}`);
  const fault = outbox.fault === undefined ? '' : `, cannot write: ${printable(outbox.fault)}`;
  return [
    'outbox',
    `${outbox.heldEntries} entries wait (${formatSize(outbox.heldBytes)})${oldest}${fits}${lost.join('')}${fault}`,
  ];
}

/** Nothing, where the platform keeps all as it is. */
function adaptedRows({ adapted }: AgentStatus): readonly (readonly string[])[] {
  if (adapted === undefined) return [];
  const { renamed, retimed, asText } = adapted;
  const changes = [
    ...(renamed > 0 ? [`${renamed} under another key`] : []),
    ...(retimed > 0 ? [`${retimed} with their own time in place of the source's`] : []),
    ...(asText > 0 ? [`${asText} numbers as text`] : []),
  ];
  return changes.length === 0
    ? []
    : [['adapted', `${changes.join(', ')}: the platform would have lost them as they were`]];
}

function firmwareText({ firmware }: AgentStatus): string {
  const progress = firmware.progressPercent === undefined ? '' : ` ${Math.round(firmware.progressPercent)}%`;
  const offered = firmware.offered === undefined ? '' : `, offered ${printable(firmware.offered)}`;
  const error = firmware.error === undefined ? '' : `: ${printable(firmware.error)}`;
  return `${firmware.version}${firmware.state === undefined ? '' : `, ${firmware.state}${progress}${error}`}${offered}`;
}

/** The fingerprint whole, to be compared, and its beginning, to be read aloud. */
export function pageRows({ page }: Pick<AgentStatus, 'page'>): readonly (readonly string[])[] {
  if (page === undefined) return [];
  const { url, fingerprint } = page;
  if (fingerprint === undefined) return [['page', `${printable(url)}, on this machine alone`]];
  return [
    ['page', `${printable(url)}, certificate ${printable(shortFingerprint(fingerprint))} …`],
    ['', `SHA-256 ${printable(fingerprint)}`],
  ];
}

function sensorRows({ sensors }: AgentStatus, print: Printer, ago: (atMs: number) => string): string {
  if (sensors.length === 0) return '';
  const rows = sensors.flatMap((sensor) => [
    [printable(sensor.label ?? sensor.name), kindText(sensor), stateText(sensor, print.style), ''],
    ...sensor.readings.map((reading) => ['', '', readingText(reading), ago(reading.atMs)]),
  ]);
  return `\nsensors\n${print.table(rows, '  ')}`;
}

function actuatorRows({ actuators }: AgentStatus, print: Printer): string {
  if (actuators.length === 0) return '';
  const shown = ({ value, fault, class: kind }: ActuatorStatus): string =>
    fault === undefined ? outputText(value, kind) : `unknown: ${printable(fault)}`;
  const rows = actuators.map((actuator) => [
    printable(actuator.label ?? actuator.name),
    kindText(actuator),
    shown(actuator),
    printable(actuator.why ?? ''),
  ]);
  return `\nactuators\n${print.table(rows, '  ')}`;
}
