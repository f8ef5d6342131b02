/** Shows the running release, the offer, and how an update goes on. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { formatSize } from '../config/fields/quantity.ts';
import { namedFolders } from '../config/peek-config.ts';
import { AgentError, messageOf, systemCode } from '../errors/agent-error.ts';
import { HANDED_OVER_NAME } from '../firmware/guard-state.ts';
import { copyWhereRoom } from '../firmware/release-folder.ts';
import { updateFiles } from '../firmware/update-files.ts';
import { type HistoryEntry, UNKNOWN_VERSION } from '../firmware/update-journal.ts';
import type { UpdaterStatus } from '../firmware/updater-status.ts';
import { systemClock } from '../host/clock.ts';
import { type OpenFile, systemFiles } from '../host/files.ts';
import { actAsOwnerOf } from '../host/folder-owner.ts';
import { printable } from '../names/printable.ts';
import type { JsonObject } from '../values/json.ts';
import type { AgentCalls } from './agent-calls.ts';
import type { Call } from './command.ts';
import type { InstallCall, RollbackCall, WaitingCall } from './commands/firmware.ts';
import type { Edge } from './edge.ts';
import { CommandError, EXIT } from './exit-code.ts';
import type { Printer } from './printer.ts';
import { type Progress, sizes, withProgress } from './progress.ts';

/** How often a waiting command looks; people see it as motion. */
const LOOK_EVERY_MS = 500;

type AnyCall = Pick<Call, 'agent' | 'edge' | 'print'>;

export async function showFirmware({ agent, print }: AnyCall): Promise<void> {
  printStatus(await statusOf(await agent()), print);
}

export async function showHistory({ agent, print }: AnyCall): Promise<void> {
  const { history } = await statusOf(await agent());
  print.result(history, () => historyText(history, print));
}

export async function checkForOffer(call: WaitingCall): Promise<void> {
  await change(call, 'firmwareCheck', {});
}

export async function installBundle(call: InstallCall): Promise<void> {
  const path = await handOver(call);
  try {
    await change(call, 'firmwareInstall', { path });
  } finally {
    await rm(path, { force: true });
  }
}

export async function rollBack(call: RollbackCall): Promise<void> {
  await change(call, 'firmwareRollback', call.flags.to === undefined ? {} : { version: call.flags.to });
}

/** Begins an update and follows it until this agent is replaced, or to its end. */
async function change(
  { agent, edge, flags, print }: WaitingCall,
  method: 'firmwareCheck' | 'firmwareInstall' | 'firmwareRollback',
  params: JsonObject,
): Promise<void> {
  const asked = await agent();
  const before = (await statusOf(asked)).history[0];
  await asked.ask(method, params);
  if (!flags.wait) return printStatus(await statusOf(asked), print);
  const last = await withProgress(edge.stderr, 'update', (progress) => follow(edge, asked, progress, before));
  printStatus(last, print);
  const [ended] = last.history;
  if (ended?.outcome === 'FAILED' && isAnother(ended, before))
    throw new CommandError(`the update failed: ${ended.reason ?? 'no reason given'}`);
}

/** The last status that was seen; the agent's end, when it is replaced, ends this too. */
async function follow(
  edge: Edge,
  agent: AgentCalls,
  progress: Progress,
  before: HistoryEntry | undefined,
): Promise<UpdaterStatus> {
  let last = await statusOf(agent);
  while (!edge.signal.aborted) {
    const { receivedBytes, sizeBytes, state } = last;
    if (receivedBytes === undefined) progress.step(state);
    else progress.update(receivedBytes, sizeBytes, (done, total) => `${state} ${sizes(done, total)}`);
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

async function statusOf(agent: AgentCalls): Promise<UpdaterStatus> {
  return await agent.ask('firmwareStatus');
}

function printStatus(status: UpdaterStatus, print: Printer): void {
  print.result(status, () => statusText(status, print));
}

function statusText(status: UpdaterStatus, print: Printer): string {
  const { update, offered, receivedBytes, sizeBytes, fault, waits } = status;
  const rows: (readonly string[])[] = [
    ['running', `${status.running}${status.confirmed === status.running ? ', confirmed' : ''}`],
  ];
  if (fault !== undefined) rows.push(['updates', `not possible now: ${printable(fault)}`]);
  if (offered !== undefined)
    rows.push([
      'offered',
      `${printable(offered.title)} ${printable(offered.version)}${offered.settled ? ', settled' : ''}`,
    ]);
  if (update !== undefined) {
    const progress =
      receivedBytes === undefined
        ? ''
        : `, ${formatSize(receivedBytes)}${sizeBytes === undefined ? '' : ` of ${formatSize(sizeBytes)}`}`;
    rows.push(['update', `${printable(update.title)} ${printable(update.version)}: ${status.state}${progress}`]);
    if (waits !== undefined) rows.push(['waits', printable(waits)]);
    if (update.reason !== undefined) rows.push(['because', printable(update.reason)]);
  }
  const last = status.history[0];
  if (last !== undefined) rows.push(['last', entryText(last)]);
  return print.table(rows);
}

function historyText(history: readonly HistoryEntry[], print: Printer): string {
  if (history.length === 0) return 'no update yet\n';
  return print.table(
    history.map((entry) => [new Date(entry.endedAtMs).toISOString().slice(0, 16).concat('Z'), entryText(entry)]),
  );
}

function entryText({ title, version, from, outcome, reason, isThere }: HistoryEntry): string {
  if (isThere === true) return `${printable(title)} ${printable(version)} assigned again: it was there`;
  const before = from === UNKNOWN_VERSION ? '' : `${printable(from)} → `;
  return `${printable(title)} ${before}${printable(version)} ${outcome}${reason === undefined ? '' : `: ${printable(reason)}`}`;
}

/**
 * Puts a copy where the service can read it: its walls hide /home, /root and other users' /tmp from it.
 * @throws CommandError for a file that cannot be read, or for a user who may not write in the service's folder.
 */
async function handOver({ args: { file }, flags, edge, agent }: InstallCall): Promise<string> {
  const asked = await agent();
  const source = await systemFiles.open(file, 'read', { follow: true }).catch((cause: unknown) => {
    throw new CommandError(
      `cannot read ${file}: ${systemCode(cause) === 'EINVAL' ? 'it is not a regular file' : systemCode(cause)}`,
      {
        cause,
      },
    );
  });
  const { folder } = await asked.ask('firmwareInbox');
  const copy = join(folder, HANDED_OVER_NAME);
  const files = updateFiles(systemFiles);
  try {
    // The folder is the service's, and so is its name: neither is to lead root anywhere.
    await actAsOwnerOf((await namedFolders(flags.config, edge.environment)).stateFolder);
    await files.remove(copy);
    // The agent makes its own of it. On a full disk a part of one would lie in the way of the readings.
    await withProgress(edge.stderr, 'handing the release over', async (progress) => {
      await copyWhereRoom(files, await readWithProgress(source, progress), copy, Number.MAX_SAFE_INTEGER, 2).catch(
        async (error: unknown) => {
          await files.remove(copy);
          throw error;
        },
      );
    });
    // The agent need not be the folder's owner.
    await systemFiles.chmod(copy, 0o644);
    return copy;
  } catch (cause) {
    const code = cause instanceof AgentError ? undefined : systemCode(cause);
    const isForbidden = code === 'EACCES' || code === 'EPERM';
    throw new CommandError(`cannot put ${file} where the service reads it (${folder}): ${code ?? messageOf(cause)}`, {
      exitCode: isForbidden ? EXIT.noPermission : EXIT.failure,
      ...(isForbidden && process.getuid?.() !== 0 ? { nextStep: 'run the command with sudo' } : {}),
      cause,
    });
  } finally {
    await source.close();
  }
}

/** The same file, whose reads are told. */
async function readWithProgress(source: OpenFile, progress: Progress): Promise<OpenFile> {
  const total = await source.size();
  return {
    read: async (into, position) => {
      const bytes = await source.read(into, position);
      progress.update(Math.min(total, position + bytes), total, sizes);
      return bytes;
    },
    write: (bytes, position) => source.write(bytes, position),
    datasync: () => source.datasync(),
    size: () => source.size(),
    truncate: (bytes) => source.truncate(bytes),
    close: () => source.close(),
  };
}
