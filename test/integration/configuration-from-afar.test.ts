/** A whole agent that is asked for another configuration by RPC, by a shared attribute and by a package, where root has no helper: looked at, refused, and told. */
import { createHash } from 'node:crypto';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
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
      'firmware: { requireSignature: false }',
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
    reason: expect.stringMatching(/^locked: platform/),
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

it('tells the platform why a package is refused, in its state and in the configuration’s', {
  timeout: 60_000,
}, async () => {
  const before = await readFile(agent.configFile, 'utf8');
  await assign('1-a', before.replace('period: 1s', 'period: soon'));
  const told = (key: string) => platform.deviceView('configured')?.points.get(key)?.at(-1)?.value;
  await vi.waitFor(() => expect(told('sw_error')).toMatch(/^line 7:\d+, sensors\[0\]\.period/), WITHIN);
  expect(told('sw_state')).toBe('FAILED');
  const name = { title: 'turnstone-configuration', version: '1-a' };
  await vi.waitFor(
    () => expect(client('configurationState')).toMatchObject({ state: 'refused', origin: 'package', package: name }),
    WITHIN,
  );
  await assign('2-a', before.replace('period: 1s', 'period: 2s'));
  await vi.waitFor(() => expect(told('sw_error')).toMatch(/the root helper cannot be asked/), WITHIN);
  await assign('3-a', before);
  await vi.waitFor(() => expect(told('current_sw_version')).toBe('3-a'), WITHIN);
  expect(told('sw_state')).toBe('UPDATED');
  expect(await asked('configurationStatus', {})).toMatchObject({ fileHash: base, history: [] });
});

async function assign(version: string, text: string): Promise<void> {
  const path = join(agent.folder, `package-${version}`);
  await writeFile(path, text);
  const { size } = await stat(path);
  const device = platform.state.registry.byName('configured');
  if (device === undefined) throw new Error('no such device');
  platform.state.packages.put({
    id: version,
    kind: 'SOFTWARE',
    title: 'turnstone-configuration',
    version,
    createdMs: 0,
    file: { path, from: 0, until: size, fileName: 'turnstone.yaml', contentType: 'application/yaml' },
    checksum: createHash('sha256').update(text).digest('hex'),
    checksumAlgorithm: 'SHA256',
  });
  platform.state.registry.devices.put({ ...device, softwareId: version });
  platform.packages.announce({ ...device, softwareId: version }, 'SOFTWARE');
}

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
