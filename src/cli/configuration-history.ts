/** Shows the configurations that were tried: the list of the agent, and root's copies of the files, which hold secrets and are read by the group alone. */
import { join } from 'node:path';
import { DEFAULT_CONFIG_FILE } from '../config/fields/default-places.ts';
import { formatDuration } from '../config/fields/quantity.ts';
import { readConfigBytes } from '../config/peek-config.ts';
import { shownConfig } from '../config/shown-config.ts';
import { readYaml } from '../config/yaml/yaml-source.ts';
import { messageOf, systemCode } from '../errors/agent-error.ts';
import { readUserFile } from '../host/whole-file.ts';
import { printable } from '../names/printable.ts';
import { difference, fileHash } from '../remote-config/file-hash.ts';
import type { ConfigurationsTold, ToldHistory } from '../remote-config/told-configurations.ts';
import { configurationTree, type Tree } from '../remote-config/tree-differences.ts';
import { trialPaths } from '../remote-config/trial-state.ts';
import { isJsonObject } from '../values/json.ts';
import type { DiffCall, HistoryCall, RollBackCall, ShowCall } from './commands/configure.ts';
import { tryFile } from './configure.ts';
import { CommandError, EXIT } from './exit-code.ts';
import type { Printer } from './printer.ts';

const NUMBER_DIGITS = 4;
/** Digits of a hash by which people tell files apart, as in the status. */
const FILE_DIGITS = 12;
const DEFAULT_GUARD_FOLDER = '/var/lib/turnstone-guard';
const ORIGINS: Readonly<Record<string, string>> = {
  package: 'from the platform, in a package',
  patch: 'from the platform',
  page: 'from the page',
  local: 'on the command line',
  site: 'in the file itself',
};

export async function showHistory({ agent, print }: HistoryCall): Promise<void> {
  const status = await (await agent()).ask('configurationStatus');
  print.result(status, () => historyText(status, print));
}

export async function showTried({ args, flags, edge, print }: ShowCall): Promise<void> {
  const bytes = await readTried(args.number, flags.config, 'show');
  const { text } = await shownConfig(bytes, edge.environment);
  if (text === undefined)
    throw new CommandError(`configuration ${args.number} is no YAML: nobody can tell what in it is secret`);
  print.result({ number: args.number, hash: fileHash(bytes), text }, () => printableLines(text));
}

export async function showDifference({ args, flags, print }: DiffCall): Promise<void> {
  const { number, other } = args;
  const before = treeOf(await readTried(number, flags.config, 'diff'), `configuration ${number}`);
  const after =
    other === 0
      ? treeOf(await readConfigBytes(flags.config), flags.config)
      : treeOf(await readTried(other, flags.config, 'diff'), `configuration ${other}`);
  const lines = difference(before, after);
  print.result({ before: number, after: other === 0 ? flags.config : other, difference: lines }, () =>
    lines.length === 0 ? 'nothing differs in what they say\n' : lines.map((line) => `${printable(line)}\n`).join(''),
  );
}

export async function rollBack(call: RollBackCall): Promise<void> {
  const { args, flags } = call;
  const bytes = await readTried(args.number, flags.config ?? DEFAULT_CONFIG_FILE, 'rollback');
  await tryFile(call, { name: `configuration ${args.number}`, bytes });
}

function historyText({ fileHash: running, state, trial, history }: ConfigurationsTold, print: Printer): string {
  const rows: (readonly string[])[] = [['running', `file ${running.slice(0, FILE_DIGITS)}`]];
  if (trial !== undefined)
    rows.push([
      'on trial',
      `file ${trial.hash.slice(0, FILE_DIGITS)}, returns in ${secondsText(trial.secondsLeft)} unless it proves itself`,
    ]);
  if (state !== undefined && trial === undefined)
    rows.push([
      'last',
      `${state.state}, ${timeText(state.atMs)}${packageText(state.package)}${reasonText(state.reason)}`,
    ]);
  const tried = history.toSorted((one, other) => Number(other.number) - Number(one.number));
  const list = tried.map((one) => [String(Number(one.number)), timeText(one.atMs), ...triedText(one)]);
  return `${print.table(rows)}${list.length === 0 ? 'none was on trial yet\n' : `\n${print.table(list)}`}`;
}

function triedText({ hash, origin, package: name, outcome, reason }: ToldHistory): readonly string[] {
  return [
    hash.slice(0, FILE_DIGITS),
    `${printable(outcome)}, ${ORIGINS[origin] ?? printable(origin)}${packageText(name)}${reasonText(reason)}`,
  ];
}

function packageText(name: ToldHistory['package']): string {
  return name === undefined ? '' : ` (${printable(name.title)} ${printable(name.version)})`;
}

function reasonText(reason: string | undefined): string {
  return reason === undefined || reason === '' ? '' : `: ${printable(reason)}`;
}

function timeText(ms: number): string {
  return new Date(ms).toISOString().slice(0, 16).concat('Z');
}

function secondsText(seconds: number): string {
  return formatDuration(Math.max(0, Math.round(seconds)) * 1_000);
}

/** Reads root's copy of one that was tried. @throws CommandError with exit code 77 for a user who may not. */
async function readTried(number: number, configFile: string, command: string): Promise<Uint8Array> {
  const { history } = trialPaths(await guardFolder(configFile));
  const path = join(history, `${String(number).padStart(NUMBER_DIGITS, '0')}.yaml`);
  const bytes = await readUserFile(path).catch((cause: unknown) => {
    const isForbidden = systemCode(cause instanceof Error ? cause.cause : undefined) === 'EACCES';
    throw new CommandError(messageOf(cause), {
      exitCode: isForbidden ? EXIT.noPermission : EXIT.failure,
      ...(isForbidden && { nextStep: `try sudo turnstone configuration ${command} ${number}` }),
      cause,
    });
  });
  if (bytes !== undefined) return bytes;
  throw new CommandError(`the history has no configuration ${number}`, {
    nextStep: 'turnstone configuration history lists them',
  });
}

/** Returns root's folder from the file in place; the default where that file cannot be read. */
async function guardFolder(configFile: string): Promise<string> {
  const bytes = await readUserFile(configFile).catch(() => undefined);
  const { tree } = readYaml(bytes ?? '');
  const firmware = isJsonObject(tree) ? tree.firmware : undefined;
  const named = isJsonObject(firmware) ? firmware.guardFolder : undefined;
  return typeof named === 'string' ? named : DEFAULT_GUARD_FOLDER;
}

function treeOf(bytes: Uint8Array, name: string): Tree {
  const { tree } = configurationTree(bytes);
  if (tree === undefined) throw new CommandError(`${name} is no configuration`);
  return tree;
}

/** Returns a file's text for a terminal, without control characters. */
function printableLines(text: string): string {
  return text.split('\n').map(printable).join('\n');
}
