/** `turnstone firmware …`: what runs, what is offered, how an update goes on; and the self-test by which the root helper tries a release. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Command } from 'commander';
import { peekFolders } from '../config/peek-folders.ts';
import { formatSize } from '../config/quantity.ts';
import type { ControlClient } from '../control-socket/control-client.ts';
import { messageOf, systemCode } from '../errors.ts';
import { HANDED_OVER_NAME } from '../firmware/guard-state.ts';
import type { HistoryEntry } from '../firmware/update-journal.ts';
import type { UpdaterStatus } from '../firmware/updater-status.ts';
import { systemClock } from '../host/clock.ts';
import { type OpenFile, systemFiles, undefinedWhenMissing } from '../host/files.ts';
import { actAsOwnerOf } from '../host/folder-owner.ts';
import { type JsonValue, stringifyJson } from '../host/json.ts';
import { type AgentFlags, addAgentOptions, connectAgent } from './agent-connection.ts';
import type { Edge } from './edge.ts';
import { CommandError, EXIT } from './exit-code.ts';
import { selfTest } from './firmware-self-test.ts';
import { ProgressBar } from './progress-bar.ts';
import { printable } from './style.ts';
import { columns } from './table.ts';

const EXAMPLES = `
Examples:
  $ turnstone firmware status
  $ turnstone firmware check                    ask the platform now, and try an offer again that failed
  $ sudo turnstone firmware install turnstone-1.3.0-linux-arm64.tar.zst
  $ turnstone firmware rollback
  $ turnstone firmware history --json

Exit codes: 0 done, 1 the update failed, 69 no agent runs, 77 no permission (join group turnstone).`;

type Flags = AgentFlags & { readonly json?: boolean; readonly wait?: boolean };

/** How often a waiting command looks; people see it as motion. */
const LOOK_EVERY_MS = 500;
const COPY_BYTES = 256 * 1024;

export function addFirmwareCommand(program: Command, edge: Edge): void {
  const firmware = program
    .command('firmware')
    .description('show, fetch, install and take back releases of this agent')
    .addHelpText('after', EXAMPLES);
  const add = (words: string, description: string): Command =>
    addAgentOptions(firmware.command(words).description(description)).option('--json', 'print JSON');

  add('status', 'what runs, what is offered, and where an update stands').action((flags: Flags) =>
    withAgent({ flags, edge }, async (agent) => print(edge, flags, await statusOf(agent), statusText)),
  );
  add('history', 'the updates so far, the latest first').action((flags: Flags) =>
    withAgent({ flags, edge }, async (agent) => print(edge, flags, (await statusOf(agent)).history, historyText)),
  );
  add('check', 'ask the platform for an offer now; one that failed is tried again')
    .option('--no-wait', 'do not wait for the end of the update')
    .action((flags: Flags) => withAgent({ flags, edge }, (agent) => change(edge, flags, agent, 'firmwareCheck', {})));
  add('install', 'install a release bundle that lies here')
    .argument('<file>', 'turnstone-<version>-linux-<arch>.tar.zst')
    .option('--no-wait', 'do not wait for the end of the update')
    .action((file: string, flags: Flags) =>
      withAgent({ flags, edge }, async (agent) => {
        const path = await handOver(file, agent, { flags, edge });
        try {
          await change(edge, flags, agent, 'firmwareInstall', { path });
        } finally {
          await rm(path, { force: true });
        }
      }),
    );
  add('rollback', 'go back to the release before, or to a kept one')
    .option('--to <version>', 'which one (default: the one that ran before)')
    .option('--no-wait', 'do not wait for the end of the update')
    .action((flags: Flags & { readonly to?: string }) =>
      withAgent({ flags, edge }, (agent) =>
        change(edge, flags, agent, 'firmwareRollback', flags.to === undefined ? {} : { version: flags.to }),
      ),
    );
  firmware
    .command('self-test', { hidden: true })
    .description('whether this release loads, its native modules too, and accepts a configuration')
    .option('--config <file>', 'configuration; without it only what the release needs to run is looked at')
    .action(async (flags: { readonly config?: string }) => {
      await selfTest(flags.config, edge.environment);
      edge.stdout.write('ok\n');
    });

  /** Begins an update and follows it until this agent is replaced, or to its end. */
  async function change(one: Edge, flags: Flags, agent: ControlClient, method: string, params: Record<string, string>): Promise<void> {
    const before = (await statusOf(agent)).history[0];
    await agent.request(method, params);
    if (flags.wait === false) return print(one, flags, await statusOf(agent), statusText);
    const bar = new ProgressBar(one.stderr, 'downloading');
    try {
      const last = await follow(one, agent, bar, before);
      bar.end();
      print(one, flags, last, statusText);
      const ended = last.history[0];
      if (ended?.outcome === 'FAILED' && isAnother(ended, before))
        throw new CommandError(`the update failed: ${ended.reason ?? 'no reason given'}`, { exitCode: EXIT.failure });
    } finally {
      bar.end();
    }
  }
}

/** The last status that was seen; the agent's end, when it is replaced, ends this too. */
async function follow(edge: Edge, agent: ControlClient, bar: ProgressBar, before: HistoryEntry | undefined): Promise<UpdaterStatus> {
  let last = await statusOf(agent);
  while (!edge.signal.aborted) {
    if (last.receivedBytes !== undefined) bar.update(last.receivedBytes, last.sizeBytes, formatSize);
    const isOver = last.state === 'idle' && last.beginning !== true;
    if (isOver || last.waits !== undefined || last.state === 'trial' || isAnother(last.history[0], before)) return last;
    await systemClock.sleep(LOOK_EVERY_MS, edge.signal);
    const seen = await statusOf(agent).catch(() => undefined);
    if (seen === undefined) return last;
    last = seen;
  }
  return last;
}

function isAnother(entry: HistoryEntry | undefined, before: HistoryEntry | undefined): boolean {
  return JSON.stringify(entry) !== JSON.stringify(before);
}

async function withAgent(
  { flags, edge }: { readonly flags: Flags; readonly edge: Edge },
  act: (agent: ControlClient) => Promise<void>,
): Promise<void> {
  const agent = await connectAgent(flags, edge);
  try {
    await act(agent);
  } finally {
    await agent.close();
  }
}

async function statusOf(agent: ControlClient): Promise<UpdaterStatus> {
  return (await agent.request('firmwareStatus')) as unknown as UpdaterStatus;
}

function print<T>(edge: Edge, flags: Flags, value: T, toText: (value: T, width: number) => string): void {
  edge.stdout.write(flags.json === true ? `${stringifyJson(value as JsonValue)}\n` : toText(value, edge.stdout.columns));
}

function statusText(status: UpdaterStatus, width: number): string {
  const { update, offered, receivedBytes, sizeBytes, fault, waits } = status;
  const rows: (readonly string[])[] = [['running', `${status.running}${status.confirmed === status.running ? ', confirmed' : ''}`]];
  if (fault !== undefined) rows.push(['updates', `not possible now: ${printable(fault)}`]);
  if (offered !== undefined)
    rows.push(['offered', `${printable(offered.title)} ${printable(offered.version)}${offered.settled ? ', settled' : ''}`]);
  if (update !== undefined) {
    const progress =
      receivedBytes === undefined ? '' : `, ${formatSize(receivedBytes)}${sizeBytes === undefined ? '' : ` of ${formatSize(sizeBytes)}`}`;
    rows.push(['update', `${printable(update.title)} ${printable(update.version)}: ${status.state}${progress}`]);
    if (waits !== undefined) rows.push(['waits', printable(waits)]);
    if (update.reason !== undefined) rows.push(['because', printable(update.reason)]);
  }
  const last = status.history[0];
  if (last !== undefined) rows.push(['last', entryText(last)]);
  return columns(rows, width);
}

function historyText(history: readonly HistoryEntry[], width: number): string {
  if (history.length === 0) return 'no update yet\n';
  return columns(
    history.map((entry) => [new Date(entry.endedAtMs).toISOString().slice(0, 16).replace('T', ' '), entryText(entry)]),
    width,
  );
}

function entryText({ title, version, from, outcome, reason }: HistoryEntry): string {
  return `${printable(title)} ${printable(from)} → ${printable(version)} ${outcome}${reason === undefined ? '' : `: ${printable(reason)}`}`;
}

/**
 * Puts a copy where the service can read it: its walls hide /home, /root and other users' /tmp from it.
 * @throws CommandError for a file that cannot be read, or for a user who may not write in the service's folder.
 */
async function handOver(
  file: string,
  agent: ControlClient,
  { flags, edge }: { readonly flags: Flags; readonly edge: Edge },
): Promise<string> {
  const source = await systemFiles.open(file, 'read', { follow: true }).catch((cause: unknown) => {
    throw new CommandError(`cannot read ${file}: ${systemCode(cause) === 'EINVAL' ? 'it is not a regular file' : systemCode(cause)}`, {
      cause,
    });
  });
  const { folder } = (await agent.request('firmwareInbox')) as { readonly folder: string };
  const copy = join(folder, HANDED_OVER_NAME);
  try {
    // The folder is the service's, and so is its name: neither is to lead root anywhere.
    await actAsOwnerOf((await peekFolders(flags.config, edge.environment)).stateFolder);
    await systemFiles.unlink(copy).catch(undefinedWhenMissing);
    const target = await systemFiles.open(copy, 'create', { mode: 0o644 });
    await copyContent(source, target).finally(() => target.close());
    return copy;
  } catch (cause) {
    throw new CommandError(`cannot put ${file} where the service reads it (${folder}): ${systemCode(cause) ?? messageOf(cause)}`, {
      exitCode: EXIT.noPermission,
      ...(process.getuid?.() === 0 ? {} : { nextStep: 'run the command with sudo' }),
      cause,
    });
  } finally {
    await source.close();
  }
}

async function copyContent(source: OpenFile, target: OpenFile): Promise<void> {
  const piece = Buffer.alloc(COPY_BYTES);
  for (let at = 0; ; ) {
    const bytes = await source.read(piece, at);
    if (bytes === 0) return;
    await target.write(piece.subarray(0, bytes), at);
    at += bytes;
  }
}
