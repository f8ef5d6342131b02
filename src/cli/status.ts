/** `turnstone status`: is it working, and if not, why not. */
import type { Command } from 'commander';
import { formatSize } from '../config/quantity.ts';
import { stringifyJson } from '../host/json.ts';
import { type AgentStatus, failureText } from '../status/agent-status.ts';
import { type AgentFlags, addAgentOptions, connectAgent } from './agent-connection.ts';
import type { Edge } from './edge.ts';
import { printable, type Style, styleFor } from './style.ts';
import { columns } from './table.ts';
import { shortAge, valueText } from './value-text.ts';

const EXAMPLES = `
Examples:
  $ turnstone status
  $ turnstone status --json
  $ turnstone status --config /etc/turnstone/turnstone.yaml

Exit codes: 0 the agent answers, 69 no agent runs.`;

export function addStatusCommand(program: Command, edge: Edge): void {
  const command = program.command('status').description('show whether the agent works: connection, outbox, sensors, actuators, firmware');
  addAgentOptions(command)
    .option('--json', 'print the whole status as JSON')
    .addHelpText('after', EXAMPLES)
    .action(async (flags: AgentFlags & { readonly json?: boolean }) => {
      const agent = await connectAgent(flags, edge);
      try {
        const status = await agent.request('getStatus');
        if (flags.json === true) edge.stdout.write(`${stringifyJson(status)}\n`);
        else edge.stdout.write(statusText(status as unknown as AgentStatus, styleFor(edge.stdout, edge.environment), edge.stdout.columns));
      } finally {
        await agent.close();
      }
    });
}

/** The status as a page for people. */
export function statusText(status: AgentStatus, style: Style, width: number): string {
  const { bold, yellow } = style;
  const ago = (atMs: number): string => `${shortAge(status.nowMs - atMs)} ago`;
  const alerts = status.alerts.map((alert) => `${yellow('!')} ${printable(alert)}\n`).join('');
  const clock = status.timeSynchronised ? '' : ', clock not synchronised yet';
  const locked = status.lockedOut ? ', LOCKED OUT: nothing remote moves' : '';
  const name = status.deviceName === '' ? '' : `${bold(printable(status.deviceName))}  `;
  const head = `${name}turnstone ${status.version}, running ${shortAge(status.nowMs - status.startedAtMs)}, configuration ${status.configHash}${clock}${locked}\n`;
  const rows = columns(
    [
      connectionRow(status, style, ago),
      ...outboxRows(status),
      ...adaptedRows(status),
      ['firmware', firmwareText(status)],
      ...failedRows(status),
    ],
    width,
  );
  return `${head}${alerts}${rows}${sensorRows(status, style, width, ago)}${actuatorRows(status, width)}`;
}

function connectionRow({ connection }: AgentStatus, { green, red, yellow }: Style, ago: (atMs: number) => string): readonly string[] {
  const paint = { idle: green, sending: green, 'backing-off': yellow, held: red }[connection.state];
  const last =
    connection.lastAcknowledgedAtMs === undefined
      ? 'nothing acknowledged yet'
      : `last acknowledged ${ago(connection.lastAcknowledgedAtMs)}`;
  const reason = connection.reason === undefined ? '' : `: ${printable(connection.reason)}`;
  const budget =
    connection.dailyBudgetBytes === undefined
      ? ''
      : `, ${formatSize(connection.sentTodayBytes)} of ${formatSize(connection.dailyBudgetBytes)} used today`;
  return ['connection', `${paint(connection.state)}${reason}, ${last}, ${connection.acknowledgedEntries} entries sent${budget}`];
}

function outboxRows({ outbox, wallMs }: AgentStatus): readonly (readonly string[])[] {
  const oldest = outbox.oldestTs === undefined ? '' : `, oldest ${shortAge(wallMs - outbox.oldestTs)}`;
  const fits = outbox.hoursThatFit === undefined ? '' : `, ${Math.floor(outbox.hoursThatFit)} more hours fit`;
  const lost = (['rejected', 'thinned', 'dropped', 'damaged'] as const)
    .filter((what) => (outbox[what] ?? 0) > 0)
    .map((what) => `${outbox[what]} ${what}`);
  const fault = outbox.fault === undefined ? '' : `, cannot write: ${printable(outbox.fault)}`;
  return [
    [
      'outbox',
      `${outbox.heldEntries} entries wait (${formatSize(outbox.heldBytes)})${oldest}${fits}${lost.length === 0 ? '' : `, ${lost.join(', ')}`}${fault}`,
    ],
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
  return changes.length === 0 ? [] : [['adapted', `${changes.join(', ')}: the platform would have lost them as they were`]];
}

function failedRows({ firmware }: AgentStatus): readonly (readonly string[])[] {
  return (firmware.failed ?? []).map((failed) => ['', printable(failureText(failed))]);
}

function firmwareText({ firmware }: AgentStatus): string {
  const progress = firmware.progressPercent === undefined ? '' : ` ${Math.round(firmware.progressPercent)}%`;
  const offered = firmware.offered === undefined ? '' : `, offered ${printable(firmware.offered)}`;
  const error = firmware.error === undefined ? '' : `: ${printable(firmware.error)}`;
  return `${firmware.version}${firmware.state === undefined ? '' : `, ${firmware.state}${progress}${error}`}${offered}`;
}

function sensorRows({ sensors }: AgentStatus, { green, red, dim }: Style, width: number, ago: (atMs: number) => string): string {
  if (sensors.length === 0) return '';
  const rows = sensors.flatMap((sensor) => {
    const mark = sensor.state === 'ok' ? green('ok') : sensor.state === 'failing' ? red('failing') : dim('starting');
    const readings = sensor.readings.map(({ key, value, unit, atMs }) => [
      '',
      '',
      `${printable(key)} = ${valueText(value, unit)}`,
      ago(atMs),
    ]);
    return [[sensor.name, sensor.kind, `${mark}${sensor.fault === undefined ? '' : `: ${printable(sensor.fault)}`}`, ''], ...readings];
  });
  return `\nsensors\n${columns(rows, width, '  ')}`;
}

function actuatorRows({ actuators }: AgentStatus, width: number): string {
  if (actuators.length === 0) return '';
  const rows = actuators.map(({ name, kind, value, fault }) => [
    name,
    kind,
    fault === undefined ? valueText(value) : `unknown: ${printable(fault)}`,
  ]);
  return `\nactuators\n${columns(rows, width, '  ')}`;
}
