import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import {
  confirmedId,
  currentVersion,
  type GuardResult,
  guardLines,
  readHead,
  readResult,
  readTrial,
  releasePaths,
} from '../../../src/firmware/guard-state.ts';
import { newestRan, pruneReleases, rememberRelease } from '../../../src/firmware/release-history.ts';
import { updateFiles } from '../../../src/firmware/update-files.ts';
import { silentLog } from '../../../src/host/log.ts';
import { MemoryFiles } from '../../support/memory-files.ts';

const paths = releasePaths('/');
let disk: MemoryFiles;
let deps: { files: ReturnType<typeof updateFiles>; paths: typeof paths };
beforeEach(() => {
  disk = new MemoryFiles();
  deps = { files: updateFiles(disk), paths };
});

const guard = (name: string, text: string): void => disk.put(join(paths.guard, name), text);

describe('the small files of guard and helper', () => {
  it('lie where guard and unit files expect them', () => {
    expect(releasePaths()).toEqual({
      home: '/opt/turnstone',
      guard: '/var/lib/turnstone-guard',
      firmware: '/var/lib/turnstone/firmware',
    });
    expect(releasePaths('/mnt').home).toBe('/mnt/opt/turnstone');
  });

  it('keep every value to its line, and to 300 characters', () => {
    expect(guardLines({ id: 'a\nid=b\u0000\u007f\u0085c' })).toBe('id=a id=b c\n');
    expect(guardLines({ id: 'x'.repeat(400) })).toBe(`id=${'x'.repeat(300)}\n`);
  });

  it('give a trial that is whole, and otherwise none', async () => {
    expect(await readTrial(deps.files, paths)).toBeUndefined();
    guard('trial', 'id=one\nversion=2.0.0\nprevious=1.0.0\n');
    expect(await readTrial(deps.files, paths)).toEqual({ id: 'one', version: '2.0.0', previous: '1.0.0' });
    for (const text of [
      '',
      'id=one\nversion=2.0.0\n',
      'id=one\nprevious=1\n',
      'version=2\nprevious=1\n',
      'id=one\nversion=../x\nprevious=1\n',
    ]) {
      guard('trial', text);
      expect(await readTrial(deps.files, paths), text).toBeUndefined();
    }
  });

  it('give a result with what it says, equals signs and all', async () => {
    const result: GuardResult = { id: 'one', outcome: 'rolled-back', version: '2.0.0', reason: 'a=b=c' };
    guard('result', guardLines(result));
    expect(await readResult(deps.files, paths)).toEqual(result);
    guard('result', 'id=one\noutcome=swapped\n');
    expect(await readResult(deps.files, paths)).toEqual({ id: 'one', outcome: 'swapped', version: '', reason: '' });
    for (const text of ['', 'id=one\n', 'outcome=swapped\n', 'id=one\noutcome=eaten\n']) {
      guard('result', text);
      expect(await readResult(deps.files, paths), text).toBeUndefined();
    }
  });

  it('say which trial the agent has confirmed', async () => {
    expect(await confirmedId(deps.files, paths)).toBeUndefined();
    disk.put(join(paths.firmware, 'confirmed'), 'id=one\n');
    expect(await confirmedId(deps.files, paths)).toBe('one');
  });

  it('are read to 4096 bytes where the service may write, and refused beyond them where only root does', async () => {
    disk.put('/any', Buffer.alloc(10_000, 'x'));
    expect((await readHead(deps.files, '/any')).length).toBe(4096);
    disk.put('/any', 'short');
    expect(Buffer.from(await readHead(deps.files, '/any')).toString()).toBe('short');
    guard('trial', `id=one\nversion=2.0.0\nprevious=1.0.0\nmore=${'x'.repeat(4096)}\n`);
    await expect(readTrial(deps.files, paths)).rejects.toMatchObject({ code: 'host/read-failed' });
    guard('result', 'x'.repeat(4097));
    await expect(readResult(deps.files, paths)).rejects.toMatchObject({ code: 'host/read-failed' });
  });

  it('know what is installed by where `current` leads', async () => {
    expect(await currentVersion(deps.files, paths)).toBeUndefined();
    await deps.files.link('releases/2.0.0', join(paths.home, 'current'));
    expect(await currentVersion(deps.files, paths)).toBe('2.0.0');
    await deps.files.link('releases/..', join(paths.home, 'current'));
    expect(await currentVersion(deps.files, paths)).toBeUndefined();
  });
});

describe('the releases that ran here', () => {
  const lay = (...versions: string[]): void => {
    for (const version of versions) disk.put(join(paths.home, 'releases', version, 'node'), 'x');
  };
  const kept = async (): Promise<string[]> => [...(await deps.files.list(join(paths.home, 'releases')))].sort();

  it('are remembered once each, the latest first, and at most twenty', async () => {
    for (const version of ['1', '2', '1', '3']) await rememberRelease(deps, version);
    expect(disk.contentOf(join(paths.guard, 'history')).toString()).toBe('3\n1\n2\n');
    for (let n = 10; n < 40; n += 1) await rememberRelease(deps, String(n));
    const lines = disk.contentOf(join(paths.guard, 'history')).toString().split('\n');
    expect([lines.length, lines[0], lines.at(-2)]).toEqual([21, '39', '20']);
  });

  it('tell the newest of them, the running one too', async () => {
    expect(await newestRan(deps, '1.0.0')).toBe('1.0.0');
    guard('history', '1.9.0\n1.10.0\n\n../x\n');
    expect(await newestRan(deps, '1.0.0')).toBe('1.10.0');
    expect(await newestRan(deps, '1.11.0')).toBe('1.11.0');
    // Equal in their order: the one that runs is meant.
    expect(await newestRan(deps, '1.10.0+b')).toBe('1.10.0+b');
  });

  it('go, but for what runs, what a trial goes back to, and the two before', async () => {
    lay('1', '2', '3', '4', '5', '6');
    guard('history', '6\n5\n4\n3\n2\n1\n');
    await deps.files.link('releases/6', join(paths.home, 'current'));
    guard('trial', 'id=one\nversion=6\nprevious=1\n');
    await pruneReleases({ ...deps, log: silentLog });
    expect(await kept()).toEqual(['1', '4', '5', '6']);
    await deps.files.remove(join(paths.guard, 'trial'));
    await pruneReleases({ ...deps, log: silentLog });
    expect(await kept()).toEqual(['4', '5', '6']);
  });
});
