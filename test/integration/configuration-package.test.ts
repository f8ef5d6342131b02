/**
 * Configurations that the local platform assigns as software packages: downloaded over HTTP, tried by root's own part in virtual time, and told
 * as the update of the package. A restart makes a process of its own of everything but root, the platform and the files.
 */
import { createHash, randomUUID } from 'node:crypto';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { readConfig } from '../../src/config/read-config.ts';
import { configSchema } from '../../src/config/schema/agent-config.ts';
import { FirmwareUpdates } from '../../src/firmware/firmware-updates.ts';
import { parseRequest } from '../../src/firmware/guard-state.ts';
import { signatureFrame } from '../../src/firmware/release-signature.ts';
import { leaveRequest } from '../../src/firmware/swap-request.ts';
import { AlertList } from '../../src/host/alert-list.ts';
import { systemClock } from '../../src/host/clock.ts';
import { systemFiles } from '../../src/host/files.ts';
import { silentLog } from '../../src/host/log.ts';
import { runProgram } from '../../src/host/run-program.ts';
import { HttpDeviceApi } from '../../src/platform/http-device-api.ts';
import { configurationPackages } from '../../src/remote-config/configuration-packages.ts';
import { lockedChanges } from '../../src/remote-config/locked.ts';
import {
  type ConfigurationState,
  REMOTE_CONFIGURATION_FORMAT,
  RemoteConfig,
} from '../../src/remote-config/remote-config.ts';
import { configure } from '../../src/remote-config/root/configure.ts';
import { settle } from '../../src/remote-config/root/end-trial.ts';
import { configurationsTold } from '../../src/remote-config/told-configurations.ts';
import type { SeenOnTrial } from '../../src/remote-config/trial-judge.ts';
import { LocalPlatform } from '../../src/stand-ins/local-platform/local-platform.ts';
import { StateFile } from '../../src/store/state-file.ts';
import { runGuard } from '../support/guard-shell.ts';
import { makeKeys } from '../support/release-image.ts';
import { hashOf, RootConfigBench } from '../support/root-config-bench.ts';
import { systemUpdateFiles } from '../support/system-update-files.ts';
import { rowsOf } from '../support/telemetry-rows.ts';

const PATIENCE = { timeout: 20_000, interval: 5 };
const TITLE = 'turnstone-configuration';
const TOKEN = 'gateway';
const WALK = ['DOWNLOADING', 'DOWNLOADED', 'VERIFIED', 'UPDATING'];
const BEFORE = `version: 1
remoteConfiguration: { enabled: true }
platform: { url: https://iot.example.org, accessToken: the-token-of-this-device }
sensors:
  - { name: roof, kind: host, period: 10s }
`;
const AFTER = BEFORE.replace('10s', '30s');
const RESTARTED = `${BEFORE}label: needs a restart\n`;
const keys = makeKeys();

let bench: RootConfigBench;
let platform: LocalPlatform;
let running: string;
let told: ConfigurationState[];
let busy: string | undefined;
let works: boolean;
let waitMs: number;
let lastMs = 0;
let packages = 0;
let life: Life;

interface Life {
  readonly stop: AbortController;
  readonly remote: RemoteConfig;
  readonly updates: FirmwareUpdates;
  readonly api: HttpDeviceApi;
  readonly loops: readonly Promise<void>[];
}

beforeEach(async () => {
  platform = await LocalPlatform.start();
  platform.ensureDevice('gateway', TOKEN);
  bench = await RootConfigBench.make(BEFORE);
  await mkdir(join(bench.root, 'keys'));
  await writeFile(join(bench.root, 'keys/key.pem'), keys.publicPem);
  running = hashOf(BEFORE);
  told = [];
  busy = undefined;
  works = true;
  waitMs = 3_600_000;
  life = await begin();
});

afterEach(async () => {
  await end();
  await platform.close();
  await bench.remove();
});

const folder = (): string => join(bench.root, 'var/lib/turnstone');
const paths = () => ({
  home: join(bench.root, 'opt/turnstone'),
  guard: join(bench.root, 'var/lib/turnstone-guard'),
  firmware: join(folder(), 'firmware'),
});

function openRemote(): RemoteConfig {
  const { clock, file } = bench;
  const seen = (): Omit<SeenOnTrial, 'nowMs'> => ({
    acknowledgedAtMs: clock.monotonicMs() + 1,
    standing: { commands: true, attributes: true },
    readAtMs: works ? new Map([['roof', clock.monotonicMs() + 1]]) : new Map(),
    faulty: [],
  });
  return new RemoteConfig({
    clock,
    log: silentLog,
    files: systemUpdateFiles,
    paths: paths(),
    settings: () => ({ enabled: true, allow: [], title: TITLE, trialMs: 300_000 }),
    runningHash: () => running,
    readInPlace: () => readFile(file),
    check: (bytes) => readConfig(file, { environment: {}, bytes }),
    restartFor: ({ label }) => (label === 'needs a restart' ? ['platform'] : []),
    busy: () => busy,
    readingWithin: () => ['roof'],
    observe: seen,
    expectHelper: async () => {},
    leaveRequest: (request) => leaveRequest({ files: systemUpdateFiles, clock, paths: paths() }, request),
    file: new StateFile({
      ...REMOTE_CONFIGURATION_FORMAT,
      path: join(folder(), 'remote-configuration.json'),
      files: systemFiles,
      clock,
      log: silentLog,
    }),
    newId: randomUUID,
    onState: (state) => told.push(state),
  });
}

/** A process of the agent, as far as it has to do with packages, from what lies in its folder. */
async function begin(): Promise<Life> {
  const stop = new AbortController();
  const remote = openRemote();
  const { clock } = bench;
  const files = systemUpdateFiles;
  const api = new HttpDeviceApi({
    settings: { url: platform.url, requestTimeoutMs: 5_000 },
    clock: systemClock,
    token: () => TOKEN,
  });
  const { installFolder, guardFolder } = { installFolder: paths().home, guardFolder: paths().guard };
  const config = configSchema.parse({
    version: 1,
    platform: { url: platform.url, accessToken: TOKEN },
    firmware: { installFolder, guardFolder, trustedKeys: join(bench.root, 'keys'), chunk: '4kB' },
    stateFolder: folder(),
  });
  const own = configurationPackages({ remote, clock, files, waitMs });
  const updates = await FirmwareUpdates.open({
    config,
    clock: systemClock,
    files: systemFiles,
    runProgram,
    log: silentLog,
    alerts: new AlertList(silentLog),
    self: { id: 'self', name: '', folder: folder(), deviceApi: api },
    newId: randomUUID,
    getUrl: () => Promise.reject(new Error('not asked for')),
    locked: () => false,
    holds: () => (remote.isOn ? 'a configuration is on trial' : undefined),
    builtIn: (title) => (title === TITLE ? own : undefined),
    append: async (entries) => {
      for (const { key, value } of entries) {
        lastMs = Math.max(lastMs + 1, Date.now());
        await api.postTelemetry(rowsOf({ ts: lastMs, values: { [key]: value } }), stop.signal);
      }
    },
    uploaded: () => true,
    fault: () => undefined,
    restart: () => {},
  });
  const listen = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      const answer = await api.getAttributes({ sharedKeys: updates.self.keys }, stop.signal).catch(() => undefined);
      if (answer !== undefined) updates.self.consider(answer.shared);
      await systemClock.sleep(20, stop.signal);
    }
  };
  return { stop, remote, updates, api, loops: [remote.run(stop.signal), updates.run(stop.signal), listen()] };
}

/** Ends the process; nothing that it would still have written is waited for where it is killed. */
async function end(): Promise<void> {
  life.stop.abort();
  await Promise.all(life.loops);
  await life.remote.close();
  await life.api.close();
}

async function restart(): Promise<void> {
  await end();
  running = hashOf(await bench.inPlace());
  life = await begin();
}

/** Root comes for what lies there, and the agent takes up what root says. */
async function rootComes(): Promise<void> {
  const path = join(paths().firmware, 'request');
  const bytes = await readFile(path).catch(() => undefined);
  if (bytes === undefined) return;
  await rename(path, `${path}.taken`);
  const request = parseRequest(bytes);
  const deps = { ...bench.deps(), lockedChanges };
  if (request?.request === 'configure') await configure(deps, request);
  if (request?.request === 'settle') await settle(deps, request);
  const done = bench.done.splice(0);
  if (done.includes('restart')) await restart();
  else if (done.includes('reload')) running = hashOf(await bench.inPlace());
}

/** A second passes, and root is looked for in it. */
async function pass(): Promise<void> {
  await rootComes();
  await bench.clock.advance(1_000);
}

/** Seconds pass until it is so. */
async function until(isSo: () => boolean): Promise<void> {
  await vi.waitFor(async () => {
    await pass();
    expect(isSo()).toBe(true);
  }, PATIENCE);
}

const signed = (content: string | Buffer): Buffer =>
  Buffer.concat([Buffer.from(content), signatureFrame(createHash('sha256').update(content).digest(), keys.privateKey)]);

async function assign(version: string, bytes: Uint8Array): Promise<void> {
  packages += 1;
  const id = `package-${packages}`;
  const path = join(bench.root, id);
  await writeFile(path, bytes);
  const file = { path, from: 0, until: bytes.length, fileName: 'file', contentType: 'application/octet-stream' };
  const device = platform.state.registry.byName('gateway');
  if (device === undefined) throw new Error('no such device');
  platform.state.packages.put({
    id,
    kind: 'SOFTWARE',
    title: TITLE,
    version,
    tag: id,
    createdMs: 0,
    file,
    checksum: createHash('sha256').update(bytes).digest('hex'),
    checksumAlgorithm: 'SHA256',
  });
  platform.state.registry.devices.put({ ...device, softwareId: id });
  platform.packages.announce({ ...device, softwareId: id }, 'SOFTWARE');
}

const values = (key: string) => (platform.deviceView('gateway')?.points.get(key) ?? []).map(({ value }) => value);
const walked = () => values('sw_state').filter((state) => state !== 'QUEUED' && state !== 'INITIATED');
const ends = () => walked().filter((state) => state === 'UPDATED' || state === 'FAILED').length;
/** What belongs to the last state comes behind it. */
const hasEnded = () =>
  ['UPDATED', 'FAILED'].includes(String(walked().at(-1))) &&
  values('sw_error').length + values('current_sw_version').length >= ends();
const states = () => told.map(({ state }) => state);

describe('a configuration that is assigned as a package', () => {
  it('is kept, and told as updated under its title and version', async () => {
    await assign('3-a', signed(AFTER));
    await until(hasEnded);
    expect(walked()).toEqual([...WALK, 'UPDATED']);
    await expect.poll(() => values('current_sw_version'), PATIENCE).toEqual(['3-a']);
    expect(values('current_sw_title')).toEqual([TITLE]);
    expect(await bench.inPlace()).toBe(AFTER);
    expect(told.at(-1)).toMatchObject({ state: 'kept', origin: 'package', package: { title: TITLE, version: '3-a' } });
    const shown = await configurationsTold(life.remote, {
      files: systemUpdateFiles,
      paths: paths(),
      runningHash: () => running,
      clock: bench.clock,
    });
    expect(shown.history).toMatchObject([{ origin: 'package', package: { title: TITLE, version: '3-a' } }]);
  });

  it('returns, and is told as failed with the reason; the same is not tried again until it is assigned anew', async () => {
    works = false;
    await assign('3-a', signed(AFTER));
    await until(hasEnded);
    expect(walked()).toEqual([...WALK, 'FAILED']);
    expect(values('sw_error')).toEqual(['the previous file is in force again: within 5m: no reading of roof']);
    expect(await bench.inPlace()).toBe(BEFORE);
    await restart();
    for (let second = 0; second < 30; second += 1) await pass();
    expect(await bench.history()).toEqual(['0001', '0001.yaml']);
    works = true;
    await assign('3-a', signed(AFTER));
    await until(() => walked().length === 10);
    expect(walked().at(-1)).toBe('UPDATED');
    expect(await bench.inPlace()).toBe(AFTER);
  });

  it.each<[string, string | Buffer, RegExp]>([
    ['a fault', BEFORE.replace('10s', 'soon'), /^line 5:\d+, sensors\[0\]\.period.*, expected /],
    ['two faults', `${BEFORE.replace('host', 'no-such')}upload: { interval: soon }\n`, /line \d.*; line \d/],
    ['a locked change', BEFORE.replace('iot.example', 'other.example'), /^locked: platform/],
    ['bytes that are none', Buffer.from([0xff, 0xfe, 0x00]), /./],
  ])('is refused for %s, which the platform is told with its place', async (_what, content, reason) => {
    await assign('3-a', signed(content));
    await until(hasEnded);
    expect(walked()).toEqual([...WALK, 'FAILED']);
    await expect.poll(() => values('sw_error'), PATIENCE).toEqual([expect.stringMatching(reason)]);
    expect(String(values('sw_error')[0]).length).toBeLessThanOrEqual(500);
    expect([states(), await bench.inPlace()]).toEqual([['refused'], BEFORE]);
  });

  it.each<[string, () => Buffer, RegExp]>([
    ['without a signature', () => Buffer.from(AFTER), /not signed/],
    [
      'with a signature of something else',
      () => Buffer.concat([Buffer.from(AFTER), signed(BEFORE).subarray(BEFORE.length)]),
      /signature does not fit/,
    ],
  ])('is not even looked at %s', async (_what, bytes, reason) => {
    await assign('3-a', bytes());
    await until(hasEnded);
    expect(walked()).toEqual(['DOWNLOADING', 'DOWNLOADED', 'FAILED']);
    await expect.poll(() => values('sw_error'), PATIENCE).toEqual([expect.stringMatching(reason)]);
    expect(told).toEqual([]);
  });

  it('is refused before its download when it is said to have more than a configuration may have', async () => {
    await assign('3-a', signed(`${AFTER}# ${'x'.repeat(1024 * 1024)}\n`));
    await until(hasEnded);
    expect(walked()).toEqual(['FAILED']);
    await expect
      .poll(() => values('sw_error'), PATIENCE)
      .toEqual([expect.stringMatching(/^it has \d+ bytes, and may/)]);
  });

  it('ends as updated at once when its bytes are in place, though it was assigned and kept before', async () => {
    await assign('3-a', signed(BEFORE));
    await until(hasEnded);
    expect([walked(), states()]).toEqual([[...WALK, 'UPDATED'], []]);
    expect(await bench.history().catch(() => [])).toEqual([]);
  });

  it('waits while another is on trial, says so, and goes on by itself', async () => {
    busy = 'an update is under way';
    await assign('3-a', signed(AFTER));
    await until(() => told.length > 0);
    expect(told).toMatchObject([{ state: 'waiting', reason: 'an update is under way', package: { version: '3-a' } }]);
    for (let second = 0; second < 60; second += 1) await pass();
    expect(life.updates.self.updater('software').status).toMatchObject({ state: 'applying', waits: busy });
    expect([walked(), states()]).toEqual([WALK, ['waiting']]);
    busy = undefined;
    await until(hasEnded);
    expect([walked().at(-1), states()]).toEqual(['UPDATED', ['waiting', 'received', 'trying', 'kept']]);
  });

  it('gives way to another package while it waits', async () => {
    busy = 'an update is under way';
    await assign('3-a', signed(RESTARTED));
    await until(() => told.length > 0);
    await assign('4-a', signed(AFTER));
    await until(() => walked().length === 8);
    expect(told.slice(0, 2)).toMatchObject([
      { state: 'waiting', package: { version: '3-a' } },
      { state: 'refused', package: { version: '3-a' }, reason: 'its package is not assigned any more' },
    ]);
    busy = undefined;
    await until(hasEnded);
    expect([values('current_sw_version'), await bench.inPlace()]).toEqual([['4-a'], AFTER]);
    expect(await bench.history()).toEqual(['0001', '0001.yaml']);
  });

  it('has failed when it has waited for too long', async () => {
    await end();
    waitMs = 30_000;
    life = await begin();
    busy = 'an update is under way';
    await assign('3-a', signed(AFTER));
    await until(hasEnded);
    expect(values('sw_error')).toEqual(['it has waited too long: an update is under way']);
    expect(told.at(-1)).toMatchObject({ state: 'refused', reason: 'it has waited too long: an update is under way' });
  });

  it.each([true, false])('follows its trial through a restart to its end, where it works: %s', async (isGood) => {
    works = isGood;
    await assign('3-a', signed(RESTARTED));
    await until(hasEnded);
    // What is under way is told again by each start.
    expect(new Set(walked())).toEqual(new Set([...WALK, isGood ? 'UPDATED' : 'FAILED']));
    expect(states()).toEqual(['received', 'trying', isGood ? 'kept' : 'returned']);
    expect(await bench.history()).toEqual(['0001', '0001.yaml']);
    expect(await bench.inPlace()).toBe(isGood ? RESTARTED : BEFORE);
  });

  it.each([true, false])(
    'has one trial and one end, wherever the agent is killed, where it works: %s',
    async (isGood) => {
      works = isGood;
      await assign('3-a', signed(AFTER));
      let kills = 0;
      await vi.waitFor(async () => {
        await pass();
        if (walked().includes('UPDATING') && kills < 12) {
          kills += 1;
          await restart();
        }
        expect(hasEnded()).toBe(true);
      }, PATIENCE);
      for (let second = 0; second < 30; second += 1) await pass();
      expect(kills).toBeGreaterThan(2);
      expect(walked().filter((state) => state === 'UPDATED' || state === 'FAILED')).toEqual([
        isGood ? 'UPDATED' : 'FAILED',
      ]);
      expect(await bench.history()).toEqual(['0001', '0001.yaml']);
      expect(await bench.inPlace()).toBe(isGood ? AFTER : BEFORE);
    },
  );

  it('ends as its trial ends where nothing of its request is kept but what root has', async () => {
    await assign('3-a', signed(RESTARTED));
    await until(() => states().includes('trying'));
    await end();
    await rm(join(folder(), 'remote-configuration.json'));
    life = await begin();
    await until(hasEnded);
    expect([walked().at(-1), await bench.inPlace()]).toEqual(['UPDATED', RESTARTED]);
    expect(await bench.history()).toEqual(['0001', '0001.yaml']);
  });

  it('whose trial a power cut ends has failed, and is not tried again', async () => {
    works = false;
    await assign('3-a', signed(AFTER));
    await until(() => states().includes('trying'));
    await end();
    await bench.setBoot('boot-2');
    await runGuard(bench.root, 'starting');
    running = hashOf(await bench.inPlace());
    life = await begin();
    await until(hasEnded);
    for (let second = 0; second < 30; second += 1) await pass();
    expect(walked().filter((state) => state === 'FAILED')).toHaveLength(1);
    expect(values('sw_error')).toEqual([expect.stringMatching(/^the previous file is in force again: /)]);
    expect(await bench.inPlace()).toBe(BEFORE);
  });
});
