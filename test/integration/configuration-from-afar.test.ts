/** A whole agent that is asked for another configuration by RPC and by a shared attribute, where root has no helper: looked at, refused, and told. */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { LocalPlatform } from '../../src/stand-ins/local-platform/local-platform.ts';
import type { JsonObject } from '../../src/values/json.ts';
import { AgentProcess } from '../support/agent-process.ts';
import { freePort } from '../support/free-port.ts';
import { RestPerson } from '../support/rest-person.ts';

const WITHIN = { timeout: 20_000, interval: 100 };
const TOKEN = 'configured-token';
const PIN = 'page-pin-8841';

let platform: LocalPlatform;
let agent: AgentProcess;
let person: RestPerson;
let deviceId: string;
let base: string;
let pageUrl: string;

const client = (key: string): unknown => platform.state.attributes.read(deviceId, 'CLIENT_SCOPE', [key])[0]?.value;

async function asked(method: string, params: JsonObject): Promise<unknown> {
  const { status, text } = await person.rpc(deviceId, method, params);
  expect(status).toBe(200);
  return (JSON.parse(text) as { readonly result: unknown }).result;
}

beforeAll(async () => {
  platform = await LocalPlatform.start();
  deviceId = platform.ensureDevice('configured', TOKEN).id;
  person = await RestPerson.logIn(platform.url);
  const port = await freePort();
  pageUrl = `http://127.0.0.1:${port}`;
  agent = await AgentProcess.make(
    [
      'version: 1',
      `platform: { url: "${platform.url}", accessToken: ${TOKEN} }`,
      'remoteConfiguration: { enabled: true }',
      `status: { port: ${port}, pin: ${PIN}, control: true }`,
      'sensors:',
      '  - { name: machine, kind: host, period: 1s } # the only one',
    ].join('\n'),
    'CONFIGURED-1',
  );
  base = createHash('sha256')
    .update(await readFile(agent.configFile))
    .digest('hex');
  agent.start();
  await vi.waitFor(() => expect(client('configFileHash')).toBe(base), WITHIN);
}, 60_000);

afterAll(async () => {
  await agent?.remove();
  await platform?.close();
});

it('says what a patch would change, and changes nothing by looking', { timeout: 60_000 }, async () => {
  const before = await readFile(agent.configFile, 'utf8');
  const patch = { base, set: { 'sensors.machine.period': '5s', 'platform.accessToken': 'another-token' } };
  const looked = await asked('configure', { patch, check: true });
  expect(looked).toMatchObject({
    state: 'refused',
    base,
    reason: expect.stringMatching(/^may not come from afar: platform/),
  });
  expect(JSON.stringify(looked)).not.toMatch(/another-token|configured-token/);
  expect(await asked('configure', { patch: { base, set: { label: 'Cellar' } }, check: true })).toMatchObject({
    state: 'checked',
    difference: ['label: added, Cellar'],
    needs: 'reload',
  });
  expect(await readFile(agent.configFile, 'utf8')).toBe(before);
  expect(client('configurationState')).toBeUndefined();
});

it('tells the platform why a patch is refused, by RPC and by the shared attribute', { timeout: 60_000 }, async () => {
  const refused = await asked('configure', { patch: { base, set: { label: 'Cellar' } } });
  expect(refused).toMatchObject({ state: 'refused', reason: expect.stringMatching(/the root helper cannot be asked/) });
  await vi.waitFor(
    () => expect(client('configurationState')).toMatchObject({ state: 'refused', origin: 'patch' }),
    WITHIN,
  );
  const patch = { base: 'f'.repeat(64), set: { label: 'Cellar' } };
  platform.state.attributes.set(deviceId, 'SHARED_SCOPE', { configurationPatch: patch }, Date.now());
  await vi.waitFor(
    () =>
      expect(client('configurationState')).toMatchObject({
        state: 'refused',
        reason: expect.stringMatching(/^base: /),
      }),
    WITHIN,
  );
  const told = await asked('configurationStatus', {});
  expect(told).toMatchObject({ fileHash: base, state: { state: 'refused' }, history: [] });
});

it('tells the page a sensor’s settings, and takes its patch through the same door', { timeout: 60_000 }, async () => {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${PIN}` };
  const ask = async (operation: string, params: JsonObject): Promise<JsonObject> => {
    const body = JSON.stringify({ operation, params });
    return (await (await fetch(`${pageUrl}/api/operation`, { method: 'POST', headers, body })).json()) as JsonObject;
  };
  expect(await (await fetch(`${pageUrl}/api/facts`, { headers })).json()).toMatchObject({ mayConfigure: true });
  const settings = await ask('sensorSettings', { name: 'machine' });
  expect(settings).toMatchObject({ base, path: 'sensors.machine', period: '1s' });
  expect(settings.keys).toContainEqual(
    expect.objectContaining({ path: 'sensors.machine.keys.load1', key: 'load1', type: 'number' }),
  );
  const patch = { base: settings.base ?? null, add: { 'sensors.machine.keys.load1.alarms': [{ above: 4 }] } };
  expect(await ask('configure', { patch, check: true })).toMatchObject({ state: 'checked', locked: [], faults: [] });
  expect(await ask('sensorSettings', { name: 'roof' })).toMatchObject({ code: 'sensors/unknown' });
});
