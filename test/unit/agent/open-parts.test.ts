/** Parts that do not wait for each other at a start. */
import { readFileSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { ContactWatches } from '../../../src/actuators/contact-watches.ts';
import { Agent } from '../../../src/agent/agent.ts';
import { type Machine, thisMachine } from '../../../src/agent/machine.ts';
import { ControlClient } from '../../../src/control-socket/control-client.ts';
import { ControlServer } from '../../../src/control-socket/control-server.ts';
import { CredentialsStore } from '../../../src/devices/credentials-store.ts';
import { AgentError } from '../../../src/errors/agent-error.ts';
import { type Clock, systemClock } from '../../../src/host/clock.ts';
import type { Files } from '../../../src/host/files.ts';
import { systemFiles } from '../../../src/host/files.ts';
import { silentLog } from '../../../src/host/log.ts';
import type { Held } from '../../../src/host/state-lock.ts';
import type { JsonValue } from '../../../src/values/json.ts';
import { FewLines } from '../../support/few-lines.ts';

async function configured(
  more = '',
  token = ', accessToken: fixture-token',
  url = 'http://127.0.0.1:9',
): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'turnstone-start-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const configFile = join(folder, 'turnstone.yaml');
  const yaml = `version: 1
platform: { url: "${url}"${token} }
stateFolder: ${folder}/state
runFolder: ${folder}/run
status: { page: "off", metrics: false }
shutdown: { drain: 0s }
${more}`;
  await writeFile(configFile, yaml, { mode: 0o600 });
  return configFile;
}

it('outputs get their states for the start while the disk hangs on the outbox, and a stop meanwhile ends nothing halfway', async () => {
  const configFile = await configured(
    'actuators: [{ name: pump, kind: gpio-output, line: PUMP, safe: { start: off } }]',
  );
  const disk = Promise.withResolvers<void>();
  const files: Files = {
    ...systemFiles,
    list: async (path) => {
      if (path.endsWith('/outbox')) await disk.promise;
      return await systemFiles.list(path);
    },
  };
  const lines = new FewLines();
  const logged: { readonly level: string; readonly msg: string }[] = [];
  const logSink = { write: (line: string) => void logged.push(JSON.parse(line)) };
  const machine = { ...thisMachine, files, openPorts: () => lines.ports, logSink };
  const stop = new AbortController();
  const starting = Agent.start({ configFile, environment: {}, machine }, stop.signal);
  await vi.waitFor(() => expect(lines.written).toEqual([0]));
  stop.abort();
  await new Promise((resolve) => setTimeout(resolve, 50));
  disk.resolve();
  await (await starting).stopped;
  expect(logged.filter(({ level, msg }) => level === 'error' || msg.includes('cannot be opened'))).toEqual([]);
  expect(await readdir(join(dirname(configFile), 'state', 'outbox'))).not.toEqual([]);
});

it('an agent that another one forestalls while it starts stops in good order once it is open', async () => {
  const configFile = await configured();
  const answers = [new AgentError('host/write-failed', 'EIO', { recovery: 'retry' })];
  const takeLock = async (folder: string): Promise<Held> => {
    if (folder.endsWith('/run')) return { close: async () => {} };
    throw answers.shift() ?? new AgentError('host/already-running', 'another agent uses it', { recovery: 'stop' });
  };
  const said: string[] = [];
  const logSink = { write: (line: string) => void said.push(JSON.parse(line).msg) };
  const machine = { ...thisMachine, takeLock, openPorts: () => new FewLines().ports, logSink };
  const agent = await Agent.start({ configFile, environment: {}, machine }, new AbortController().signal);
  await agent.stopped;
  expect(said.at(-1)).toBe('stopped');
});

it('a caller that connects while the control sockets open is told the status of all parts', async () => {
  const configFile = await configured(
    'actuators: [{ name: pump, kind: gpio-output, line: PUMP, safe: { start: off } }]',
  );
  const folder = join(dirname(configFile), 'run');
  const asked: JsonValue[] = [];
  const listen: Machine['listen'] = async (deps, signal) => {
    const server = await ControlServer.open(deps, signal);
    const client = await ControlClient.connect({ folder });
    asked.push(await client.request('getStatus').finally(() => client.close()));
    return server;
  };
  const machine = { ...thisMachine, listen, openPorts: () => new FewLines().ports, logSink: { write: () => {} } };
  const stop = new AbortController();
  const agent = await Agent.start({ configFile, environment: {}, machine }, stop.signal);
  stop.abort();
  await agent.stopped;
  expect(asked).toMatchObject([{ actuators: [{ name: 'pump', value: false }] }]);
});

it('what a copied card has waiting is set aside before the outbox is opened, where this board makes a device of its own', async () => {
  const configFile = await configured(
    'provisioning: { deviceKey: key, deviceSecret: secret, onOtherBoard: reprovision }\nactuators: [{ name: pump, kind: gpio-output, line: PUMP, safe: { start: off } }]',
    '',
  );
  const stateFolder = join(dirname(configFile), 'state');
  await mkdir(join(stateFolder, 'outbox/measured-by-another'), { recursive: true });
  const alerts = { raise: () => {}, clear: () => {} };
  const store = await CredentialsStore.open({
    stateFolder,
    files: systemFiles,
    clock: systemClock,
    log: silentLog,
    alerts,
    hide: () => {},
  });
  const kept = {
    phase: 'in-use',
    source: 'provisioned',
    accessToken: 'of-another',
    deviceName: 'another',
    generation: 1,
  } as const;
  await store.save('own', { ...kept, board: { serial: 'ANOTHER' } });
  const readIdentity = async () => ({ serial: 'THIS', hostname: 'board' });
  const machine = { ...thisMachine, readIdentity, openPorts: () => new FewLines().ports, logSink: { write: () => {} } };
  const stop = new AbortController();
  const agent = await Agent.start({ configFile, environment: {}, machine }, stop.signal);
  stop.abort();
  await agent.stopped;
  expect(await readdir(join(stateFolder, 'outbox-of-former-device'))).toEqual(['measured-by-another']);
  expect(await readdir(join(stateFolder, 'outbox'))).not.toContain('measured-by-another');
});

it('an upload that the platform acknowledges counts as contact, for the states that a silence asks for', async () => {
  const contact = vi.spyOn(ContactWatches.prototype, 'heard');
  onTestFinished(() => contact.mockRestore());
  // Nothing is answered but telemetry, and before it whose the device is.
  let owner = '{}';
  const server = createServer(async (request, response) => {
    const body = (await request.toArray()).join('');
    if (body.includes('turnstoneOwner')) owner = body;
    const { method, url = '' } = request;
    const isTaken = method === 'POST' || url.includes('turnstoneOwner');
    response.writeHead(isTaken ? 200 : 503).end(method === 'GET' && isTaken ? `{"client":${owner}}` : '');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close().closeAllConnections());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const configFile = await configured(
    'time: { trust: always }\nsensors: [{ name: host, kind: host, period: 1s }]',
    undefined,
    url,
  );
  const machine = { ...thisMachine, openPorts: () => new FewLines().ports, logSink: { write: () => {} } };
  const stop = new AbortController();
  const agent = await Agent.start({ configFile, environment: {}, machine }, stop.signal);
  await vi.waitFor(() => expect(contact).toHaveBeenCalled(), { timeout: 15_000 });
  stop.abort();
  await agent.stopped;
});

it('a driver of a user’s own that asks the platform before the credentials are in use gets its answer', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'turnstone-asking-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const [driver, asks] = [join(folder, 'driver.mjs'), join(folder, 'asks')];
  await writeFile(
    driver,
    `import { writeFileSync } from 'node:fs';
    export const openSensor = async ({ clientRpc }) => ({ read: async (signal) => {
      const asked = clientRpc('getLimit', {}, signal);
      writeFileSync('${asks}', '');
      return [{ key: 'limit', value: (await asked).limit }];
    } });`,
    { mode: 0o644 },
  );
  let owner = '{}';
  const server = createServer(async (request, response) => {
    const body = (await request.toArray()).join('');
    if (body.includes('turnstoneOwner')) owner = body;
    const { method, url = '' } = request;
    // Whose the device is the platform says only when the driver has asked.
    if (method === 'GET' && url.includes('turnstoneOwner'))
      await vi.waitFor(() => readFileSync(asks), { timeout: 15_000 });
    response.writeHead(200).end(method === 'GET' ? `{"client":${owner}}` : url.endsWith('/rpc') ? '{"limit":7}' : '');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close().closeAllConnections());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const sensor = `{ name: own, kind: module, file: ${driver}, period: 20s, deadline: 15s }`;
  const configFile = await configured(`time: { trust: always }\nsensors: [${sensor}]`, undefined, url);
  const machine = { ...thisMachine, openPorts: () => new FewLines().ports, logSink: { write: () => {} } };
  const stop = new AbortController();
  const agent = await Agent.start({ configFile, environment: {}, machine }, stop.signal);
  await vi.waitFor(() => expect(agent.status().sensors[0]?.state).not.toBe('starting'), { timeout: 20_000 });
  expect(agent.status().sensors[0]).toMatchObject({ state: 'ok', readings: [{ key: 'limit', value: 7 }] });
  stop.abort();
  await agent.stopped;
});

it('where the platform’s dates stand in for the clock, what is sent, what is shown and what a plot asks for have one time', async () => {
  const posted: string[] = [];
  const server = createServer(async (request, response) => {
    const body = (await request.toArray()).join('');
    if (request.url?.endsWith('/telemetry')) posted.push(body);
    response.writeHead(200).end('{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close().closeAllConnections());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const configFile = await configured(
    'time: { trust: platform }\nsensors: [{ name: host, kind: host, period: 1s }]',
    undefined,
    url,
  );
  await writeFile(configFile, (await readFile(configFile, 'utf8')).replace('page: "off"', 'page: loopback'));
  const clock: Clock = {
    ...systemClock,
    wallMs: () => systemClock.wallMs() - 700 * 86_400_000,
    // A minute for others to set the clock.
    after: (ms, callback) => systemClock.after(ms === 60_000 ? 10 : ms, callback),
  };
  let page: Parameters<Machine['openStatusServer']>[0] | undefined;
  const openStatusServer: Machine['openStatusServer'] = async (deps) => {
    page = deps;
    return { url: undefined, openPages: 0, close: async () => {} };
  };
  const askSystemTime = async (): Promise<boolean> => false;
  const machine = {
    ...thisMachine,
    clock,
    openStatusServer,
    askSystemTime,
    openPorts: () => new FewLines().ports,
    logSink: { write: () => {} },
  };
  const stop = new AbortController();
  const agent = await Agent.start({ configFile, environment: {}, machine }, stop.signal);
  await vi.waitFor(() => expect([posted.length > 0, page !== undefined]).toEqual([true, true]), { timeout: 15_000 });
  const sentMs = Number(/"ts":(\d+)/.exec(posted.join(''))?.[1]);
  const times = [sentMs, agent.status().wallMs, page?.clock.wallMs() ?? 0, page?.view().wallMs ?? 0];
  const offMs = times.map((ms) => Math.abs(ms - Date.now()) > 60_000);
  expect(offMs).toEqual([false, false, false, false]);
  stop.abort();
  await agent.stopped;
});

it('what is opened is left for the stop hook before anything moves, as the file names it and nothing else of it, and stays when that is read again', async () => {
  const pump = '{ name: pump, kind: gpio-output, line: PUMP, safe: { start: on } }';
  const configFile = await configured(
    `actuators: [${pump}, { name: fan, enabled: false, kind: gpio-output, line: "\${FAN_LINE}" }]`,
  );
  const place = join(dirname(configFile), 'run', 'actuators-in-force.json');
  const lines = new FewLines();
  const leftAtOnce: string[] = [];
  const openPorts = () => {
    leftAtOnce.push(readFileSync(place, 'utf8'));
    return lines.ports;
  };
  const machine = { ...thisMachine, openPorts, logSink: { write: () => {} } };
  const stop = new AbortController();
  const agent = await Agent.start({ configFile, environment: { FAN_LINE: 'FAN' }, machine }, stop.signal);
  const text = await readFile(configFile, 'utf8');
  await writeFile(configFile, text.replace('line: PUMP', 'line: OTHER'));
  expect(await agent.reload()).toMatchObject({ needRestart: ['actuators'] });
  await writeFile(configFile, `${text}sensors: [`);
  expect(await agent.reload()).toMatchObject({ error: expect.stringContaining('fault') });
  expect([await readFile(place, 'utf8')]).toEqual(leftAtOnce);
  const left = JSON.parse(leftAtOnce[0] ?? '');
  expect(left).toEqual({
    format: 'turnstone/actuators-in-force',
    version: 1,
    bootId: systemClock.bootId,
    crc32: left.crc32,
    stateFolder: join(dirname(configFile), 'state'),
    runFolder: dirname(place),
    hardware: { board: 'linux', gpio: 'auto' },
    actuators: [
      { name: 'pump', kind: 'gpio-output', line: 'PUMP', safe: { start: 'on' } },
      { name: 'fan', enabled: false, kind: 'gpio-output', line: `\${FAN_LINE}` },
    ],
  });
  expect((await stat(place)).mode & 0o777).toBe(0o640);
  stop.abort();
  await agent.stopped;
  // Whoever comes after the agent makes them safe, and takes it away.
  expect([await readFile(place, 'utf8')]).toEqual(leftAtOnce);
});

it('where it cannot be left, nothing older stays in its place, and the agent starts all the same', async () => {
  const configFile = await configured(
    'actuators: [{ name: pump, kind: gpio-output, line: PUMP, safe: { start: off } }]',
  );
  const place = join(dirname(configFile), 'run', 'actuators-in-force.json');
  await mkdir(dirname(place));
  await writeFile(place, 'of an earlier process');
  const lines = new FewLines();
  const files: Files = {
    ...systemFiles,
    rename: async (from, to) => {
      if (to === place) throw Object.assign(new Error('full'), { code: 'ENOSPC' });
      await systemFiles.rename(from, to);
    },
  };
  const said: string[] = [];
  const logSink = { write: (line: string) => void said.push(JSON.parse(line).msg) };
  const stop = new AbortController();
  const agent = await Agent.start(
    { configFile, environment: {}, machine: { ...thisMachine, files, openPorts: () => lines.ports, logSink } },
    stop.signal,
  );
  stop.abort();
  await agent.stopped;
  expect(lines.written).toEqual([0]);
  expect(await readdir(dirname(place))).not.toContain('actuators-in-force.json');
  expect(said).toContain('the stop hook is not told of the actuators: it will go by the configuration file');
});

it('outputs wait a second at most for a run folder that hangs', async () => {
  const configFile = await configured(
    'actuators: [{ name: pump, kind: gpio-output, line: PUMP, safe: { start: off } }]',
  );
  const disk = Promise.withResolvers<void>();
  const lines = new FewLines();
  const files: Files = {
    ...systemFiles,
    rename: async (from, to) => {
      if (to.endsWith('actuators-in-force.json')) await disk.promise;
      await systemFiles.rename(from, to);
    },
  };
  const machine = { ...thisMachine, files, openPorts: () => lines.ports, logSink: { write: () => {} } };
  const stop = new AbortController();
  const starting = Agent.start({ configFile, environment: {}, machine }, stop.signal);
  await vi.waitFor(() => expect(lines.written).toEqual([0]), { timeout: 4_000 });
  disk.resolve();
  stop.abort();
  await (await starting).stopped;
});
