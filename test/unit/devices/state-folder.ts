/** A state folder of its own for each test, and the alerts that stand. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { CredentialsStore } from '../../../src/devices/credentials-store.ts';
import type { Alerts } from '../../../src/host/alert-list.ts';
import { systemFiles } from '../../../src/host/files.ts';
import { silentLog } from '../../../src/host/log.ts';
import { FakeClock } from '../../support/fake-clock.ts';

export class StandingAlerts implements Alerts {
  readonly standing = new Map<string, string>();

  raise(name: string, message: string): void {
    this.standing.set(name, message);
  }

  clear(name: string): void {
    this.standing.delete(name);
  }
}

export async function stateFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'turnstone-credentials-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

export function openStore(
  folder: string,
  alerts: Alerts = new StandingAlerts(),
  hidden: string[] = [],
): Promise<CredentialsStore> {
  const hide = (secret: string): number => hidden.push(secret);
  return CredentialsStore.open({
    stateFolder: folder,
    files: systemFiles,
    clock: new FakeClock(),
    log: silentLog,
    alerts,
    hide,
  });
}
