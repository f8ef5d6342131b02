/** Packages for two devices behind one gateway, assigned at the local platform, fetched over HTTP with each device's token, installed by a program. */
import { createHash, randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type AgentConfig, configSchema } from '../../src/config/schema/agent-config.ts';
import type { DeviceUpdates } from '../../src/firmware/device-updates.ts';
import { FirmwareUpdates } from '../../src/firmware/firmware-updates.ts';
import { AlertList } from '../../src/host/alert-list.ts';
import { systemClock } from '../../src/host/clock.ts';
import { systemFiles } from '../../src/host/files.ts';
import { silentLog } from '../../src/host/log.ts';
import { runProgram } from '../../src/host/run-program.ts';
import { HttpDeviceApi } from '../../src/platform/http-device-api.ts';
import { LocalPlatform } from '../../src/stand-ins/local-platform/local-platform.ts';
import { rowsOf } from '../support/telemetry-rows.ts';

const PATIENCE = { timeout: 20_000, interval: 50 };
const WALK = ['DOWNLOADING', 'DOWNLOADED', 'VERIFIED', 'UPDATING', 'UPDATED'];
const IMAGE = Buffer.alloc(50_000, 'image');

let platform: LocalPlatform;
let folder: string;
let lastMs = 0;
let config: AgentConfig;
let life: { readonly stop: AbortController; readonly apis: HttpDeviceApi[]; readonly running: Promise<void>[] };

beforeEach(async () => {
  platform = await LocalPlatform.start();
  folder = await mkdtemp(join(tmpdir(), 'turnstone-attached-firmware-'));
  const flash = [
    '-c',
    `echo "$0 $(sha256sum < "$1")" >> ${folder}/flashed; sleep "$(cat ${folder}/takes)"`,
    '{device}',
    '{file}',
  ];
  config = configSchema.parse({
    version: 1,
    platform: { url: platform.url, accessToken: 'gateway' },
    firmware: {
      requireSignature: false,
      chunk: '4kB',
      handlers: [{ title: 'pump', program: '/bin/sh', arguments: flash }],
    },
    devices: ['one', 'two'].map((name) => ({ name, firmware: { handlers: ['pump'] } })),
    stateFolder: folder,
  });
  await writeFile(join(folder, 'takes'), '0');
  await begin();
});

afterEach(async () => {
  await end();
  await platform.close();
  await rm(folder, { recursive: true });
});

/** The gateway's updates and those of its two devices, from the state folder. */
async function begin(): Promise<void> {
  life = { stop: new AbortController(), apis: [], running: [] };
  const updates = await FirmwareUpdates.open({
    config,
    clock: systemClock,
    files: systemFiles,
    runProgram,
    log: silentLog,
    alerts: new AlertList(silentLog),
    self: { id: 'self', name: '', folder, deviceApi: await open('gateway') },
    newId: randomUUID,
    getUrl: () => Promise.reject(new Error('not asked for')),
    locked: () => false,
    append: async (entries) => {
      for (const { device, key, value } of entries) {
        const answer = await (await open(device)).postTelemetry(
          rowsOf({ ts: nextMs(), values: { [key]: value } }),
          life.stop.signal,
        );
        expect(answer.kind).toBe('accepted');
      }
    },
    uploaded: () => true,
    fault: () => undefined,
    restart: () => {},
  });
  for (const settings of config.devices) {
    const { name } = settings;
    const own = join(folder, name);
    await mkdir(own, { recursive: true });
    const deviceApi = await open(name);
    const firmware = await updates.ofSlot({
      device: { id: name, name, folder: own, deviceApi },
      settings,
      isPulsing: () => false,
      log: silentLog,
    });
    if (firmware !== undefined) life.running.push(firmware.run(life.stop.signal), listen(firmware, deviceApi));
  }
}

async function end(): Promise<void> {
  life.stop.abort();
  await Promise.all(life.running);
  for (const api of life.apis) await api.close();
}

async function open(name: string): Promise<HttpDeviceApi> {
  const { accessToken } = platform.ensureDevice(name);
  const api = new HttpDeviceApi({
    settings: { url: platform.url, requestTimeoutMs: 5_000 },
    clock: systemClock,
    token: () => accessToken,
  });
  life.apis.push(api);
  return api;
}

async function listen(firmware: DeviceUpdates, api: HttpDeviceApi): Promise<void> {
  const { signal } = life.stop;
  while (!signal.aborted) {
    const { shared } = await api
      .getAttributes({ sharedKeys: firmware.keys }, signal)
      .catch(() => ({ shared: undefined }));
    if (shared !== undefined) firmware.consider(shared);
    await systemClock.sleep(50, signal);
  }
}

async function assign(name: string, checksum = createHash('sha256').update(IMAGE).digest('hex')): Promise<void> {
  const path = join(folder, `${name}.image`);
  await writeFile(path, IMAGE);
  const file = { path, from: 0, until: IMAGE.length, fileName: 'image', contentType: 'application/octet-stream' };
  const { packages, registry } = platform.state;
  packages.put({
    id: name,
    kind: 'FIRMWARE',
    title: 'pump',
    version: '2.0-b',
    createdMs: 0,
    file,
    checksum,
    checksumAlgorithm: 'SHA256',
  });
  const device = registry.byName(name);
  if (device === undefined) throw new Error('no such device');
  registry.devices.put({ ...device, firmwareId: name });
  platform.packages.announce({ ...device, firmwareId: name }, 'FIRMWARE');
}

/** Two entries of one key at one time would be one. */
function nextMs(): number {
  lastMs = Math.max(lastMs + 1, Date.now());
  return lastMs;
}

const values = (name: string, key: string) =>
  (platform.deviceView(name)?.points.get(key) ?? []).map(({ value }) => value);
/** As the device told them, without those that the platform begins with. */
const states = (name: string) =>
  values(name, 'fw_state').filter((state) => state !== 'QUEUED' && state !== 'INITIATED');
const flashed = async () =>
  (await readFile(join(folder, 'flashed'), 'utf8').catch(() => '')).split('\n').filter((line) => line !== '');

describe('a package that is assigned to an attached device', () => {
  it('is fetched, installed once and told at that device, and at no other', async () => {
    await assign('one');
    // The last that is told.
    await expect.poll(() => values('one', 'current_fw_version'), PATIENCE).toEqual(['2.0-b']);
    expect(states('one')).toEqual(WALK);
    expect(await flashed()).toEqual([`one ${createHash('sha256').update(IMAGE).digest('hex')}  -`]);
    expect([...states('two'), ...states('gateway')]).toEqual([]);
  });

  it('with a wrong checksum has failed, while that of another device is installed', async () => {
    await assign('one', 'ab'.repeat(32));
    await assign('two');
    await expect.poll(() => [states('one').at(-1), states('two').at(-1)], PATIENCE).toEqual(['FAILED', 'UPDATED']);
    await expect.poll(() => values('one', 'fw_error'), PATIENCE).toEqual([expect.stringContaining('checksum')]);
    expect((await flashed()).map((line) => line.split(' ')[0])).toEqual(['two']);
  });

  it('whose command a restart cut short has failed, and is not installed twice', async () => {
    await writeFile(join(folder, 'takes'), '60');
    await assign('one');
    await expect.poll(async () => (await flashed()).length, PATIENCE).toBe(1);
    await end();
    await writeFile(join(folder, 'takes'), '0');
    await begin();
    await expect.poll(() => states('one').at(-1), PATIENCE).toBe('FAILED');
    expect(await flashed()).toHaveLength(1);
  });
});
