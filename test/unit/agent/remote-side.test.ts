import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RemoteSide, type RemoteSideDeps } from '../../../src/agent/remote-side.ts';
import { configSchema } from '../../../src/config/agent-config.ts';
import type { JsonObject } from '../../../src/host/json.ts';
import { silentLog } from '../../../src/host/log.ts';
import type { DeviceApi } from '../../../src/platform/device-api.ts';
import { FakeClock } from '../../support/fake-clock.ts';

let folder: string;
let clock: FakeClock;
let stop: AbortController;
let polls: { rpc: number; attributes: number };
let standing: number;
let posted: JsonObject[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnstone-remote-side-'));
  clock = new FakeClock();
  stop = new AbortController();
  polls = { rpc: 0, attributes: 0 };
  standing = 0;
  posted = [];
});
afterEach(async () => {
  stop.abort();
  await clock.advance(0);
  await rm(folder, { recursive: true });
});

async function silence(timeoutMs: number, signal: AbortSignal): Promise<undefined> {
  standing += 1;
  await clock.sleep(timeoutMs, signal);
  standing -= 1;
}

const deviceApi = {
  pollRpc: (timeoutMs: number, signal: AbortSignal) => {
    polls.rpc += 1;
    return silence(timeoutMs, signal);
  },
  pollAttributes: (timeoutMs: number, signal: AbortSignal) => {
    polls.attributes += 1;
    return silence(timeoutMs, signal);
  },
  getAttributes: async () => ({ client: {}, shared: {}, empty: true }),
  postAttributes: async (attributes: JsonObject) => void posted.push(attributes),
} as Partial<DeviceApi> as DeviceApi;

async function open(changing: () => JsonObject): Promise<RemoteSide> {
  const config = configSchema.parse({ version: 1, platform: { url: 'http://platform', accessToken: 'secret-token' }, stateFolder: folder });
  const nothing = (): JsonObject => ({});
  const deps: RemoteSideDeps = {
    config: () => config,
    deviceApi,
    side: {
      actuators: { onState: () => () => {}, contact: () => {} },
      configs: [],
      lockout: { locked: false },
    } as unknown as RemoteSideDeps['side'],
    ...{ clock, log: silentLog, settings: () => [], firmwareKeys: [], onFirmwareOffer: () => {}, identity: { version: '1' }, changing },
    work: {
      ...{ getStatus: nothing, outboxStatus: nothing, diagnose: nothing },
      ...{ readSensor: async () => [], setLogLevel: () => {}, restart: () => {}, reboot: () => {} },
    },
  };
  return await RemoteSide.open(deps, stop.signal);
}

describe('the remote side', () => {
  it('ends every loop when one fails, so that the next run has the only poll of each kind', async () => {
    let looks = 0;
    const remote = await open(() => {
      looks += 1;
      if (looks === 2) throw new Error('a fault of the program');
      return {};
    });
    const failed = remote.run(stop.signal).catch((error: Error) => error.message);
    await clock.advance(1_000);
    expect([polls, standing]).toEqual([{ rpc: 1, attributes: 1 }, 2]);
    await clock.advance(60_000);
    expect([await failed, standing]).toEqual(['a fault of the program', 0]);
    void remote.run(stop.signal);
    await clock.advance(1_000);
    expect(standing).toBe(2);
  });

  it('tells who the device is, and what of that has changed', async () => {
    let address = '192.0.2.1';
    const remote = await open(() => ({ addresses: [address] }));
    void remote.run(stop.signal);
    await clock.advance(1_000);
    address = '192.0.2.2';
    await clock.advance(62_000);
    remote.configurationChanged('abc');
    await clock.advance(2_000);
    expect(Object.assign({}, ...posted)).toMatchObject({ version: '1', addresses: ['192.0.2.2'], configHash: 'abc' });
    expect(posted[0]).toMatchObject({ addresses: ['192.0.2.1'] });
  });

  it('ends when told to', async () => {
    const remote = await open(() => ({}));
    const running = remote.run(stop.signal);
    await clock.advance(1_000);
    stop.abort();
    await clock.advance(0);
    await running;
    await remote.close();
    expect(standing).toBe(0);
  });
});
