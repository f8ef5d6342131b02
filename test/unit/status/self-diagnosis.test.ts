/** What the agent's own doctor, behind the status page and the RPC, says of the access token: only what the platform's answers have shown. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { systemClock } from '../../../src/host/clock.ts';
import type { AgentStatus, ConnectionStatus } from '../../../src/status/agent-status.ts';
import { diagnoseSelf } from '../../../src/status/self-diagnosis.ts';
import { stateFolder } from '../provisioning/state-folder.ts';

async function configuration(): Promise<string> {
  const folder = await stateFolder();
  const file = join(folder, 'gateway.yaml');
  const platform = '{ url: "http://127.0.0.1:1", accessToken: a-token-1 }';
  await writeFile(file, `version: 1\nplatform: ${platform}\nstateFolder: ${folder}\nrunFolder: ${folder}\nsensors: []\n`, { mode: 0o600 });
  return file;
}

async function ofToken(connection: Partial<ConnectionStatus>, isTokenRefused = false): Promise<unknown> {
  const none = { heldEntries: 0, heldBytes: 0, rejected: 0, thinned: 0, dropped: 0, writtenBytes: 0 };
  // Only what the doctor looks at.
  const status = {
    ...{ version: '1', nowMs: 2, startedAtMs: 1, wallMs: 3, timeSynchronised: true, alerts: [], sensors: [], actuators: [], outbox: none },
    ...{ firmware: { version: '1' }, lockedOut: false, connection: { failures: 0, ...connection } },
  } as unknown as AgentStatus;
  const deps = {
    configFile: await configuration(),
    environment: {},
    clock: systemClock,
    status: () => status,
    isTokenRefused: () => isTokenRefused,
  };
  const { findings, good } = await diagnoseSelf(deps, new AbortController().signal);
  if ((good as string[]).includes('token')) return 'good';
  const [found] = (findings as { id: string; verdict: string; reason: string }[]).filter(({ id }) => id === 'token');
  return [found?.verdict, found?.reason];
}

it('says that the token is taken once something was acknowledged, whatever stands in between now', async () => {
  expect(await ofToken({ state: 'idle', lastAcknowledgedAtMs: 1 })).toBe('good');
  expect(await ofToken({ state: 'held', lastAcknowledgedAtMs: 1, reason: 'a login page' })).toBe('good');
});

it('says that the token is not known where the platform said so', async () => {
  expect(await ofToken({ state: 'held', reason: 'status 401' }, true)).toEqual(['fault', expect.stringContaining('does not know')]);
  expect(await ofToken({ state: 'held', lastAcknowledgedAtMs: 1 }, true)).toEqual(['fault', expect.stringContaining('does not know')]);
});

it('says nothing of the token before the platform has', async () => {
  expect(await ofToken({ state: 'held', reason: 'a login page' })).toEqual(['unknown', expect.stringContaining('a login page')]);
  expect(await ofToken({ state: 'backing-off', reason: 'no name server' })).toEqual(['unknown', expect.stringContaining('no name server')]);
  expect(await ofToken({ state: 'idle' })).toEqual(['unknown', expect.stringContaining('nothing was acknowledged')]);
});
