/**
 * A configuration with a secret in each of fifty places, and changes from afar that touch, remove, misplace, break and repeat each of them, kept,
 * refused and returned: nothing that anybody is told has one of them, and no file has one that others than root and the group may read.
 */
import { readdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { readConfig } from '../../src/config/read-config.ts';
import { parseRequest } from '../../src/firmware/guard-state.ts';
import { leaveRequest } from '../../src/firmware/swap-request.ts';
import { AlertList } from '../../src/host/alert-list.ts';
import { systemFiles } from '../../src/host/files.ts';
import { AgentLog } from '../../src/host/log.ts';
import type { WantedConfiguration } from '../../src/remote-config/candidate.ts';
import { lockedChanges } from '../../src/remote-config/locked.ts';
import {
  type ConfigurationState,
  REMOTE_CONFIGURATION_FORMAT,
  RemoteConfig,
} from '../../src/remote-config/remote-config.ts';
import { configure } from '../../src/remote-config/root/configure.ts';
import { settle } from '../../src/remote-config/root/end-trial.ts';
import { tellConfiguration, toldAttribute } from '../../src/remote-config/tell-configuration.ts';
import { configurationsTold } from '../../src/remote-config/told-configurations.ts';
import { StateFile } from '../../src/store/state-file.ts';
import {
  CANARY_ENVIRONMENT,
  CANARY_PLACES,
  type CanaryPlace,
  canaryAt,
  canaryConfiguration,
  canaryOf,
  FIRST_OF_CHANGES,
} from '../support/canary-places.ts';
import { hashOf, RootConfigBench } from '../support/root-config-bench.ts';
import { systemUpdateFiles } from '../support/system-update-files.ts';

/** Secret that a change brings itself. */
const NEW = canaryOf(FIRST_OF_CHANGES);
const CANARIES = [...CANARY_PLACES.map(({ canary }) => canary), NEW];
const TRIAL_S = 60;

let bench: RootConfigBench;
let before: string;
let base: string;
let remote: RemoteConfig;
let running: string;
/** The end of the trials of a row. */
let end: 'kept' | 'returned' = 'kept';
let states: ConfigurationState[] = [];
/** All that anybody was told, since the row began. */
let heard: { readonly where: string; readonly words: string }[] = [];
const stop = new AbortController();

beforeAll(async () => {
  bench = await RootConfigBench.make();
  before = canaryConfiguration(bench.root);
  base = hashOf(before);
  running = base;
  await bench.put('password', `${canaryAt('file of sensors.stored.password')}\n`, 0o600);
  await bench.put('sealed', `${canaryAt('credential of sensors.sealed.password')}\n`, 0o600);
  await bench.put('driver.mjs', 'export default {}\n');
  await writeFile(bench.file, before);
  const log = new AgentLog({
    level: 'debug',
    clock: bench.clock,
    sink: { write: (line) => void heard.push({ where: 'log', words: line }) },
  });
  const alerts = new AlertList(log);
  const paths = {
    home: join(bench.root, 'opt/turnstone'),
    guard: join(bench.root, 'var/lib/turnstone-guard'),
    firmware: join(bench.root, 'var/lib/turnstone/firmware'),
  };
  const { clock } = bench;
  remote = new RemoteConfig({
    clock,
    log,
    files: systemUpdateFiles,
    paths,
    settings: () => ({ enabled: true, allow: [], title: 'turnstone-configuration', trialMs: TRIAL_S * 1_000 }),
    runningHash: () => running,
    readInPlace: () => readFile(bench.file),
    check: (bytes) =>
      readConfig(bench.file, {
        environment: Object.assign({ CREDENTIALS_DIRECTORY: bench.root }, CANARY_ENVIRONMENT),
        bytes,
      }),
    restartFor: () => [],
    busy: () => undefined,
    readingWithin: () => [],
    observe: () => ({
      acknowledgedAtMs: clock.monotonicMs() + 1,
      standing: { commands: true, attributes: true },
      readAtMs: new Map(),
      faulty: end === 'kept' || !remote.isOn ? [] : [{ name: 'siren', fault: 'it does not answer' }],
    }),
    expectHelper: async () => {},
    leaveRequest: (request) => leaveRequest({ files: systemUpdateFiles, clock, paths }, request),
    file: new StateFile({
      ...REMOTE_CONFIGURATION_FORMAT,
      path: join(bench.root, 'remote-configuration.json'),
      files: systemFiles,
      clock,
      log,
    }),
    newId: () => `id-${states.length}-${clock.monotonicMs()}`,
    onState: (state) => {
      states.push(state);
      heard.push({ where: 'configurationState', words: JSON.stringify(toldAttribute(state)) });
      const timeline = {
        tell: (event: unknown) => void heard.push({ where: 'timeline', words: JSON.stringify(event) }),
      };
      tellConfiguration(state, { alerts, timeline });
      heard.push({ where: 'alerts', words: JSON.stringify(alerts.list()) });
    },
  });
  void remote.run(stop.signal);
});

afterAll(async () => {
  stop.abort();
  await remote.close();
  await bench.remove();
});

beforeEach(() => {
  heard = [];
  states = [];
});

/** Root comes for what lies there, and the agent takes up what root says. */
async function rootComes(): Promise<void> {
  const path = join(bench.root, 'var/lib/turnstone/firmware/request');
  const bytes = await readFile(path).catch(() => undefined);
  if (bytes === undefined) return;
  await rename(path, `${path}.taken`);
  const request = parseRequest(bytes);
  const log = new AgentLog({
    level: 'debug',
    clock: bench.clock,
    sink: { write: (line) => void heard.push({ where: 'log of root', words: line }) },
  });
  const deps = Object.assign(bench.deps(), { lockedChanges, log });
  if (request?.request === 'configure') await configure(deps, request);
  if (request?.request === 'settle') await settle(deps, request);
  bench.done.length = 0;
  running = hashOf(await bench.inPlace());
}

/** Takes a change, follows it to its end, and puts the previous file back. */
async function change(wanted: WantedConfiguration, { check = false } = {}): Promise<void> {
  const taken = await remote.take(wanted, 'patch', { check });
  const { locked, ...answer } = taken;
  heard.push({
    where: 'answer',
    words: JSON.stringify([answer, locked.map(({ path, words }) => `${path}: ${words}`)]),
  });
  for (let second = 0; taken.state === 'received' && remote.isOn && second < 2 * TRIAL_S; second += 1) {
    await rootComes();
    await bench.clock.advance(1_000);
    await vi.waitFor(() => expect(bench.clock.pending).toBeGreaterThan(0), { interval: 1 });
  }
  const told = await configurationsTold(remote, {
    files: systemUpdateFiles,
    paths: { home: '', guard: join(bench.root, 'var/lib/turnstone-guard'), firmware: '' },
    runningHash: () => running,
    clock: bench.clock,
  });
  heard.push({ where: 'history', words: JSON.stringify(told) });
  await expectNothingOpen();
  await writeFile(bench.file, before);
  running = base;
}

/** No file that others may read has a secret in it, in none of the folders. */
async function expectNothingOpen(): Promise<void> {
  for (const entry of await readdir(bench.root, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    // One may be renamed meanwhile.
    const facts = entry.isFile() ? await stat(path).catch(() => undefined) : undefined;
    if (facts === undefined || (facts.mode & 0o007) === 0) continue;
    heard.push({ where: `file ${entry.name}`, words: await readFile(path, 'utf8').catch(() => '') });
  }
}

function leaks(): readonly string[] {
  const found = heard.flatMap(({ where, words }) =>
    CANARIES.filter((canary) => words.includes(canary)).map(
      (canary) => `${where}: ${canary} in ${words.slice(0, 600)}`,
    ),
  );
  return [...new Set(found)];
}

type Made = readonly [name: string, wanted: WantedConfiguration];

/** Trials of a row that are followed to their end: the first is kept, the others are returned. */
const FOLLOWED = 2;

const file = (text: string): WantedConfiguration => ({ file: Buffer.from(text), base });
const set = (path: string, value: unknown): WantedConfiguration => ({ patch: { base, set: { [path]: value } } });

/** The text with another one in the place of a secret; of one that stands elsewhere a line with it is added. */
function withText({ canary }: CanaryPlace, text: string): string {
  return before.includes(canary) ? before.replaceAll(canary, text) : `${before}shutdown: { drain: ${text} }\n`;
}

/** Faults of the text around a secret, and a secret that stands where none belongs. */
function broken(place: CanaryPlace): readonly Made[] {
  const { canary } = place;
  const line = before.split('\n').find((one) => one.includes(canary)) ?? `shutdown: { drain: ${canary} }`;
  return [
    ['an open quote before it', file(withText(place, `"${canary}`))],
    ['an open bracket before it', file(withText(place, `[${canary}`))],
    ['an alias of it', file(withText(place, `*${canary}`))],
    ['a tag of it', file(withText(place, `!${canary} x`))],
    ['a mapping in its place', file(withText(place, `${canary}: ${NEW}`))],
    ['its line twice', file(before.replace(line, `${line}\n${line}`))],
    ['a tab before its line', file(before.replace(line, `\t${line}`))],
    ['its line alone', file(line)],
    ['a second document', file(`${before}---\n${line}\n`)],
    ['a wrong section before it', file(`${before}${canary}: ${NEW}\n`)],
    ['it in the place of a number', file(before.replace('period: 10s', `period: ${canary}`))],
  ];
}

function patches(path: string, canary: string): readonly Made[] {
  const misspelt = path.replace(/(\w)(\w)(\w*)$/, '$2$1$3');
  return [
    ['another', set(path, NEW)],
    ['another, in a text', set(path, `Bearer ${NEW}`)],
    ['the same', set(path, canary)],
    ['the same by variable', set(path, `\${${NEW}}`)],
    ['a mapping', set(path, { [NEW]: 1 })],
    ['a number', set(path, 5)],
    ['a wrong place', set(misspelt === path ? `${path}x` : misspelt, NEW)],
    ['a wrong section', set(`platfrom.${NEW}`, NEW)],
    ['a path that holds it', set(`${path}.${NEW}`, 1)],
    ['gone', { patch: { base, remove: [path] } }],
    ['added where no list is', { patch: { base, add: { [path]: [NEW] } } }],
    ['twice', { patch: { base, set: { [path]: NEW }, remove: [path] } }],
    ['no patch', { patch: { base, [NEW]: canary, set: NEW } }],
  ];
}

describe('no secret is told of a change from afar', () => {
  it('in fifty places', () => {
    expect(CANARY_PLACES.length).toBeGreaterThanOrEqual(50);
    const everywhere = `${before}${JSON.stringify(CANARY_ENVIRONMENT)}`;
    const outside = ['file of sensors.stored.password', 'credential of sensors.sealed.password'];
    expect(
      CANARY_PLACES.filter(({ place, canary }) => !outside.includes(place) && !everywhere.includes(canary)),
    ).toEqual([]);
  });

  it.each(CANARY_PLACES.map((one) => [one.place, one] as const))('%s', { timeout: 120_000 }, async (_place, place) => {
    const { path, canary } = place;
    const made: readonly Made[] = [
      ['another, in the file', file(withText(place, NEW))],
      ['gone, in the file', file(withText(place, ''))],
      ...broken(place),
      ...(path === undefined ? [] : patches(path, canary)),
    ];
    const found: string[] = [];
    let followed = 0;
    for (const [name, wanted] of made) {
      heard = [];
      end = followed === 0 ? 'kept' : 'returned';
      await change(wanted, { check: followed === FOLLOWED });
      if (states.length > 1) followed += 1;
      states = [];
      found.push(...leaks().map((leak) => `${name}: ${leak}`));
    }
    expect(found).toEqual([]);
  });

  it.each([['kept' as const], ['returned' as const]])('that is %s', { timeout: 120_000 }, async (outcome) => {
    end = outcome;
    const names = ['sensors.machine.period', 'sensors.meter.label', 'sensors.gate.period'];
    for (const path of names) await change(set(path, path.endsWith('label') ? 'Meter' : '15s'));
    await change(file(before.replace('period: 10s', 'period: 20s').replaceAll(canaryAt(BESIDE_ONE), NEW)));
    expect(states.filter(({ state }) => state === outcome)).toHaveLength(4);
    expect(leaks()).toEqual([]);
  });
});

const BESIDE_ONE = 'comment above a section';
