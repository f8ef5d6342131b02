/** Verdict of the agent's own doctor on the access token: only what the platform's answers have shown. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { diagnoseSelf } from '../../../src/doctor/self-diagnosis.ts';
import { systemClock } from '../../../src/host/clock.ts';
import type { PlatformStatus } from '../../../src/status/platform-status.ts';
import type { AgentStatus } from '../../../src/status/shape/agent-status.ts';
import { stateFolder } from '../devices/state-folder.ts';

async function configuration(): Promise<string> {
  const folder = await stateFolder();
  const file = join(folder, 'gateway.yaml');
  const platform = '{ url: "http://127.0.0.1:1", accessToken: a-token-1 }';
  await writeFile(
    file,
    `version: 1\nplatform: ${platform}\nstateFolder: ${folder}\nrunFolder: ${folder}-run\nsensors: []\n`,
    {
      mode: 0o600,
    },
  );
  return file;
}

async function ofToken(contact: Partial<PlatformStatus>): Promise<unknown> {
  const none = { heldEntries: 0, heldBytes: 0, rejected: 0, thinned: 0, dropped: 0, writtenBytes: 0 };
  const platform = {
    state: 'reached',
    sinceMs: 0,
    verdict: 'waiting',
    words: 'nothing was acknowledged yet',
    ...contact,
  };
  // Only what the doctor looks at.
  const status = {
    version: '1',
    nowMs: 2,
    startedAtMs: 1,
    wallMs: 3,
    timeSynchronised: true,
    alerts: [],
    sensors: [],
    actuators: [],
    outbox: none,
    firmware: { version: '1' },
    lockedOut: false,
    platform,
  } as unknown as AgentStatus;
  const deps = {
    configFile: await configuration(),
    environment: {},
    clock: systemClock,
    status: () => status,
  };
  const { findings, good } = await diagnoseSelf(deps, new AbortController().signal);
  if ((good as string[]).includes('token')) return 'good';
  const [found] = (findings as { id: string; verdict: string; reason: string }[]).filter(({ id }) => id === 'token');
  return [found?.verdict, found?.reason];
}

it('says that the token is taken once the platform has answered to it', async () => {
  expect(await ofToken({ lastHeardAtMs: 1 })).toBe('good');
});

it('gives the agent’s own words for what keeps it from the platform', async () => {
  const fault = {
    problem: 'the platform does not know this device’s access token (401)',
    remedy: 'compare it',
    lastHeardAtMs: 1,
  };
  expect(await ofToken({ state: 'refused', ...fault })).toEqual(['fault', fault.problem]);
});

it('says nothing of the token before the platform has', async () => {
  expect(await ofToken({ state: 'never-reached' })).toEqual(['unknown', expect.stringContaining('not asked yet')]);
});
