/**
 * The status as a page for people: what needs somebody first, the gateway itself, sensors, outputs. Lines wrap at words.
 *
 * Many sensors stand in groups, but for those that fail, so that the page fits a terminal.
 */
import { formatSize } from '../config/fields/quantity.ts';
import { printable } from '../names/printable.ts';
import { nameText, shownText } from '../names/shown-text.ts';
import {
  type AgentStatus,
  type AlarmStatus,
  failureText,
  type SensorStatus,
  shortFingerprint,
} from '../status/shape/agent-status.ts';
import type { ToldDevice } from '../status/shape/device-status.ts';
import { seenText } from './alarms.ts';
import type { StatusCall } from './commands/status.ts';
import type { Printer, Style } from './printer.ts';
import { fairly, fitted, type Item, type ItemList } from './status-fit.ts';
import { outputGroups, sensorGroups } from './status-groups.ts';
import { kindText, outputText, readingText, shortAge, stateText } from './value-text.ts';
import { firstLines, hangingLines, wrapRows } from './wrapped-text.ts';

/** A terminal of 40 lines holds that and its prompt. */
const MAX_LINES = 39;
/** More sensors are folded. */
const MAX_WHOLE_SENSORS = 12;
/** More outputs are folded. */
const MAX_WHOLE_OUTPUTS = 9;
/** Lines of one entry of a folded page. */
const MAX_ITEM_LINES = 2;
/** Lines that a part of a folded page has, however long the others are. */
const MIN_PART_LINES = 4;
/** An empty line and the title. */
const TITLE_LINES = 2;
/** Share of the lines that groups of sensors have at least, and outputs as well. */
const PART_SHARE = 1 / 4;
/** Digits of the file's hash that fit into the line: enough to tell files apart; `--json` has all 64. */
const FILE_DIGITS = 12;
const INDENT = '  ';
const SHOW_ALL = 'turnstone status --all';

export async function showStatus({
  agent,
  print,
  flags,
}: Pick<StatusCall, 'agent' | 'print' | 'flags'>): Promise<void> {
  const status = await (await agent()).ask('getStatus');
  print.result(status, () => pageText(status, print, flags.all === true));
}

function pageText(status: AgentStatus, print: Printer, isAll: boolean): string {
  const isFolded = !isAll && status.sensors.length > MAX_WHOLE_SENSORS;
  const lines = isFolded ? foldedPage(status, print) : wholePage(status, print, isAll);
  return lines.map((line) => `${line}\n`).join('');
}

function wholePage(status: AgentStatus, print: Printer, isAll: boolean): readonly string[] {
  const trouble = [...alarmItems(status, print), ...alertItems(status, print)];
  return [
    ...headLines(status, print),
    ...trouble.flat(),
    ...factItems(status, print).flat(),
    ...(isAll ? titled('devices', deviceTable(status, print)) : []),
    ...titled('sensors', sensorItems(status, print).flat()),
    ...titled('actuators', outputItems(status, print, isAll).flat()),
  ];
}

/** Every part gives way to the one that is more urgent, but for a few lines. */
function foldedPage(status: AgentStatus, print: Printer): readonly string[] {
  const short = (items: readonly Item[]): readonly Item[] =>
    items.map((lines) => firstLines(lines, MAX_ITEM_LINES, print.pageWidth));
  const head = headLines(status, print);
  const facts = short(factItems(status, print)).flat();
  const left = Math.max(0, MAX_LINES - head.length - facts.length);
  const urgent = urgentLists(status, print).map(({ name, items }) => ({ name, items: short(items) }));
  const spare = left - 2 * TITLE_LINES - urgent.flatMap(({ items }) => items.flat()).length;
  const share = Math.max(MIN_PART_LINES, Math.floor(left * PART_SHARE));
  const more = (count: number, what: string): string => `${INDENT}and ${count} ${what}: ${SHOW_ALL}`;
  const outputs = fitted(short(outputItems(status, print, false)), Math.max(share, Math.floor(spare / 2)), (count) =>
    more(count, 'more'),
  );
  const groups = fitted(short(sensorGroups(status, print, INDENT)), Math.max(share, spare - outputs.length), (count) =>
    more(count, 'groups more'),
  );
  const parts = [...titled('sensors', groups), ...titled('actuators', outputs)];
  const room = Math.max(MIN_PART_LINES, left - parts.length);
  return [
    ...head,
    ...fairly(urgent, room, (rest) => hangingLines(`and ${rest} more: ${SHOW_ALL}`, print.pageWidth)),
    ...facts,
    ...parts,
  ];
}

function titled(title: string, lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : ['', title, ...lines];
}

/** Lists of what somebody has to look at, each with its name for what of it is not shown. */
function urgentLists(status: AgentStatus, print: Printer): readonly ItemList[] {
  const devices = (status.devices?.list ?? []).filter(({ verdict }) => verdict !== 'good');
  const failing = status.sensors.filter(({ state }) => state === 'failing');
  // An alert about one of these would say it twice.
  const told = [
    ...devices.map(({ name }) => `device ${name}: `),
    ...failing.map(({ name, label = name }) => `sensor ${label} fails`),
  ];
  const alerts = status.alerts.filter((alert) => !told.some((beginning) => alert.startsWith(beginning)));
  return [
    { name: 'alarms', items: alarmItems(status, print) },
    { name: 'alerts', items: alertItems({ alerts }, print) },
    { name: 'failing sensors', items: failing.map((sensor) => failingItem(sensor, status, print)) },
    { name: 'devices', items: devices.map((device) => deviceItem(device, print)) },
  ];
}

function headLines(status: AgentStatus, { style, pageWidth }: Printer): readonly string[] {
  const { bold, yellow } = style;
  const clock = status.timeSynchronised ? '' : `, ${yellow('clock not synchronised yet')}`;
  const locked = status.lockedOut ? `, ${yellow('LOCKED OUT: nothing remote moves')}` : '';
  const file = status.configFileHash === undefined ? '' : ` (file ${status.configFileHash.slice(0, FILE_DIGITS)})`;
  const called = status.label ?? status.deviceName;
  const name = called === '' ? '' : `${bold(printable(called))}  `;
  return hangingLines(
    `${name}turnstone ${status.version}, running ${shortAge(status.nowMs - status.startedAtMs)}, configuration ${status.configHash}${file}${clock}${locked}`,
    pageWidth,
  );
}

function alarmItems(status: AgentStatus, { style, pageWidth }: Printer): readonly Item[] {
  return status.alarms.map((alarm) => hangingLines(`${style.red('✕')} ${alarmText(alarm, status)}`, pageWidth));
}

function alertItems({ alerts }: Pick<AgentStatus, 'alerts'>, { style, pageWidth }: Printer): readonly Item[] {
  return alerts.map((alert) => hangingLines(`${style.yellow('!')} ${printable(alert)}`, pageWidth));
}

function failingItem(sensor: SensorStatus, { nowMs }: AgentStatus, { style, pageWidth }: Printer): Item {
  const { bold, red } = style;
  const { name, label = name, readings } = sensor;
  const age = nowMs - Math.max(...readings.map(({ atMs }) => atMs));
  const last = readings.length === 0 ? '' : `, last value ${shortAge(age)} ago`;
  const what = `${bold(printable(label))} (${kindText(sensor)}) ${stateText(sensor, style)}${last}`;
  return hangingLines(`${red('✕')} ${what}`, pageWidth);
}

function deviceItem({ name, words, verdict }: ToldDevice, { style, pageWidth }: Printer): Item {
  const paint = verdict === 'fault' ? style.red : style.yellow;
  return hangingLines(`${paint('!')} device ${style.bold(printable(name))}: ${paint(printable(words))}`, pageWidth);
}

function deviceTable({ devices }: AgentStatus, { style, pageWidth }: Printer): readonly string[] {
  if (devices === undefined) return [];
  const { list, total } = devices;
  const paint = { good: style.green, waiting: style.yellow, fault: style.red };
  const rows = list.map(({ name, slots, verdict, words }) => [
    style.bold(printable(name)),
    printable(slots.join(', ')),
    paint[verdict](printable(words)),
  ]);
  const more = total > list.length ? [`${INDENT}and ${total - list.length} more: turnstone devices`] : [];
  return [...wrapRows(rows, pageWidth, INDENT).flat(), ...more];
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

/** Facts of the gateway itself. */
function factItems(status: AgentStatus, { style, pageWidth }: Printer): readonly Item[] {
  return wrapRows(
    [
      ['platform', platformText(status, style)],
      ['uploads', uploadsText(status, style)],
      outboxRow(status, style),
      ['storage', printable(status.writes.words)],
      ['link', printable(status.link.words)],
      ...adaptedRows(status),
      ...(status.devices === undefined ? [] : [['devices', status.devices.words]]),
      ['firmware', firmwareText(status, style)],
      ...(status.firmware.failed ?? []).map((failed) => ['', style.red(printable(failureText(failed)))]),
      ...pageRows(status),
    ],
    pageWidth,
  );
}

function platformText({ platform, nowMs }: AgentStatus, { green, red, yellow }: Style): string {
  const paint = { good: green, waiting: yellow, fault: red }[platform.verdict];
  const since = platform.verdict === 'fault' ? `, for ${shortAge(nowMs - platform.sinceMs)}` : '';
  return `${paint(printable(platform.words))}${since}`;
}

function uploadsText({ platform, connection, nowMs }: AgentStatus, { yellow }: Style): string {
  const { acknowledgedEntries, triesAgainAtMs = nowMs } = connection;
  const { lastAcknowledgedAtMs: atMs } = platform;
  const last = atMs === undefined ? 'nothing acknowledged yet' : `last acknowledged ${shortAge(nowMs - atMs)} ago`;
  const again = triesAgainAtMs <= nowMs ? '' : `, ${yellow(`trying again in ${shortAge(triesAgainAtMs - nowMs)}`)}`;
  return `${last}, ${acknowledgedEntries} entries sent${again}`;
}

function outboxRow({ outbox, wallMs }: AgentStatus, { yellow, red }: Style): readonly string[] {
  const oldest = outbox.oldestTs === undefined ? '' : `, oldest ${shortAge(wallMs - outbox.oldestTs)}`;
  const fits = outbox.hoursThatFit === undefined ? '' : `, ${Math.floor(outbox.hoursThatFit)} more hours fit`;
  const lost = (['resent', 'rejected', 'thinned', 'dropped', 'damaged'] as const)
    .filter((what) => (outbox[what] ?? 0) > 0)
    .map((what) => `, ${yellow(`${outbox[what]} ${what}`)}`);
  const fault = outbox.fault === undefined ? '' : `, ${red(`cannot write: ${printable(outbox.fault)}`)}`;
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

function firmwareText({ firmware }: AgentStatus, { red }: Style): string {
  const progress = firmware.progressPercent === undefined ? '' : ` ${Math.round(firmware.progressPercent)}%`;
  const offered = firmware.offered === undefined ? '' : `, offered ${printable(firmware.offered)}`;
  const error = firmware.error === undefined ? '' : `: ${red(printable(firmware.error))}`;
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

function sensorItems({ sensors, nowMs }: AgentStatus, { style, pageWidth }: Printer): readonly Item[] {
  const rows = sensors.flatMap((sensor) => [
    [style.bold(printable(sensor.label ?? sensor.name)), kindText(sensor), stateText(sensor, style), ''],
    ...sensor.readings.map((reading) => ['', '', readingText(reading), `${shortAge(nowMs - reading.atMs)} ago`]),
  ]);
  return wrapRows(rows, pageWidth, INDENT);
}

/** Each output; of many those alone that somebody has to know of, and groups of the others. */
function outputItems(status: AgentStatus, print: Printer, isAll: boolean): readonly Item[] {
  const { actuators } = status;
  const { style, pageWidth } = print;
  const isFolded = !isAll && actuators.length > MAX_WHOLE_OUTPUTS;
  const isTold = ({ fault, slots = [] }: AgentStatus['actuators'][number]): boolean =>
    fault !== undefined || slots.some(({ slot }) => slot === 'operator');
  const named = isFolded ? actuators.filter(isTold) : actuators;
  const rows = named.map((actuator) => {
    const { name, label = name, fault, value, why = '' } = actuator;
    const shown = fault === undefined ? outputText(value, actuator.class) : style.red(`unknown: ${printable(fault)}`);
    return [style.bold(printable(label)), kindText(actuator), shown, printable(why)];
  });
  const others = isFolded ? actuators.filter((actuator) => !isTold(actuator)) : [];
  return [...wrapRows(rows, pageWidth, INDENT), ...outputGroups(others, print, INDENT)];
}
