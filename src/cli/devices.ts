/** Attached devices for people and programs: which there are, how each does, what to do for it, and what is done for one. */

import { makeAccessToken } from '../devices/access-token.ts';
import { systemClock } from '../host/clock.ts';
import { systemRandomBytes } from '../host/random.ts';
import { printable } from '../names/printable.ts';
import type { Answers, OperationName } from '../operations/answers.ts';
import {
  type DeviceStatus,
  devicesSummary,
  type ToldDevice,
  toldDevice,
  toldDevices,
} from '../status/shape/device-status.ts';
import type { JsonObject } from '../values/json.ts';
import type { AgentCalls } from './agent-calls.ts';
import { claimPage } from './claim-page.ts';
import type { ClaimCall, ListCall, RemoveCall, RenameCall, RotateCall, ShowCall } from './commands/devices.ts';
import type { Edge } from './edge.ts';
import { CommandError, EXIT, usageError } from './exit-code.ts';
import type { Printer, Style } from './printer.ts';
import { secretFrom } from './secret-from.ts';
import { shortAge } from './value-text.ts';

/** A claim or a try with the next token over a slow link, or a key derivation on a small board. */
const DEADLINE_MS = 60_000;
/** More is read in the table. */
const MAX_REMEDIES = 10;
/** Names in the answer to a command that names none. */
const MAX_NAMES = 20;

export async function listDevices({ agent, print }: Pick<ListCall, 'agent' | 'print'>): Promise<void> {
  const devices = await (await agent()).ask('listDevices');
  const told = toldDevices(devices);
  if (told.some(({ verdict }) => verdict === 'fault')) print.exitCode = EXIT.failure;
  print.result(told, () =>
    told.length === 0
      ? 'no device is attached; devices: in the configuration adds them\n'
      : listPage(devices, told, print),
  );
}

function listPage(devices: readonly DeviceStatus[], told: readonly ToldDevice[], print: Printer): string {
  const { style } = print;
  const rows = told.map((device) => [
    printable(device.name),
    slotsText(device),
    device.lastAcceptedAtMs === undefined ? 'never' : `${shortAge(nowMs() - device.lastAcceptedAtMs)} ago`,
    paint(device, style)(printable(device.words)),
  ]);
  const ill = told.filter(({ verdict, remedy }) => verdict !== 'good' && remedy !== undefined);
  const remedies = ill
    .slice(0, MAX_REMEDIES)
    .map((device) => `${style.yellow('!')} ${printable(`${device.name}: ${device.remedy}`)}\n`);
  const more = ill.length > MAX_REMEDIES ? `  turnstone devices show tells of ${ill.length - MAX_REMEDIES} more\n` : '';
  return `${devicesSummary(devices).words}\n${print.table([['DEVICE', 'SLOT', 'DELIVERED', 'STATE'], ...rows])}${remedies.join('')}${more}`;
}

export async function showDevice({ args, agent, print }: ShowCall): Promise<void> {
  await requireName(args.name, agent);
  const device = toldDevice(await (await agent()).ask('showDevice', { device: args.name }));
  print.result(device, () => print.table(factsOf(device, print.style)));
}

function factsOf(device: ToldDevice, style: Style): readonly (readonly string[])[] {
  const { id, name, label, sinceMs, heldEntries, acceptedEntries, lastAcceptedAtMs, sensors, remedy } = device;
  const now = nowMs();
  const last = lastAcceptedAtMs === undefined ? 'nothing yet' : `${shortAge(now - lastAcceptedAtMs)} ago`;
  return [
    ['device', style.bold(printable(name))],
    ...(id === name ? [] : [['known as', printable(id)]]),
    ...(label === undefined ? [] : [['label', printable(label)]]),
    ['slot', slotsText(device)],
    ['state', `${paint(device, style)(printable(device.words))}, for ${shortAge(now - sinceMs)}`],
    ...(remedy === undefined ? [] : [['to do', printable(remedy)]]),
    ['delivered', `${acceptedEntries} entries since the agent started, the last ${last}`],
    ['waits', `${heldEntries} entries`],
    ['sensors', String(sensors)],
  ];
}

export async function claimDevice(call: ClaimCall): Promise<void> {
  const { flags, args, edge, print } = call;
  await requireName(args.name, call.agent);
  const asksForSecret = flags.secretKeyFile !== undefined || flags.ask === true;
  const secretKey = asksForSecret ? await secretFrom(flags.secretKeyFile, 'Secret for this claim: ', edge) : undefined;
  const opened = await askFor(call, 'claimDevice', {
    device: args.name,
    secretKey,
    durationMs: flags.duration,
  });
  print.result(opened, () => claimPage(opened, flags.qr, print.style));
}

export async function rotateDevice(call: RotateCall): Promise<void> {
  const { flags, args, edge, print } = call;
  if (flags.make === true && flags.tokenFile !== undefined)
    throw usageError('one of --make and --token-file is enough');
  await requireName(args.name, call.agent);
  const accessToken =
    flags.make === true
      ? makeAccessToken(systemRandomBytes)
      : await secretFrom(flags.tokenFile, 'Next access token: ', edge);
  const { name } = await askFor(call, 'rotateDeviceToken', { device: args.name, accessToken });
  edge.stderr.write(
    `kept beside the present one of ${printable(name)}; enter it at the platform, unless it is there already\n`,
  );
  if (flags.make === true) print.write(`${accessToken}\n`);
}

export async function removeDevice(call: RemoveCall): Promise<void> {
  const { flags, args, agent, edge, print } = call;
  await requireName(args.name, agent);
  const { id, name, heldEntries } = await (await agent()).ask('showDevice', { device: args.name });
  const lost = heldEntries === 0 ? '' : ` and ${heldEntries} entries that wait`;
  const question = `Forget the credentials of ${printable(name)}${lost}? It cannot be undone. Type yes: `;
  if (flags.yes !== true && (await edge.ask(question)).trim() !== 'yes') throw new CommandError('nothing was changed');
  const { isConfigured } = await askFor(call, 'removeDevice', {
    device: id,
  });
  const next = isConfigured
    ? 'it stands in the configuration, so it is made anew'
    : 'it is not in the configuration, and does not come back';
  print.write(`forgotten: ${printable(name)}${lost}; ${next}\n`);
}

export async function renameDevice(call: RenameCall): Promise<void> {
  const { name, newName } = call.args;
  await requireName(name, call.agent);
  if (newName === '') throw usageError('write its new name after its name');
  const renamed = await askFor(call, 'renameDevice', { device: name, name: newName });
  call.print.write(`called ${printable(renamed.name)} here from now on; the platform was told nothing\n`);
}

/** Refuses a command that names no device, with the names that there are. @throws CommandError (usage). */
async function requireName(name: string, agent: () => Promise<AgentCalls>): Promise<void> {
  if (name !== '') return;
  const names = (await (await agent()).ask('listDevices')).map((device) => device.name);
  if (names.length === 0) throw usageError('no device is attached; devices: in the configuration adds them');
  const more = names.length > MAX_NAMES ? `, and ${names.length - MAX_NAMES} more (turnstone devices)` : '';
  const shown = names.slice(0, MAX_NAMES).map(printable).join(', ');
  throw usageError(`name a device: ${shown}${more}`);
}

export async function askFor<Name extends OperationName>(
  { agent, edge }: { readonly agent: () => Promise<AgentCalls>; readonly edge: Edge },
  method: Name,
  params: JsonObject,
): Promise<Answers[Name]> {
  return (await agent()).ask(method, params, { deadlineMs: DEADLINE_MS, signal: edge.signal });
}

function slotsText({ slots }: DeviceStatus): string {
  return slots.length === 0 ? 'none' : slots.map(printable).join(', ');
}

function paint({ verdict }: ToldDevice, { green, red, yellow }: Style): (text: string) => string {
  return { good: green, waiting: yellow, fault: red }[verdict];
}

/** By this boot's clock, which the agent's times are of. */
function nowMs(): number {
  return systemClock.monotonicMs();
}
