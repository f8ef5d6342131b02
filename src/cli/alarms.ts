/** Lists the alarms that are on, and acknowledges them for a person at the device. */

import { printable } from '../names/printable.ts';
import { nameText, shownText } from '../names/shown-text.ts';
import type { AgentStatus, AlarmStatus } from '../status/shape/agent-status.ts';
import type { AcknowledgeCall, AlarmsCall } from './commands/alarms.ts';
import { CommandError } from './exit-code.ts';
import type { Printer } from './printer.ts';
import { shortAge } from './value-text.ts';

/** Value of `--device` for the gateway itself. */
const GATEWAY = 'gateway';

export async function listAlarms({ agent, print }: AlarmsCall): Promise<void> {
  const status = await (await agent()).ask('getStatus');
  print.result(status.alarms, () => (status.alarms.length === 0 ? 'no alarm is on\n' : alarmTable(status, print)));
}

/** @throws CommandError where no such alarm is on, or alarms of several sensors are meant. */
export async function acknowledgeAlarms({ args: { key }, flags, agent, print }: AcknowledgeCall): Promise<void> {
  const { name, device } = flags;
  const { ask } = await agent();
  const { alarms } = await ask('getStatus');
  const meant = alarms.filter(
    (alarm) => alarm.key === key && (device === undefined || device === (alarm.device ?? GATEWAY)),
  );
  const sensors = [...new Set(meant.map(({ sensor }) => sensor))];
  const [sensor] = sensors;
  if (sensor === undefined)
    throw new CommandError(`no alarm of ${key}${device === undefined ? '' : ` of ${device}`} is on`, {
      nextStep: 'turnstone alarms lists those that are',
    });
  if (sensors.length > 1) {
    const devices = [...new Set(meant.map((alarm) => alarm.device ?? GATEWAY))];
    throw new CommandError(`alarms of ${key} are on of several devices`, {
      nextStep: `name one of them: --device ${devices.join(', --device ')}`,
    });
  }
  const seen = await ask('acknowledgeAlarm', { sensor, key, name });
  print.result(seen, () => seen.map((one) => `${printable(`${one.key}: ${one.name}`)}, ${seenText(one)}\n`).join(''));
}

function alarmTable({ alarms, nowMs, wallMs }: AgentStatus, print: Printer): string {
  const rows = alarms.map((alarm) => {
    const { key, keyLabel, device, name, label = name, limit, above, below, value, unit, sinceMs, isFromStart } = alarm;
    const reading = nameText({ label: keyLabel, key });
    return [
      printable(device === undefined ? key : `${key} of ${device}`),
      printable(`${reading}: ${shownText(value, { key, unit, class: alarm.class, above, below })}`),
      printable(label === limit ? limit : `${limit} (${label})`),
      `${shortAge(nowMs - sinceMs)}${isFromStart ? ' or longer' : ''}`,
      seenSince(alarm, wallMs),
    ];
  });
  return print.table([['KEY', 'VALUE', 'LIMIT', 'ON FOR', 'ACKNOWLEDGED'], ...rows]);
}

function seenSince(alarm: AlarmStatus, wallMs: number): string {
  const { acknowledged } = alarm;
  return acknowledged === undefined
    ? 'no'
    : `${byText(acknowledged)}, ${shortAge(Math.max(0, wallMs - acknowledged.atMs))} ago`;
}

/** Returns `acknowledged on the page`; nothing while nobody has acknowledged the alarm. */
export function seenText({ acknowledged }: Pick<AlarmStatus, 'acknowledged'>): string {
  return acknowledged === undefined ? '' : `acknowledged ${byText(acknowledged)}`;
}

function byText({ by }: NonNullable<AlarmStatus['acknowledged']>): string {
  return { platform: 'by the platform', local: 'at the device', page: 'on the page' }[by];
}
