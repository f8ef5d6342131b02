/**
 * A configuration from afar through the agent's part and root's own, in virtual time: taken, tried, kept, returned, refused. The agent around them
 * is made up of what a trial looks at.
 */
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { readConfig } from '../../src/config/read-config.ts';
import { parseRequest } from '../../src/firmware/guard-state.ts';
import { leaveRequest } from '../../src/firmware/swap-request.ts';
import { systemFiles } from '../../src/host/files.ts';
import { silentLog } from '../../src/host/log.ts';
import { lockedChanges } from '../../src/remote-config/locked.ts';
import {
  type ConfigurationState,
  REMOTE_CONFIGURATION_FORMAT,
  RemoteConfig,
} from '../../src/remote-config/remote-config.ts';
import { configure } from '../../src/remote-config/root/configure.ts';
import { settle } from '../../src/remote-config/root/end-trial.ts';
import type { SeenOnTrial } from '../../src/remote-config/trial-judge.ts';
import { StateFile } from '../../src/store/state-file.ts';
import { hashOf, RootConfigBench } from '../support/root-config-bench.ts';
import { systemUpdateFiles } from '../support/system-update-files.ts';

const BEFORE = `version: 1
remoteConfiguration: { enabled: true }
platform: { url: https://iot.example.org, accessToken: the-token-of-this-device }
# The roof is read often.
sensors:
  - { name: roof, kind: host, period: 10s }
actuators:
  - { name: pump, kind: gpio-output, line: GPIO27, safe: { start: off }, limits: { maxOn: 10m } }
`;
const base = hashOf(BEFORE);

let bench: RootConfigBench;
let remote: RemoteConfig;
let running: string;
let told: ConfigurationState[];
let stop: AbortController;
let busy: string | undefined;
let mayAsk: boolean;
let isEnabled: boolean;

/** As an agent that works: everything was seen just now. */
const well = (): Omit<SeenOnTrial, 'nowMs'> => ({
  acknowledgedAtMs: bench.clock.monotonicMs() + 1,
  standing: { commands: true, attributes: true },
  readAtMs: new Map([['roof', bench.clock.monotonicMs() + 1]]),
  faulty: [],
});
let observe: () => Omit<SeenOnTrial, 'nowMs'>;

beforeEach(async () => {
  bench = await RootConfigBench.make(BEFORE);
  running = base;
  told = [];
  busy = undefined;
  mayAsk = true;
  isEnabled = true;
  stop = new AbortController();
  observe = well;
  await open();
});

afterEach(async () => {
  stop.abort();
  await remote.close();
  await bench.remove();
});

async function open(): Promise<void> {
  const { clock, root, file } = bench;
  remote = new RemoteConfig({
    clock,
    log: silentLog,
    files: systemUpdateFiles,
    paths: {
      home: join(root, 'opt/turnstone'),
      guard: join(root, 'var/lib/turnstone-guard'),
      firmware: join(root, 'var/lib/turnstone/firmware'),
    },
    settings: () => ({ enabled: isEnabled, allow: [], title: 'turnstone-configuration', trialMs: 300_000 }),
    runningHash: () => running,
    readInPlace: () => readFile(file),
    check: (bytes) => readConfig(file, { environment: {}, bytes }),
    restartFor: ({ label }) => (label === 'needs a restart' ? ['platform'] : []),
    busy: () => busy,
    readingWithin: (_ms, { sensors }) => sensors.map(({ name }) => name).filter((name) => name === 'roof'),
    observe: () => observe(),
    expectHelper: async () => {},
    leaveRequest: async (request) => {
      if (!mayAsk) throw new Error('the disk is full');
      const paths = { home: '', guard: '', firmware: join(root, 'var/lib/turnstone/firmware') };
      await leaveRequest({ files: systemUpdateFiles, clock, paths }, request);
    },
    file: new StateFile({
      ...REMOTE_CONFIGURATION_FORMAT,
      path: join(root, 'remote-configuration.json'),
      files: systemFiles,
      clock,
      log: silentLog,
    }),
    newId: () => `id-${told.length}`,
    onState: (state) => told.push(state),
  });
  void remote.run(stop.signal);
}

/** Root comes for what lies there, and the agent takes up what root says. */
async function rootComes(): Promise<void> {
  const path = join(bench.root, 'var/lib/turnstone/firmware/request');
  const bytes = await readFile(path).catch(() => undefined);
  if (bytes === undefined) return;
  await rename(path, `${path}.taken`);
  const request = parseRequest(bytes);
  const deps = { ...bench.deps(), lockedChanges };
  if (request?.request === 'configure') await configure(deps, request);
  if (request?.request === 'settle') await settle(deps, request);
  if (bench.done.splice(0).some((one) => one === 'reload' || one === 'restart'))
    running = hashOf(await bench.inPlace());
}

/** Seconds pass; root is looked for in each. */
async function pass(seconds: number): Promise<void> {
  for (let second = 0; second < seconds; second += 1) {
    await rootComes();
    await bench.clock.advance(1_000);
    await looked();
  }
}

/** The loop reads files between two of its looks; then it sleeps. */
async function looked(): Promise<void> {
  await vi.waitFor(() => expect(bench.clock.pending).toBeGreaterThan(0), { interval: 1 });
}

const states = (): string[] => told.map(({ state }) => state);

describe('a patch from afar', () => {
  it('is kept once all works as before, and leaves the comments of the file', async () => {
    const taken = await remote.take({ patch: { base, set: { 'sensors.roof.period': '30s' } } }, 'patch');
    expect(taken).toMatchObject({
      state: 'received',
      difference: ['sensors.roof.period: 10s → 30s'],
      locked: [],
      faults: [],
      needs: 'reload',
    });
    await pass(30);
    expect(states()).toEqual(['received', 'trying', 'kept']);
    expect(await bench.inPlace()).toBe(BEFORE.replace('10s', '30s'));
    expect((await bench.seen()).trial).toBeUndefined();
  });

  it('returns by itself when a sensor is silent, with the reason', async () => {
    observe = () => ({ ...well(), readAtMs: new Map() });
    await remote.take({ patch: { base, set: { 'sensors.roof.period': '30s' } } }, 'patch');
    await pass(290);
    expect(states()).toEqual(['received', 'trying']);
    await pass(30);
    expect(states()).toEqual(['received', 'trying', 'returned']);
    expect(told.at(-1)?.reason).toBe('within 5m: no reading of roof');
    expect(await bench.inPlace()).toBe(BEFORE);
    expect(running).toBe(base);
  });

  it('returns at once when an output ends in fault', async () => {
    await remote.take({ patch: { base, set: { 'sensors.roof.period': '30s' } } }, 'patch');
    observe = () => ({ ...well(), faulty: [{ name: 'pump', fault: 'the line is held' }] });
    await pass(8);
    expect(told.at(-1)).toMatchObject({ state: 'returned', reason: 'the output pump is in fault: the line is held' });
    expect(await bench.inPlace()).toBe(BEFORE);
  });

  it.each<[string, object, string | RegExp]>([
    ['another base', { base: 'f'.repeat(64), set: { label: 'x' } }, /^base: /],
    ['a fault', { base, set: { 'sensors.roof.period': 'soon' } }, /^sensors\.roof\.period|^sensors\[0\]\.period/],
    [
      'a wider limit',
      { base, set: { 'actuators.pump.limits.maxOn': '20m' } },
      /^locked: actuators\.pump\.limits\.maxOn/,
    ],
    ['another platform', { base, set: { 'platform.url': 'https://elsewhere.example.org' } }, /^locked: platform/],
    ['itself', { base, set: { 'remoteConfiguration.allow': ['programs'] } }, /^locked: remoteConfiguration/],
  ])('is refused for %s, and nothing is asked of root', async (_what, patch, reason) => {
    const taken = await remote.take({ patch }, 'patch');
    expect(taken.state).toBe('refused');
    expect(taken.reason).toMatch(reason);
    await pass(3);
    expect(states()).toEqual(['refused']);
    expect(await bench.inPlace()).toBe(BEFORE);
  });

  it('is only looked at when it is to be checked', async () => {
    const taken = await remote.take({ patch: { base, set: { label: 'Roof' } } }, 'local', { check: true });
    expect(taken).toMatchObject({ state: 'checked', difference: ['label: added, Roof'] });
    await pass(3);
    expect([states(), await bench.inPlace()]).toEqual([[], BEFORE]);
  });

  it('waits for nobody: a second one is refused while the first is on trial', async () => {
    observe = () => ({ ...well(), acknowledgedAtMs: undefined });
    await remote.take({ patch: { base, set: { label: 'One' } } }, 'patch');
    await pass(5);
    const second = await remote.take({ patch: { base: running, set: { label: 'Two' } } }, 'patch');
    expect(second.reason).toMatch(/another configuration is on trial/);
  });

  it('is refused while an update is under way', async () => {
    busy = 'an update is under way';
    expect(await remote.take({ patch: { base, set: { label: 'One' } } }, 'patch')).toMatchObject({
      state: 'refused',
      reason: 'an update is under way',
    });
  });

  it('ends with a valid edit on site, which stays', async () => {
    observe = () => ({ ...well(), acknowledgedAtMs: undefined });
    await remote.take({ patch: { base, set: { label: 'One' } } }, 'patch');
    await pass(5);
    const edited = BEFORE.replace('10s', '1m');
    await writeFile(bench.file, edited);
    running = hashOf(edited);
    await pass(5);
    expect(told.at(-1)).toMatchObject({
      state: 'kept',
      hash: hashOf(edited),
      reason: expect.stringContaining('on site'),
    });
    expect(await bench.inPlace()).toBe(edited);
  });

  it('ends in the file before with an edit on site that has faults, which is set aside', async () => {
    observe = () => ({ ...well(), acknowledgedAtMs: undefined });
    await remote.take({ patch: { base, set: { label: 'One' } } }, 'patch');
    await pass(5);
    await writeFile(bench.file, 'sensors: none\n');
    await pass(5);
    expect(await bench.inPlace()).toBe('sensors: none\n');
    observe = well;
    await pass(15);
    expect(told.at(-1)).toMatchObject({ state: 'returned', reason: expect.stringMatching(/on site.* faults$/) });
    expect(await bench.inPlace()).toBe(BEFORE);
    expect(await readFile(`${bench.file}.refused`, 'utf8')).toBe('sensors: none\n');
  });

  it('is told as returned where the guard has gone back from a kept file at a later start', async () => {
    await remote.take({ patch: { base, set: { label: 'One' } } }, 'patch');
    await pass(30);
    expect(states().at(-1)).toBe('kept');
    stop.abort();
    await remote.close();
    const result = await readFile(bench.paths.result, 'utf8');
    await writeFile(
      bench.paths.result,
      result.replace('outcome=kept\n', 'outcome=returned\n').replace(/reason=.*/, 'reason=refused'),
    );
    stop = new AbortController();
    await open();
    await vi.waitFor(() => expect(told.at(-1)).toMatchObject({ state: 'returned', reason: 'refused' }));
  });

  it('is judged by the process that comes after a restart, by the sensors of before', async () => {
    observe = () => ({ ...well(), readAtMs: new Map() });
    await remote.take({ patch: { base, set: { label: 'needs a restart' } } }, 'patch');
    await pass(2);
    stop.abort();
    await remote.close();
    stop = new AbortController();
    await open();
    await pass(320);
    expect(told.at(-1)).toMatchObject({ state: 'returned', reason: 'within 5m: no reading of roof' });
    expect(await bench.inPlace()).toBe(BEFORE);
  });

  it('is kept with an output that was in fault before, and returned for one that is so since', async () => {
    observe = () => ({ ...well(), faulty: [{ name: 'pump', fault: 'since last week' }] });
    await remote.take({ patch: { base, set: { label: 'One' } } }, 'patch');
    await pass(30);
    expect(states()).toEqual(['received', 'trying', 'kept']);
  });

  it('says so when no request can be left, and takes the next one', async () => {
    mayAsk = false;
    const refused = await remote.take({ patch: { base, set: { label: 'One' } } }, 'patch');
    expect(refused).toMatchObject({ state: 'refused', reason: 'root could not be asked: the disk is full' });
    mayAsk = true;
    expect(await remote.take({ patch: { base, set: { label: 'One' } } }, 'patch')).toMatchObject({ state: 'received' });
    await pass(30);
    expect(states().at(-1)).toBe('kept');
  });

  it('is told its faults with line, column and remedy', async () => {
    const file = Buffer.from(BEFORE.replace('period', 'perriod'));
    const { faults } = await remote.take({ file }, 'patch', { check: true });
    expect(faults).toMatchObject([{ path: 'sensors[0].perriod', line: 6, hint: 'did you mean "period"?' }]);
  });

  it('tells nothing of the file where nobody may change it from afar', async () => {
    isEnabled = false;
    const taken = await remote.take({ file: Buffer.from('version: 1\n') }, 'patch', { check: true });
    expect(taken).toEqual({
      state: 'refused',
      base,
      difference: [],
      locked: [],
      faults: [],
      reason: 'remoteConfiguration.enabled is not true in the file in place',
    });
  });

  it('says so when no helper comes', async () => {
    await remote.take({ patch: { base, set: { label: 'One' } } }, 'patch');
    for (let second = 0; second < 130; second += 1) {
      await bench.clock.advance(1_000);
      await looked();
    }
    expect(told.at(-1)).toMatchObject({
      state: 'refused',
      reason: expect.stringMatching(/the root helper does not answer/),
    });
  });
});
