/** The way of a command to the outbox: through the running agent, or to its files when none runs. */

import { join } from 'node:path';
import { entryQuery, outboxDoors } from '../agent/outbox-doors.ts';
import { DEFAULT_CONFIG_FILE } from '../config/peek-folders.ts';
import { loadConfig } from '../config/read-config.ts';
import { systemClock } from '../host/clock.ts';
import { systemFiles } from '../host/files.ts';
import { actAsOwnerOf } from '../host/folder-owner.ts';
import type { JsonObject, JsonValue } from '../host/json.ts';
import { silentLog } from '../host/log.ts';
import { StateLock } from '../host/state-lock.ts';
import { askSystemTime, TimeSync } from '../host/time-sync.ts';
import { Outbox } from '../outbox/outbox.ts';
import type { ResolvedEntry } from '../outbox/outbox-batch.ts';
import type { OutboxStatus } from '../outbox/outbox-status.ts';
import type { RejectedEntry } from '../outbox/rejected-file.ts';
import { type AgentFlags, agentWallMs, connectAgent } from './agent-connection.ts';
import type { Edge } from './edge.ts';
import { CommandError, EXIT } from './exit-code.ts';

export interface OutboxAccess {
  /** Whether a running agent answers; only then is anything sent. */
  readonly isRunning: boolean;
  status(): Promise<OutboxStatus>;
  /** UTC epoch ms, by the clock that the entries' times are of. */
  wallMs(): Promise<number>;
  rejected(): Promise<readonly RejectedEntry[]>;
  /** How many were put back. */
  resendRejected(sequences: readonly number[] | undefined): Promise<number>;
  /** Calls back with entries in the order of blocks, a few hundred at a time. */
  entries(query: JsonObject, onEntries: (entries: readonly ResolvedEntry[]) => void | Promise<void>, signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

export type OutboxFlags = AgentFlags & { readonly json?: boolean };

const FOLDER = 'outbox';

/** Opens the outbox for one piece of work. */
export async function withOutbox<T>(flags: OutboxFlags, edge: Edge, work: (access: OutboxAccess) => Promise<T>): Promise<T> {
  const access = await openOutbox(flags, edge);
  try {
    return await work(access);
  } finally {
    await access.close();
  }
}

/** @throws CommandError, AgentError when neither an agent nor its files can be reached. */
async function openOutbox(flags: AgentFlags, edge: Edge): Promise<OutboxAccess> {
  try {
    return await throughAgent(flags, edge);
  } catch (error) {
    if (!(error instanceof CommandError) || error.exitCode !== EXIT.notRunning) throw error;
    return ofFiles(flags.config ?? DEFAULT_CONFIG_FILE, edge);
  }
}

async function throughAgent(flags: AgentFlags, edge: Edge): Promise<OutboxAccess> {
  const agent = await connectAgent(flags, edge);
  return {
    isRunning: true,
    status: async () => (await agent.request('outboxStatus')) as unknown as OutboxStatus,
    wallMs: () => agentWallMs(agent),
    rejected: async () => (await agent.request('rejectedEntries')) as unknown as readonly RejectedEntry[],
    resendRejected: async (sequences) => resentOf(await agent.request('resendRejected', sequences === undefined ? {} : { sequences })),
    entries: async (query, onEntries, signal) => {
      let writing: Promise<void> = Promise.resolve();
      await agent.subscribe(
        'outboxEntries',
        query,
        (event) => (writing = writing.then(() => onEntries(event as unknown as readonly ResolvedEntry[]))),
        signal,
      );
      await writing;
    },
    close: () => agent.close(),
  };
}

/** No agent runs, and none can start while this is open. */
async function ofFiles(configFile: string, edge: Edge): Promise<OutboxAccess> {
  const { stateFolder, outbox: settings } = await loadConfig(configFile, { environment: edge.environment });
  await actAsOwnerOf(stateFolder);
  const lock = await StateLock.take(stateFolder);
  const folder = join(stateFolder, FOLDER);
  const timeSync = new TimeSync({ clock: systemClock, policy: 'system', ask: askSystemTime });
  const { retain, ...rest } = settings;
  const outbox = await Outbox.open(
    {
      folder,
      clock: systemClock,
      files: systemFiles,
      log: silentLog,
      timeSync,
      settings: { ...rest, retainForMs: retain.forMs, retainBytes: retain.bytes },
    },
    edge.signal,
  );
  const doors = outboxDoors(outbox);
  const never = new AbortController().signal;
  return {
    isRunning: false,
    status: async () => outbox.status(),
    wallMs: async () => systemClock.wallMs(),
    rejected: () => outbox.rejected(),
    resendRejected: async (sequences) =>
      resentOf((await doors.methods.resendRejected?.(sequences === undefined ? {} : { sequences: [...sequences] }, never)) ?? null),
    entries: async (query, onEntries, signal) => {
      for await (const entry of outbox.read(entryQuery(query), signal)) await onEntries([entry]);
    },
    close: async () => {
      await outbox.close();
      timeSync.close();
      await lock.close();
    },
  };
}

function resentOf(answer: JsonValue): number {
  const resent = typeof answer === 'object' && answer !== null && 'resent' in answer ? answer.resent : 0;
  return typeof resent === 'number' ? resent : 0;
}
