import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { configSchema } from '../../../src/config/schema/agent-config.ts';
import { guardLines, parseRequest, releasePaths } from '../../../src/firmware/guard-state.ts';
import { awaitSwap, expectHelper, leaveRequest, lookAtGuard } from '../../../src/firmware/swap-request.ts';
import { updateFiles } from '../../../src/firmware/update-files.ts';
import type { Update } from '../../../src/firmware/update-journal.ts';
import type { UpdaterDeps } from '../../../src/firmware/updater-deps.ts';
import { silentLog } from '../../../src/host/log.ts';
import { keyValueLines } from '../../../src/store/key-value-lines.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { MemoryFiles } from '../../support/memory-files.ts';

const paths = releasePaths('/');
const update: Update = {
  id: 'one',
  title: 'turnstone',
  version: '2.0.0',
  source: 'platform',
  from: '1.0.0',
  startedAtMs: 0,
  askedInBoot: 'boot-1',
  unanswered: 0,
  attempts: 0,
};
let disk: MemoryFiles;
let clock: FakeClock;
let restarts: string[];

beforeEach(async () => {
  disk = new MemoryFiles();
  clock = new FakeClock();
  restarts = [];
  disk.put(join(paths.firmware, 'request'), 'a request');
  await current('1.0.0');
});

const current = (version: string): Promise<void> =>
  updateFiles(disk).link(`releases/${version}`, join(paths.home, 'current'));
const trial = (fields: object = {}): void =>
  disk.put(join(paths.guard, 'trial'), guardLines({ id: 'one', version: '2.0.0', previous: '1.0.0', ...fields }));
const result = (outcome: 'swapped' | 'refused' | 'confirmed' | 'rolled-back', id = 'one'): void =>
  disk.put(join(paths.guard, 'result'), guardLines({ id, outcome, version: '2.0.0', reason: 'because' }));

function deps(runningVersion = '1.0.0'): UpdaterDeps {
  const unused = (): never => {
    throw new Error('not asked for');
  };
  return {
    kind: 'firmware',
    config: configSchema.parse({ version: 1, platform: { url: 'http://127.0.0.1:1', accessToken: 'token' } }).firmware,
    files: updateFiles(disk),
    paths,
    clock,
    log: silentLog,
    arch: 'x64',
    release: { runningVersion, vitals: unused, requestRestart: (reason) => void restarts.push(reason) },
    deviceApi: { getAttributes: unused, getFirmware: unused },
    getUrl: unused,
    report: unused,
    runHandler: unused,
    newId: () => 'new-id',
    locked: () => false,
    onWait: () => {},
  };
}

describe('what guard and helper have written', () => {
  const look = (runningVersion?: string) => lookAtGuard(deps(runningVersion), update);

  it.each([
    ['refused', { event: 'refused', reason: 'because' }],
    ['rolled-back', { event: 'rolled-back', reason: 'because' }],
    ['confirmed', { event: 'confirmed' }],
  ] as const)('%s ends this update, and no other', async (outcome, event) => {
    result(outcome, 'another');
    expect(await look()).toBeUndefined();
    result(outcome);
    expect(await look()).toEqual(event);
  });

  it('means the new release has started once it is on trial, current, and this very process', async () => {
    result('swapped');
    trial();
    expect(await look('2.0.0')).toBeUndefined();
    await current('2.0.0');
    expect(await look('1.0.0')).toBeUndefined();
    expect(await look('2.0.0')).toEqual({ event: 'started' });
    trial({ id: 'another' });
    expect(await look('2.0.0')).toBeUndefined();
  });

  it('means a person installed another release when the trial is gone without a word', async () => {
    result('swapped', 'another');
    expect(await look()).toBeUndefined();
    result('swapped');
    expect(await look()).toEqual({ event: 'failed', reason: 'release 1.0.0 was installed by hand' });
    await current('2.0.0');
    expect(await look()).toBeUndefined();
    await updateFiles(disk).remove(join(paths.home, 'current'));
    expect(await look()).toEqual({ event: 'failed', reason: 'release none was installed by hand' });
  });
});

describe('waiting for a swap', () => {
  /** Starts to wait, lets time pass, and says how it ended, if it has. */
  async function wait(ms: number, options: { readonly running?: string; readonly update?: Partial<Update> } = {}) {
    const stop = new AbortController();
    let ended: unknown = 'waits';
    const waiting = awaitSwap(deps(options.running), { ...update, ...options.update }, stop.signal).then((outcome) => {
      ended = outcome;
    });
    await clock.advance(ms);
    const seen = ended;
    stop.abort();
    await waiting;
    return { seen, last: ended };
  }

  it('looks again every second', async () => {
    let looks = 0;
    const countLooks = (operation: string, path: string): undefined => {
      if (operation === 'open' && path === join(paths.guard, 'result')) looks += 1;
    };
    disk.faults = { fail: countLooks };
    await wait(2_999);
    expect(looks).toBe(3);
  });

  it('ends with nothing when it is told to', async () => {
    expect(await wait(10)).toEqual({ seen: 'waits', last: undefined });
  });

  it('asks again after a quarter of an hour, and at the third time gives up', async () => {
    expect((await wait(15 * 60_000)).seen).toBe('waits');
    expect((await wait(15 * 60_000 + 2_000)).seen).toEqual({ event: 'unanswered' });
    expect((await wait(15 * 60_000 + 2_000, { update: { unanswered: 1 } })).seen).toEqual({ event: 'unanswered' });
    expect((await wait(15 * 60_000 + 2_000, { update: { unanswered: 2 } })).seen).toMatchObject({
      event: 'failed',
      reason: expect.stringContaining('does not answer'),
    });
  });

  it('says why nobody answers: the unit that is to start the helper, or a state folder that it does not watch', async () => {
    const reasonIn = async (firmware: string): Promise<unknown> => {
      const ended = awaitSwap(
        { ...deps(), paths: { ...paths, firmware } },
        { ...update, unanswered: 2 },
        new AbortController().signal,
      );
      await clock.advance(15 * 60_000 + 2_000);
      return (await ended)?.reason;
    };
    expect(await reasonIn('/var/lib/turnstone/firmware')).toMatch(/turnstone-helper\.path active\?$/);
    expect(await reasonIn('/data/firmware')).toMatch(/stateFolder.* \/data\/firmware/);
  });

  it('asks again at once when the helper was cut short by a power cut: its request is gone, and it too', async () => {
    expect((await wait(0, { update: { askedInBoot: 'boot-0' } })).seen).toBe('waits');
    disk.unlinkNow(join(paths.firmware, 'request'));
    expect((await wait(0, { update: { askedInBoot: 'boot-0' } })).seen).toEqual({ event: 'unanswered' });
    expect((await wait(60_000)).seen).toBe('waits');
  });

  it('asks for its own end when the new release is current and this process goes on for a minute', async () => {
    trial();
    await current('2.0.0');
    expect(await wait(60_000)).toEqual({ seen: 'waits', last: undefined });
    expect(restarts).toEqual([]);
    expect((await wait(61_000)).seen).toBeUndefined();
    expect(restarts).toEqual(['release 2.0.0 is to start']);
  });

  it('goes on in the new release until it is on trial', async () => {
    await current('2.0.0');
    expect((await wait(120_000, { running: '2.0.0' })).seen).toBe('waits');
    expect(restarts).toEqual([]);
  });
});

describe('a request', () => {
  it('is none with another word, version or source than the helper takes', () => {
    const request = { request: 'swap', id: 'two', version: '3.0.0', source: 'kept' };
    const parsed = (changes: Record<string, string>): unknown =>
      parseRequest(Buffer.from(guardLines({ ...request, ...changes })));
    expect(parsed({})).toEqual(request);
    for (const wrong of [
      { request: 'remove' },
      { version: '../3' },
      { source: 'elsewhere' },
      { id: 'two words' },
    ] as Record<string, string>[])
      expect(parsed(wrong)).toBeUndefined();
  });

  it('for a configuration is taken whole and within bounds, or not at all', () => {
    const request = {
      request: 'configure',
      id: 'two',
      hash: 'a'.repeat(64),
      before: '0'.repeat(64),
      trialS: 300,
      needs: 'reload',
      origin: 'patch',
    };
    const parsed = (changes: object): unknown =>
      parseRequest(Buffer.from(keyValueLines(Object.assign({}, request, changes))));
    expect(parsed({})).toEqual(request);
    for (const trialS of [60, 3600]) expect(parsed({ trialS })).toMatchObject({ trialS });
    for (const origin of ['package', 'page', 'local']) expect(parsed({ origin })).toMatchObject({ origin });
    expect(parsed({ needs: 'restart', path: '/etc/passwd' })).toEqual(Object.assign({}, request, { needs: 'restart' }));
    for (const wrong of [
      { hash: 'a'.repeat(63) },
      { hash: 'A'.repeat(64) },
      { before: `${'a'.repeat(64)}/` },
      { before: undefined },
      { trialS: 59 },
      { trialS: 3601 },
      { trialS: '1e3' },
      { trialS: '+300' },
      { trialS: '' },
      { needs: 'reboot' },
      { origin: 'site' },
      { origin: 'toString' },
      { id: '../two' },
    ])
      expect(parsed(wrong), JSON.stringify(wrong)).toBeUndefined();
  });

  it('to settle a configuration has an outcome and a reason of one line', () => {
    const request = { request: 'settle', id: 'two', outcome: 'returned', reason: 'no upload' };
    const parsed = (changes: object): unknown =>
      parseRequest(Buffer.from(keyValueLines(Object.assign({}, request, changes))));
    expect(parsed({})).toEqual(request);
    expect(parsed({ outcome: 'kept', reason: '' })).toEqual(
      Object.assign({}, request, { outcome: 'kept', reason: '' }),
    );
    expect(
      parseRequest(Buffer.from(`request=settle\nid=two\noutcome=kept\nreason=${'x'.repeat(500)}\u0007\n`)),
    ).toMatchObject({ reason: 'x'.repeat(300) });
    for (const outcome of ['trying', 'refused', '', undefined]) expect(parsed({ outcome }), outcome).toBeUndefined();
  });

  it('replaces an older one, in the words that the helper takes, for the group to read', async () => {
    await leaveRequest(
      { files: updateFiles(disk), paths, clock },
      { request: 'swap', id: 'two', version: '3.0.0', source: 'kept' },
    );
    expect(parseRequest(disk.contentOf(join(paths.firmware, 'request')))).toEqual({
      request: 'swap',
      id: 'two',
      version: '3.0.0',
      source: 'kept',
      bootId: 'boot-1',
      askedAtMs: 10_000,
    });
    expect((await disk.facts(join(paths.firmware, 'request')))?.mode).toBe(0o640);
    disk.cutPower(() => false);
    expect(disk.contentOf(join(paths.firmware, 'request')).toString()).toContain('id=two');
  });

  it('for a reboot has an id of its own', async () => {
    await leaveRequest({ files: updateFiles(disk), paths, clock }, { request: 'reboot', id: 'fresh' });
    expect(disk.contentOf(join(paths.firmware, 'request')).toString()).toBe(
      'request=reboot\nid=fresh\nbootId=boot-1\naskedAtMs=10000\n',
    );
  });

  it('is refused for a reboot where no helper is installed, or none looks, with what to do', async () => {
    const files = updateFiles(disk);
    await expect(expectHelper({ files, paths })).rejects.toMatchObject({
      code: 'firmware/no-helper',
      message: expect.stringContaining('install the agent with install.sh'),
    });
    disk.put(join(paths.home, 'guard/root-helper.mjs'), 'program');
    await expectHelper({ files, paths });
    const elsewhere = { ...paths, firmware: '/data/firmware' };
    await expect(expectHelper({ files, paths: elsewhere })).rejects.toMatchObject({
      message: expect.stringContaining('/data/firmware'),
    });
  });
});
