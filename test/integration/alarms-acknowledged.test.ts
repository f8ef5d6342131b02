/** Alarms of a whole agent that people acknowledge on the page, from the platform and at the device; and what a kill leaves of that. */
import { execFile } from 'node:child_process';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { LocalPlatform } from '../../src/stand-ins/local-platform/local-platform.ts';
import type { AgentStatus } from '../../src/status/shape/agent-status.ts';
import { AgentProcess } from '../support/agent-process.ts';
import { AGENT_PROGRAM } from '../support/agent-program.ts';
import { freePort } from '../support/free-port.ts';
import { RestPerson } from '../support/rest-person.ts';

const PIN = 'look-pin-7720';
const WITHIN = { timeout: 20_000, interval: 100 };

let platform: LocalPlatform;
let agent: AgentProcess;
let person: RestPerson;
let deviceId: string;
let url: string;

const authorization = `Bearer ${PIN}`;
const valueFile = () => join(agent.folder, 'values.json');
const latest = (key: string) => platform.state.telemetry.series(deviceId, key).latest()?.value;
/** In one step: the sensor never reads half of it. */
async function set(values: object): Promise<void> {
  await writeFile(`${valueFile()}.next`, JSON.stringify(values));
  await rename(`${valueFile()}.next`, valueFile());
}

async function alarms(): Promise<Record<string, string | undefined>> {
  const status = (await (await fetch(`${url}/api/status`, { headers: { authorization } })).json()) as AgentStatus;
  return Object.fromEntries(status.alarms.map(({ name, acknowledged }) => [name, acknowledged?.by]));
}

function onPage(params: object): Promise<Response> {
  return fetch(`${url}/api/operation`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json' },
    body: JSON.stringify({ operation: 'acknowledgeAlarm', params }),
  });
}

beforeAll(async () => {
  platform = await LocalPlatform.start();
  deviceId = platform.ensureDevice('alarmed', 'alarmed-token').id;
  person = await RestPerson.logIn(platform.url);
  const port = await freePort();
  url = `http://127.0.0.1:${port}`;
  agent = await AgentProcess.make(
    [
      'version: 1',
      `platform: { url: "${platform.url}", accessToken: alarmed-token }`,
      'time: { trust: always }',
      `status: { page: loopback, port: ${port}, pin: ${PIN}, control: true }`,
      'sensors:',
      '  - name: room',
      '    kind: command',
      '    program: /bin/cat',
      '    arguments: ["{values}"]',
      '    period: 500ms',
      '    keys:',
      '      temperature: { rename: warmth, label: Cold room, alarms: [{ name: hot, above: 40 }, { name: fire, above: 60 }] }',
      '      humidity: { alarms: [{ above: 80 }] }',
    ].join('\n'),
    'ALARMED-1',
  );
  const written = await readFile(agent.configFile, 'utf8');
  await writeFile(agent.configFile, written.replace('{values}', valueFile()), { mode: 0o600 });
  await set({ temperature: 70, humidity: 90 });
  agent.start();
  await vi.waitFor(
    async () => expect(await alarms()).toEqual({ hot: undefined, fire: undefined, 'above 80': undefined }),
    WITHIN,
  );
}, 60_000);

afterAll(async () => {
  await agent?.remove();
  await platform?.close();
});

it('are seen as acknowledged in the status and at the platform, from the page, the platform and the device', {
  timeout: 60_000,
}, async () => {
  const refused = await onPage({ sensor: 'room', key: 'temperature', name: 'hot' });
  expect([refused.status, await refused.json()]).toEqual([409, expect.objectContaining({ code: 'alarms/not-on' })]);
  expect(await (await onPage({ sensor: 'room', key: 'warmth', name: 'hot' })).json()).toMatchObject([
    { name: 'hot', acknowledged: { by: 'page' } },
  ]);
  expect(await alarms()).toEqual({ hot: 'page', fire: undefined, 'above 80': undefined });
  await vi.waitFor(() => expect(latest('warmth_alarm_acknowledged')).toBe('hot, by page'), WITHIN);

  const { status, text } = await person.rpc(deviceId, 'acknowledgeAlarm', { sensor: 'room', key: 'warmth' });
  expect([status, JSON.parse(text)]).toMatchObject([200, { result: [{ name: 'hot' }, { name: 'fire' }] }]);
  await vi.waitFor(() => expect(latest('warmth_alarm_acknowledged')).toBe('hot, by page; fire, by platform'), WITHIN);

  const words = ['alarms', 'acknowledge', 'humidity', '--run-folder', join(agent.folder, 'run')];
  await promisify(execFile)(process.execPath, [AGENT_PROGRAM, ...words]);
  expect(await alarms()).toEqual({ hot: 'page', fire: 'platform', 'above 80': 'local' });

  const { events } = (await (await fetch(`${url}/api/timeline?kind=alarm`, { headers: { authorization } })).json()) as {
    events: { words: string }[];
  };
  expect(events.slice(0, 3).map((event) => event.words)).toEqual([
    'A person at the device acknowledged the alarm: Humidity, above 80.',
    'The platform acknowledged the alarm: Cold room, above 60 (fire).',
    'Somebody on the page acknowledged the alarm: Cold room, above 40 (hot).',
  ]);
});

it('are so after a kill, until they have ended', { timeout: 60_000 }, async () => {
  await agent.stop('SIGKILL');
  agent.start();
  await vi.waitFor(
    async () => expect(await alarms()).toEqual({ hot: 'page', fire: 'platform', 'above 80': 'local' }),
    WITHIN,
  );
  await set({ temperature: 20, humidity: 90 });
  await vi.waitFor(async () => expect(await alarms()).toEqual({ 'above 80': 'local' }), WITHIN);
  await vi.waitFor(() => expect(latest('warmth_alarm_acknowledged')).toBe('ok'), WITHIN);
  await set({ temperature: 50, humidity: 90 });
  await vi.waitFor(async () => expect(await alarms()).toEqual({ hot: undefined, 'above 80': 'local' }), WITHIN);
});
