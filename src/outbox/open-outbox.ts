/** Opens the outbox of a running agent, which does not wait for its disk. */
import { join } from 'node:path';
import type { OutboxConfig } from '../config/schema/agent-config.ts';
import type { Log } from '../host/log.ts';
import type { HostMachine } from '../host/machine.ts';
import { Outbox } from './outbox.ts';
import { PatientOutbox } from './patient-outbox.ts';
import { UnreadFiles } from './segments/small-file.ts';
import type { TimeSource } from './times/boot-times.ts';

export interface OpenOutboxDeps extends Pick<HostMachine, 'clock' | 'files'> {
  readonly stateFolder: string;
  readonly config: OutboxConfig;
  readonly log: Log;
  readonly timeSync: TimeSource;
  /** Resolves when what lies there is this agent's alone. @throws what keeps it from being so. */
  readonly expectFolder: () => Promise<void>;
  readonly presentMs?: (() => number) | undefined;
}

/** Resolves when it was tried once. Never rejects. */
export function openOutbox(deps: OpenOutboxDeps, signal: AbortSignal): Promise<PatientOutbox> {
  const { config, clock, files, log, timeSync, expectFolder, presentMs } = deps;
  const shared = { folder: outboxFolder(deps.stateFolder), clock, files, log, timeSync, settings: config, presentMs };
  const unread = new UnreadFiles(clock);
  return PatientOutbox.open({
    ...shared,
    memoryEntries: config.memoryEntries,
    open: async () => {
      await expectFolder();
      return Outbox.open({ ...shared, unread }, signal);
    },
  });
}

export function outboxFolder(stateFolder: string): string {
  return join(stateFolder, 'outbox');
}
