/** Calls of the outbox where no agent runs, served from its files, which are opened for one command. Nothing is sent. */
import { loadConfig } from '../config/read-config.ts';
import { systemClock } from '../host/clock.ts';
import { systemFiles } from '../host/files.ts';
import { actAsOwnerOf } from '../host/folder-owner.ts';
import { silentLog } from '../host/log.ts';
import { takeLock } from '../host/state-lock.ts';
import { askSystemTime, TimeSync } from '../host/time-sync.ts';
import { outboxCalls } from '../outbox/control-calls.ts';
import { outboxFolder } from '../outbox/open-outbox.ts';
import { Outbox } from '../outbox/outbox.ts';
import type { AgentFiles } from './agent-calls.ts';
import type { Edge } from './edge.ts';

/** No agent can start while it is open. @throws CommandError, AgentError when it cannot be opened. */
export async function openOutboxFiles(configFile: string, edge: Edge): Promise<AgentFiles> {
  const { stateFolder, outbox: settings } = await loadConfig(configFile, { environment: edge.environment });
  await actAsOwnerOf(stateFolder);
  const lock = await takeLock(stateFolder);
  const folder = outboxFolder(stateFolder);
  const timeSync = new TimeSync({ clock: systemClock, policy: 'system', ask: askSystemTime });
  const outbox = await Outbox.open(
    { folder, clock: systemClock, files: systemFiles, log: silentLog, timeSync, settings },
    edge.signal,
  );
  return {
    ...outboxCalls(outbox),
    close: async () => {
      await outbox.close();
      timeSync.close();
      await lock.close();
    },
  };
}
