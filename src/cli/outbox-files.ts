/** Calls of the outbox where no agent runs, served from the files of all places, which are opened for one command. Nothing is sent. */
import { join } from 'node:path';
import { loadConfig } from '../config/read-config.ts';
import { messageOf } from '../errors/agent-error.ts';
import { systemClock } from '../host/clock.ts';
import { systemFiles } from '../host/files.ts';
import { actAsOwnerOf } from '../host/folder-owner.ts';
import { silentLog } from '../host/log.ts';
import { takeLock } from '../host/state-lock.ts';
import { askSystemTime, TimeSync } from '../host/time-sync.ts';
import { operationsOf } from '../operations/operation-table.ts';
import { outboxFolder } from '../outbox/open-outbox.ts';
import { type KeptPlace, KeptPlaces, Outbox, statusBeforeOpening } from '../outbox/outbox.ts';
import { readDevice } from '../telemetry/held-devices.ts';
import type { AgentFiles } from './agent-calls.ts';
import type { Edge } from './edge.ts';

/** Folder of a place that keeps entries. */
export interface PlaceFolder {
  readonly name: string;
  readonly folder: string;
  readonly isApart?: true;
}

/** Returns the places of a state folder, the gateway's own first; the others only where they are there. */
export async function placeFolders(stateFolder: string): Promise<readonly [PlaceFolder, ...PlaceFolder[]]> {
  const own = { name: 'gateway', folder: outboxFolder(stateFolder) };
  const devices = join(stateFolder, 'devices');
  const shared = { name: 'attached devices', folder: outboxFolder(devices) };
  const held = join(devices, 'held');
  const isThere = async (folder: string): Promise<boolean> =>
    (await systemFiles.facts(folder).catch(() => undefined)) !== undefined;
  const apart: PlaceFolder[] = [];
  for (const name of (await isThere(held)) ? [...(await systemFiles.list(held))].sort() : []) {
    const device = await readDevice({ files: systemFiles }, join(held, name)).catch(() => undefined);
    if (device !== undefined) apart.push({ name: device, folder: outboxFolder(join(held, name)), isApart: true });
  }
  return [own, ...((await isThere(shared.folder)) ? [shared] : []), ...apart];
}

/** No agent can start while it is open. @throws CommandError, AgentError when no place can be opened. */
export async function openOutboxFiles(configFile: string, edge: Edge): Promise<AgentFiles> {
  const { stateFolder, outbox: settings } = await loadConfig(configFile, { environment: edge.environment });
  await actAsOwnerOf(stateFolder);
  const lock = await takeLock(stateFolder);
  const timeSync = new TimeSync({ clock: systemClock, policy: 'system', ask: askSystemTime });
  const opened: Outbox[] = [];
  const faults: unknown[] = [];
  const open = async ({ folder, ...place }: PlaceFolder): Promise<KeptPlace> => {
    try {
      const outbox = await Outbox.open(
        { folder, clock: systemClock, files: systemFiles, log: silentLog, timeSync, settings },
        edge.signal,
      );
      opened.push(outbox);
      return { ...place, outbox };
    } catch (fault) {
      faults.push(fault);
      return { ...place, outbox: unopened(fault) };
    }
  };
  const [own, ...others] = await placeFolders(stateFolder);
  const places: [KeptPlace, ...KeptPlace[]] = [await open(own)];
  for (const place of others) places.push(await open(place));
  if (opened.length === 0) throw faults[0];
  return {
    operations: operationsOf({ outbox: new KeptPlaces(() => places) }),
    close: async () => {
      for (const outbox of opened) await outbox.close();
      timeSync.close();
      await lock.close();
    },
  };
}

/** Stands for an outbox that cannot be opened: the others answer. */
function unopened(fault: unknown): KeptPlace['outbox'] {
  const refuse = async (): Promise<never> => {
    throw fault;
  };
  return {
    status: () => statusBeforeOpening({ heldEntries: 0, dropped: 0, fault: messageOf(fault), timeSynchronised: true }),
    // biome-ignore lint/correctness/useYield: it has nothing to give.
    async *read() {
      throw fault;
    },
    rejected: refuse,
    resendRejected: refuse,
  };
}
