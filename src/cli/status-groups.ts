/** Groups of sensors and of outputs, a sentence each: how many there are, how they do, how old their values are. */

import { printable } from '../names/printable.ts';
import type { ActuatorStatus, AgentStatus, SensorStatus } from '../status/shape/agent-status.ts';
import type { Printer } from './printer.ts';
import type { Item } from './status-fit.ts';
import { counted, outputText, spokenAge } from './value-text.ts';
import { hangingLines } from './wrapped-text.ts';

/** Sensors of more devices are grouped by kind. */
const MAX_DEVICES = 5;
/** More states of outputs are counted together. */
const MAX_STATES = 4;

/** `24 sensors of kind modbus read, the oldest value 8 s old`; groups in which one fails come first, then the largest. */
export function sensorGroups(
  { sensors, nowMs }: AgentStatus,
  { style, pageWidth }: Printer,
  indent: string,
): readonly Item[] {
  const devices = new Set(sensors.flatMap(({ device = [] }) => device));
  const groups = Map.groupBy(sensors, ({ kind, device }) => {
    return device !== undefined && devices.size <= MAX_DEVICES ? `of ${device}` : `of kind ${kind}`;
  });
  const failingIn = (members: readonly SensorStatus[]): number => count(members, 'failing');
  return [...groups]
    .sort(
      ([, one], [, other]) => Number(failingIn(other) > 0) - Number(failingIn(one) > 0) || other.length - one.length,
    )
    .map(([name, members]) => {
      const states = statesText(members, style);
      const oldestMs = nowMs - Math.min(...members.flatMap(({ readings }) => readings.map(({ atMs }) => atMs)));
      const age = Number.isFinite(oldestMs) ? `, the oldest value ${spokenAge(oldestMs)} old` : '';
      return hangingLines(`${counted(members.length, 'sensor')} ${printable(name)}${states}${age}`, pageWidth, indent);
    });
}

function statesText(members: readonly SensorStatus[], { red, yellow, green }: Printer['style']): string {
  const [ok, failing, starting] = [count(members, 'ok'), count(members, 'failing'), count(members, 'starting')];
  if (ok === members.length) return ` ${green('read')}`;
  const parts = [
    ...(failing > 0 ? [red(`${failing} failing`)] : []),
    ...(starting > 0 ? [yellow(`${starting} starting`)] : []),
    ...(ok > 0 ? [green(`${ok} read`)] : []),
  ];
  return `: ${parts.join(', ')}`;
}

function count(members: readonly SensorStatus[], wanted: SensorStatus['state']): number {
  return members.filter(({ state }) => state === wanted).length;
}

/** `18 outputs of kind gpio-output: 12 off, 6 on`. */
export function outputGroups(
  outputs: readonly ActuatorStatus[],
  { pageWidth }: Printer,
  indent: string,
): readonly Item[] {
  return [...Map.groupBy(outputs, ({ kind }) => kind)].map(([kind, members]) => {
    const states = [...Map.groupBy(members, (output) => outputText(output.value, output.class))].sort(
      ([, one], [, other]) => other.length - one.length,
    );
    const told = states.slice(0, MAX_STATES).map(([state, alike]) => `${alike.length} ${state}`);
    const others = states.slice(MAX_STATES).reduce((sum, [, alike]) => sum + alike.length, 0);
    const rest = others === 0 ? [] : [`${others} others`];
    return hangingLines(
      `${counted(members.length, 'output')} of kind ${printable(kind)}: ${[...told, ...rest].join(', ')}`,
      pageWidth,
      indent,
    );
  });
}
