import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { thisMachine } from '../../../src/agent/machine.ts';
import { configSchema } from '../../../src/config/schema/agent-config.ts';
import { formatCredentials } from '../../../src/devices/credentials-record.ts';
import type { Device } from '../../../src/devices/device.ts';
import { openSelf } from '../../../src/devices/self.ts';
import { AlertList } from '../../../src/host/alert-list.ts';
import { systemClock } from '../../../src/host/clock.ts';
import { AgentLog } from '../../../src/host/log.ts';
import { keepRunning } from '../../../src/host/loops.ts';
import { PlatformClients } from '../../../src/platform/platform-clients.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { MemoryFiles } from '../../support/memory-files.ts';

let server: Server;
let requests: string[];
let isSilentAbout: string | undefined;
let self: Device;
let clients: PlatformClients;
let alerts: AlertList;
let clock: FakeClock;
let files: MemoryFiles;
let timesOfAnother: number;
const readIdentity = async () => ({ serial: 'THIS', hostname: 'board' });
const stop = new AbortController();
const log = new AgentLog({ clock: systemClock, level: 'debug', sink: { write: () => {} } });

beforeEach(async () => {
  requests = [];
  timesOfAnother = 0;
  isSilentAbout = undefined;
  server = createServer((request, response) => {
    requests.push(request.method ?? '');
    if (isSilentAbout !== undefined && request.url?.includes(isSilentAbout) === true) return;
    const provisioned = { status: 'SUCCESS', credentialsType: 'ACCESS_TOKEN', credentialsValue: 'TOKEN-OF-ONE' };
    const posted = request.url?.endsWith('/provision') === true ? JSON.stringify(provisioned) : '';
    response.writeHead(200, { 'content-type': 'application/json' }).end(request.method === 'GET' ? '{}' : posted);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  clock = new FakeClock();
  files = new MemoryFiles();
  await files.makeFolder('/state');
  alerts = new AlertList(log);
});

afterEach(async () => {
  await clients.close();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

async function open(more: object = {}, rest: object = {}): Promise<Device> {
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const config = configSchema.parse({
    version: 1,
    platform: { url, accessToken: 'the-token-of-this-device', ...more },
    stateFolder: '/state',
    ...rest,
  });
  const machine = { ...thisMachine, clock, files, readIdentity };
  clients = new PlatformClients({ config: () => config, machine, log, onPlatformDate: () => {} });
  return openSelf({
    config: () => config,
    machine,
    log,
    alerts,
    clients,
    onQueueOfAnother: () => (timesOfAnother += 1),
  });
}

/** Time goes on while real sockets answer. */
async function until(condition: () => boolean): Promise<void> {
  while (!condition()) {
    await clock.advance(1_000);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

describe('the way to the platform', () => {
  it.each(['write', 'open', 'rename'] as const)(
    'opens with a configured token although the disk refuses every %s',
    async (refused) => {
      files.faults = {
        fail: (operation, path) => (operation === refused && path.endsWith('.tmp') ? { code: 'EROFS' } : undefined),
      };
      self = await open();
      await self.connect(stop.signal);
      expect(self.credentials?.token.accessToken).toBe('the-token-of-this-device');
      expect(requests).toContain('GET');
      expect(alerts.list().join()).toMatch(/EROFS/);
    },
  );

  it('waits for credentials that cannot be read, says so, and opens when they can', async () => {
    files.faults = {
      fail: (operation, path) => (operation === 'open' && path.endsWith('.json') ? { code: 'EMFILE' } : undefined),
    };
    self = await open();
    let connected = false;
    const connecting = self.connect(stop.signal).then(() => {
      connected = true;
    });
    await clock.advance(3_600_000);
    expect(connected).toBe(false);
    expect(alerts.list().join()).toMatch(/nothing is sent.*EMFILE/);
    expect([clients.contact.status.state, self.fault]).toEqual(['never-reached', expect.stringContaining('EMFILE')]);
    files.faults = {};
    await until(() => connected);
    await connecting;
    expect(self.fault).toBeUndefined();
    expect(alerts.list()).toEqual([]);
    expect(self.credentials?.token.accessToken).toBe('the-token-of-this-device');
  });

  it('says why nothing is asked of a platform that has provisioned it, where the disk keeps no credentials', async () => {
    files.faults = {
      fail: (operation, path) =>
        requests.includes('POST') && operation === 'rename' && path.includes('credentials')
          ? { code: 'ENOSPC' }
          : undefined,
    };
    self = await open(
      { accessToken: undefined },
      { provisioning: { deviceKey: 'key', deviceSecret: 'secret', deviceName: 'one' } },
    );
    const connecting = self.connect(stop.signal);
    await until(() => self.fault !== undefined);
    expect([clients.contact.status.state, self.fault]).toEqual(['reached', expect.stringContaining('ENOSPC')]);
    files.faults = {};
    await until(() => self.fault === undefined);
    await connecting;
  });

  it('lets a call that comes before the credentials wait for them, no longer than the call may take', async () => {
    files.faults = {
      fail: (operation, path) => (operation === 'open' && path.endsWith('.json') ? { code: 'EMFILE' } : undefined),
    };
    self = await open();
    const connecting = self.connect(stop.signal);
    const inTime = new AbortController();
    const late = new AbortController();
    const outcomes: string[] = [];
    const asking = (name: string, signal: AbortSignal): Promise<unknown> =>
      self.ready(signal).then(
        () => outcomes.push(`${name} goes`),
        () => outcomes.push(`${name} ends`),
      );
    const asked = [asking('first', inTime.signal), asking('second', late.signal)];
    await clock.advance(60_000);
    expect(outcomes).toEqual([]);
    late.abort();
    await asked[1];
    expect(outcomes).toEqual(['second ends']);
    files.faults = {};
    await until(() => outcomes.length > 1);
    await Promise.all([...asked, connecting]);
    expect(outcomes).toEqual(['second ends', 'first goes']);
    expect(await self.deviceApi.clientRpc('getLimit', {}, stop.signal)).toBeNull();
  });

  it('waits for a certificate that went away after the configuration was read', async () => {
    self = await open({ caFile: '/ca.pem' });
    let connected = false;
    const connecting = self.connect(stop.signal).then(() => {
      connected = true;
    });
    await clock.advance(3_600_000);
    expect([connected, requests]).toEqual([false, []]);
    expect(alerts.list().join()).toMatch(/nothing is sent.*\/ca\.pem/);
    files.put('/ca.pem', 'a certificate');
    await until(() => connected);
    await connecting;
    expect(alerts.list()).toEqual([]);
  });

  it('is not opened while what waits was measured as another device', async () => {
    self = await open();
    const { accessToken, ...rest } = {
      accessToken: 'another',
      generation: 1,
      board: {},
      phase: 'in-use',
      source: 'imported',
    } as const;
    await self.store.replaceOwn({ ...rest, accessToken }, { setsQueueAside: true });
    let connected = false;
    const connecting = self.connect(stop.signal).then(() => {
      connected = true;
    });
    await clock.advance(3_600_000);
    expect([connected, requests]).toEqual([false, []]);
    expect(alerts.list().join()).toMatch(/measured as another device/);
    await self.store.queueIsAside();
    await until(() => connected);
    await connecting;
  });

  it('is not opened when credentials that can be read at last are those of another board, and the queue is to be set aside first', async () => {
    const kept = {
      phase: 'in-use',
      source: 'provisioned',
      accessToken: 'of-another',
      deviceName: 'another',
      generation: 1,
    } as const;
    files.put('/state/credentials.json', formatCredentials({ own: { ...kept, board: { serial: 'ANOTHER' } } }));
    files.faults = {
      fail: (operation, path) => (operation === 'open' && path.endsWith('.json') ? { code: 'EIO' } : undefined),
    };
    const provisioning = { deviceKey: 'key', deviceSecret: 'secret', onOtherBoard: 'reprovision' };
    self = await open({ accessToken: undefined }, { provisioning });
    void self.connect(stop.signal);
    await clock.advance(600_000);
    expect(timesOfAnother).toBe(0);
    files.faults = {};
    await clock.advance(300_000);
    expect([timesOfAnother > 0, requests, self.credentials]).toEqual([true, [], undefined]);
    expect(alerts.list().join()).toMatch(/measured as another device/);
  });

  it('lets nothing through before the platform has said which board is the device', async () => {
    isSilentAbout = '/attributes';
    self = await open();
    const connecting = self.connect(stop.signal);
    await until(() => requests.length > 0);
    const said = (call: Promise<unknown>): Promise<unknown> => call.catch((error: Error) => error.message);
    const { deviceApi } = self;
    for (const call of [
      deviceApi.clientRpc('doorOpened', {}, stop.signal),
      deviceApi.postAttributes({ x: 1 }, stop.signal),
    ])
      expect(await said(call)).toMatch(/has not said yet/);
    expect(await deviceApi.postTelemetry({ keys: [], values: [] }, stop.signal)).toMatchObject({
      kind: 'unauthorised',
      status: 0,
    });
    expect(requests).not.toContain('POST');
    isSilentAbout = undefined;
    server.closeAllConnections();
    let connected = false;
    void connecting.then(() => {
      connected = true;
    });
    await until(() => connected);
    await deviceApi.postAttributes({ x: 1 }, stop.signal);
    expect(requests).toContain('POST');
  });

  it('asks no more often while a disk takes no writes than else, and has each loop once', async () => {
    self = await open();
    await self.connect(stop.signal);
    await self.credentials?.token.offerNext('NEXTTOKEN');
    files.faults = { fail: (_operation, path) => (path.endsWith('.tmp') ? { code: 'EROFS' } : undefined) };
    const end = new AbortController();
    const watching = keepRunning({ name: 'credentials', clock, log, run: (signal) => self.run(signal) }, end.signal);
    await until(() => self.credentials?.token.accessToken === 'NEXTTOKEN');
    const before = clock.pending;
    const asked = requests.length;
    for (let minute = 0; minute < 30; minute += 1) {
      await clock.advance(60_000);
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    expect([clock.pending, requests.length - asked <= 10]).toEqual([before, true]);
    end.abort();
    await watching;
  });
});
