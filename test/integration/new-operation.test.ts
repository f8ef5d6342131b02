/** An operation that is put into the table is there at every door of a running agent, and nothing else is changed for it. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { Agent } from '../../src/agent/agent.ts';
import { thisMachine } from '../../src/agent/machine.ts';
import { reachAgent } from '../../src/cli/agent-calls.ts';
import { ControlClient } from '../../src/control-socket/control-client.ts';
import { LOCAL_OPERATIONS } from '../../src/operations/local-operations.ts';
import type { Asker } from '../../src/operations/may-ask.ts';
import { type Operation, objectOf, QUESTION, textOf } from '../../src/operations/operation.ts';
import { LocalPlatform } from '../../src/stand-ins/local-platform/local-platform.ts';
import { fakeEdge } from '../support/fake-edge.ts';
import { FewLines } from '../support/few-lines.ts';
import { freePort } from '../support/free-port.ts';
import { RestPerson } from '../support/rest-person.ts';

const PIN = 'look-pin-7720';
const EVERYBODY: readonly Asker[] = ['platform', 'viewer', 'page'];
/** Says who asked, and what. */
const sayBack = (): Omit<Operation, 'name'> => ({
  ...QUESTION,
  description: 'Says back what it is told.',
  askers: EVERYBODY,
  params: objectOf({ text: { type: 'string', maxLength: 20 } }),
  run: (params, { asker }) => ({ asker, text: textOf(params, 'text') }),
});

let folder: string;
let platform: LocalPlatform;
let agent: Agent;
let pageUrl: string;
const stop = new AbortController();
let person: RestPerson;
let deviceId: string;

beforeAll(async () => {
  Object.assign(LOCAL_OPERATIONS, { sayBack });
  folder = await mkdtemp(join(tmpdir(), 'turnstone-new-operation-'));
  platform = await LocalPlatform.start();
  deviceId = platform.ensureDevice('gateway', 'fixture-token').id;
  person = await RestPerson.logIn(platform.url);
  const port = await freePort();
  pageUrl = `http://127.0.0.1:${port}`;
  const configFile = join(folder, 'turnstone.yaml');
  const config = {
    version: 1,
    platform: { url: platform.url, accessToken: 'fixture-token' },
    stateFolder: join(folder, 'state'),
    runFolder: join(folder, 'run'),
    status: { page: 'loopback', port, pin: PIN, control: true },
    shutdown: { drain: '0s' },
  };
  await writeFile(configFile, JSON.stringify(config), { mode: 0o600 });
  const machine = { ...thisMachine, openPorts: () => new FewLines().ports, logSink: { write: () => {} } };
  agent = await Agent.start({ configFile, environment: {}, machine }, stop.signal);
}, 60_000);

afterAll(async () => {
  stop.abort();
  await agent?.stopped;
  await platform?.close();
  await rm(folder, { recursive: true, force: true });
  Reflect.deleteProperty(LOCAL_OPERATIONS, 'sayBack');
});

it('is answered by RPC', async () => {
  await vi.waitFor(async () => expect((await person.rpc(deviceId, 'getStatus', {})).status).toBe(200), {
    timeout: 20_000,
  });
  const { text } = await person.rpc(deviceId, 'sayBack', { text: 'far' });
  expect(JSON.parse(text)).toMatchObject({ result: { asker: 'platform', text: 'far' } });
  const { text: listed } = await person.rpc(deviceId, 'listMethods', {});
  expect(listed).toContain('Says back what it is told.');
  expect((await person.rpc(deviceId, 'sayBack', { text: 5 })).text).toContain('bad-params');
});

it.each([
  ['control', 'site'],
  ['read', 'viewer'],
] as const)('is answered on the socket "%s", with its params checked', async (access, asker) => {
  const client = await ControlClient.connect({ folder: join(folder, 'run'), access });
  try {
    expect(await client.request('sayBack', { text: 'near' })).toEqual({ asker, text: 'near' });
    await expect(client.request('sayBack', { text: 5 })).rejects.toMatchObject({ code: 'agent/bad-request' });
  } finally {
    await client.close();
  }
});

it('is answered on the page', async () => {
  const ask = (params: object): Promise<Response> =>
    fetch(`${pageUrl}/api/operation`, {
      method: 'POST',
      headers: { authorization: `Bearer ${PIN}`, 'content-type': 'application/json' },
      body: JSON.stringify({ operation: 'sayBack', params }),
    });
  // The page opens after all else.
  await vi.waitFor(() => fetch(pageUrl), { timeout: 20_000 });
  expect(await (await ask({ text: 'here' })).json()).toEqual({ asker: 'page', text: 'here' });
  expect((await ask({ text: 5 })).status).toBe(400);
});

it('is answered to a command at the terminal', async () => {
  const calls = await reachAgent({ runFolder: join(folder, 'run') }, fakeEdge());
  try {
    // The table of answers, which commands are typed by, has it not: it was put in while this runs.
    expect(await calls.ask('sayBack' as never, { text: 'typed' })).toEqual({ asker: 'site', text: 'typed' });
  } finally {
    await calls.close();
  }
});
