import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { adoptRelease } from '../../../src/firmware/adopt-release.ts';
import { type AskedAt, guardLines } from '../../../src/firmware/guard-state.ts';
import { answerRequest } from '../../../src/firmware/release-swap.ts';
import type { UpdateFiles } from '../../../src/firmware/update-files.ts';
import type { OpenFile } from '../../../src/host/files.ts';
import { makeImage, makeKeys } from '../../support/release-image.ts';
import { RootHelperBench, SETTINGS } from '../../support/root-helper-bench.ts';

const never = new AbortController().signal;
const GUARD = '/var/lib/turnstone-guard';
const RELEASES = '/opt/turnstone/releases';
let bench: RootHelperBench;

beforeEach(async () => {
  bench = await RootHelperBench.make();
});

describe('a request for a new release', () => {
  it('is done: verified, tried, named, on trial, current, and started', async () => {
    await bench.ask();
    expect(await bench.seen()).toEqual({
      current: '2.0.0',
      trial: { id: 'one', version: '2.0.0', previous: '1.0.0' },
      result: { id: 'one', outcome: 'swapped', version: '2.0.0', reason: '' },
    });
    expect(bench.done).toEqual(['self-test with configuration', 'restart']);
    expect(bench.text(`${RELEASES}/2.0.0/turnstone`)).toContain('echo 2.0.0');
    expect(await bench.releases()).toEqual(['1.0.0', '2.0.0']);
    expect(bench.text(`${GUARD}/history`)).toBe('1.0.0\n');
    expect(await bench.files.list(GUARD)).not.toContain('image');
    expect((await bench.disk.facts(`${RELEASES}/2.0.0/turnstone`))?.mode).toBe(0o755);
    expect((await bench.disk.facts(`${RELEASES}/2.0.0/manifest.json`))?.mode).toBe(0o644);
  });

  it('is on the disk whole before it is current: a power cut right after it takes nothing away', async () => {
    await bench.ask();
    bench.disk.cutPower(() => false);
    expect(await bench.seen()).toMatchObject({
      current: '2.0.0',
      trial: { previous: '1.0.0' },
      result: { outcome: 'swapped' },
    });
    for (const [path, content] of bench.image().files)
      expect(bench.disk.contentOf(join(RELEASES, '2.0.0', path))).toEqual(content);
  });

  it('is taken away before it is done, so that the same request does not begin again and again', async () => {
    bench.disk.faults = {
      fail: (operation, path) => (operation === 'open' && path.endsWith('/image') ? { code: 'EIO' } : undefined),
    };
    await bench.ask();
    bench.disk.faults = {};
    expect(bench.disk.paths).not.toContain('/var/lib/turnstone/firmware/request');
    expect(await bench.seen()).toMatchObject({ current: '1.0.0', result: { outcome: 'refused' } });
  });

  it("is judged by a copy of root's own: what the service does to its file meanwhile changes nothing", async () => {
    const evil = bench.image({ files: { 'native/turnstone.node': 'evil' } });
    bench.disk.faults = {
      delay: async (operation, path) => {
        if (operation === 'sync' && path === join(GUARD, 'image'))
          bench.disk.put('/var/lib/turnstone/firmware/image', evil.bytes);
      },
    };
    await bench.ask();
    expect(await bench.seen()).toMatchObject({ current: '2.0.0' });
    expect(bench.text(`${RELEASES}/2.0.0/native/turnstone.node`)).toBe('an addon');
  });

  it.each([
    ['is not signed', { key: undefined }, /not signed/],
    ['is signed by a key that nobody trusts', { key: makeKeys().privateKey }, /not trusted/],
    ['holds another version', { release: '2.0.1' }, /holds release 2\.0\.1, not 2\.0\.0/],
    ['is for another machine', { arch: 'pdp11' }, /for pdp11/],
    ['cannot read the state', { stateFormats: { outbox: [2] } }, /cannot read the state: outbox 1/],
    ['has a file that is not the one of its manifest', { tamper: swapRuntime }, /archive is refused/],
  ])('is refused when the image %s', async (_how, spec, reason) => {
    await bench.ask({}, bench.image({ key: bench.signer.privateKey, ...spec } as object));
    expect(await bench.seen()).toEqual({
      current: '1.0.0',
      trial: undefined,
      result: { id: 'one', outcome: 'refused', version: '2.0.0', reason: expect.stringMatching(reason) },
    });
    expect(bench.done).toEqual([]);
    expect(await bench.releases()).toEqual(['1.0.0']);
    expect(await bench.files.list(GUARD)).not.toContain('image');
  });

  it("needs no signature where a file of root's switches them off, and nowhere else", async () => {
    bench.disk.put('/var/lib/turnstone/firmware/allow-unsigned-firmware', '');
    await bench.ask({}, bench.image({ key: undefined } as object));
    expect(await bench.seen()).toMatchObject({ current: '1.0.0' });
    bench.disk.put(join(SETTINGS, 'allow-unsigned-firmware'), '');
    await bench.ask({}, bench.image({ key: undefined } as object));
    expect(await bench.seen()).toMatchObject({ current: '2.0.0' });
  });

  it("is refused with the words of the release's own self-test", async () => {
    bench.fault = 'it cannot open the outbox';
    await bench.ask();
    expect(await bench.seen()).toMatchObject({
      current: '1.0.0',
      result: { outcome: 'refused', reason: 'it cannot open the outbox' },
    });
    expect(bench.done).toEqual(['self-test with configuration']);
    expect(await bench.releases()).toEqual(['1.0.0']);
  });

  it('is refused when the image is larger than any release', async () => {
    const MOST = 512 * 1024 * 1024;
    let size = MOST + 1;
    const openPlain = bench.files.openPlain;
    const files = {
      ...bench.files,
      openPlain: async (path: string) => {
        const file = await openPlain(path);
        return path === '/var/lib/turnstone/firmware/image' ? { ...file, size: async () => size } : file;
      },
    };
    await bench.ask({}, bench.image(), { files });
    expect(await bench.seen()).toMatchObject({
      current: '1.0.0',
      result: { reason: expect.stringContaining(`at most ${MOST}`) },
    });
    size = MOST;
    await bench.ask({}, bench.image(), { files });
    expect(await bench.seen()).toMatchObject({ current: '2.0.0' });
  });

  it('is refused when the disk has no room for it, and 32 MB to spare', async () => {
    const image = bench.image();
    const needed = bench.disk.usedBytes + 2 * image.bytes.length + 32 * 1024 * 1024;
    bench.disk.capacityBytes = needed - image.bytes.length;
    await bench.ask({}, image);
    expect(await bench.seen()).toMatchObject({
      result: { outcome: 'refused', reason: expect.stringContaining('no room') },
    });
    bench.disk.capacityBytes = needed + 1024;
    await bench.ask({}, image);
    expect(await bench.seen()).toMatchObject({ current: '2.0.0' });
  });

  it('is refused for what runs already, by any but the request that brought it', async () => {
    await bench.ask();
    bench.done.length = 0;
    await bench.ask({ id: 'two' });
    expect((await bench.seen()).result).toMatchObject({
      id: 'two',
      outcome: 'refused',
      reason: 'release 2.0.0 runs already',
    });
    expect(bench.done).toEqual([]);
    // Cut short between the swap and its result.
    await bench.ask({ id: 'one' });
    expect(await bench.seen()).toMatchObject({ current: '2.0.0', result: { id: 'one', outcome: 'swapped' } });
    expect(bench.done).toEqual(['restart']);
  });

  it('is refused while another release is on trial, until that is confirmed', async () => {
    await bench.ask();
    await bench.ask({ id: 'two', version: '3.0.0' }, bench.image({ release: '3.0.0' }));
    expect(await bench.seen()).toMatchObject({
      current: '2.0.0',
      result: { id: 'two', reason: 'release 2.0.0 is not confirmed yet' },
    });
    bench.confirm();
    await bench.ask({ id: 'three', version: '3.0.0' }, bench.image({ release: '3.0.0' }));
    expect(await bench.seen()).toMatchObject({ current: '3.0.0', trial: { id: 'three', previous: '2.0.0' } });
  });

  it('is refused while a configuration is on trial, unless it is the way back of a trial of its own', async () => {
    bench.isConfigurationOnTrial = true;
    await bench.ask();
    expect(await bench.seen()).toMatchObject({
      current: '1.0.0',
      trial: undefined,
      result: { outcome: 'refused', reason: 'a configuration is on trial: the release waits for its end' },
    });
    bench.isConfigurationOnTrial = false;
    await bench.ask();
    bench.isConfigurationOnTrial = true;
    await bench.askBack('one', '1.0.0');
    expect(await bench.seen()).toMatchObject({ current: '1.0.0', result: { outcome: 'rolled-back' } });
  });

  it('may be for the newest version that ever ran, in another build too', async () => {
    bench.disk.put(`${GUARD}/history`, '3.0.0\n');
    await bench.ask({ version: '3.0.0' }, bench.image({ release: '3.0.0' }));
    expect(await bench.seen()).toMatchObject({ current: '3.0.0' });
  });

  it('is held against no state formats where the running release does not tell its own', async () => {
    bench.disk.put(`${RELEASES}/1.0.0/manifest.json`, '{');
    await bench.ask({}, bench.image({ stateFormats: { outbox: [7] } }));
    expect(await bench.seen()).toMatchObject({ current: '2.0.0' });
  });

  it('takes the place of a folder that was left under its name', async () => {
    bench.disk.put(`${RELEASES}/2.0.0/left-over`, 'x');
    await bench.ask();
    expect(bench.disk.paths).not.toContain(`${RELEASES}/2.0.0/left-over`);
  });

  it('begins a trial of its own, with nothing of an older one in it', async () => {
    for (const name of ['trial', 'starts', 'ticks'])
      bench.disk.put(join(GUARD, name), 'id=old\nversion=0.9.0\nprevious=0.8.0\n');
    await bench.ask();
    expect(await bench.seen()).toMatchObject({ trial: { id: 'one', version: '2.0.0' } });
    for (const name of ['starts', 'ticks']) expect(bench.text(join(GUARD, name))).toBe('count=0\n');
  });

  it('lays all that the boot guard needs on a full disk before the trial, and the trial before the swap', async () => {
    const from = bench.disk.changes.length;
    await bench.ask();
    const laid = bench.disk.changes
      .slice(from)
      .flatMap((change) => /^rename (.*\/(?:starts|ticks|back|result\.back|trial|current))$/.exec(change)?.[1] ?? []);
    expect(laid.slice(0, 4).sort()).toEqual([
      '/opt/turnstone/back',
      ...['result.back', 'starts', 'ticks'].map((name) => join(GUARD, name)),
    ]);
    expect(laid.slice(4)).toEqual([join(GUARD, 'trial'), '/opt/turnstone/current']);
    bench.disk.cutPower(() => false);
    for (const name of ['starts', 'ticks']) expect(bench.text(join(GUARD, name))).toBe('count=0\n');
  });

  it.each(['history', 'starts', 'ticks', 'result.back', 'trial'])(
    'is refused while nothing has moved when %s cannot be written',
    async (name) => {
      bench.disk.faults = {
        fail: (operation, path) =>
          operation === 'write' && path === join(GUARD, `${name}.tmp`) ? { code: 'ENOSPC' } : undefined,
      };
      await bench.ask();
      expect(await bench.seen()).toMatchObject({ current: '1.0.0', result: { outcome: 'refused' } });
      expect(bench.done).not.toContain('restart');
    },
  );

  it.each([
    [
      'an old release cannot be removed',
      (operation: string, path: string) => operation === 'unlink' && path.startsWith(`${RELEASES}/0.9.0`),
    ],
    [
      'the result cannot be written',
      (operation: string, path: string) => operation === 'write' && path === join(GUARD, 'result.tmp'),
    ],
    ['the releases cannot be listed', (operation: string, path: string) => operation === 'list' && path === RELEASES],
  ])('is done and started once `current` has moved, also when %s', async (_what, isBroken) => {
    for (const old of ['0.8.0', '0.9.0']) bench.disk.put(`${RELEASES}/${old}/node`, 'x');
    bench.disk.faults = { fail: (operation, path) => (isBroken(operation, path) ? { code: 'EUCLEAN' } : undefined) };
    await bench.ask();
    expect(await bench.seen()).toMatchObject({ current: '2.0.0', trial: { id: 'one' } });
    expect((await bench.seen()).result?.outcome).not.toBe('refused');
    expect(bench.done).toContain('restart');
  });

  it('is done and started when the folder of `current` cannot be synced', async () => {
    let moved = false;
    bench.disk.faults = {
      fail: (operation, path) => {
        if (operation === 'rename' && path === '/opt/turnstone/current.tmp') moved = true;
        return operation === 'sync-folder' && moved ? { code: 'EIO' } : undefined;
      },
    };
    await bench.ask();
    expect(await bench.seen()).toMatchObject({ current: '2.0.0', trial: { id: 'one' } });
    expect((await bench.seen()).result?.outcome).not.toBe('refused');
    expect(bench.done).toContain('restart');
  });

  it('may not take the place of the way back of a trial', async () => {
    await bench.ask();
    await bench.ask({ id: 'two', version: '1.0.0' }, bench.image({ release: '1.0.0', files: { node: 'another' } }));
    expect(await bench.seen()).toMatchObject({
      current: '2.0.0',
      trial: { id: 'one' },
      result: { id: 'two', outcome: 'refused' },
    });
    expect(bench.text(`${RELEASES}/1.0.0/node`)).toBe('a runtime');
  });

  it('closes whatever it opens, done or refused', async () => {
    const open = new Set<string>();
    const counted = (file: OpenFile, path: string): OpenFile => {
      open.add(path);
      const close = async (): Promise<void> => void open.delete(path);
      return { ...file, close };
    };
    const files: UpdateFiles = {
      ...bench.files,
      openPlain: async (path) => counted(await bench.files.openPlain(path), path),
      openPart: async (path, mode) => counted(await bench.files.openPart(path, mode), path),
    };
    await bench.ask({}, bench.image({ release: '3.0.0' }), { files });
    await bench.ask({}, bench.image(), { files });
    expect(await bench.seen()).toMatchObject({ current: '2.0.0' });
    bench.confirm();
    bench.disk.put('/var/lib/turnstone/firmware/request', 'request=swap\nid=back\nversion=1.0.0\nsource=kept\n');
    await answerRequest({ ...bench.deps, files }, never);
    expect(await bench.seen()).toMatchObject({ current: '1.0.0' });
    await bench.adopt({ release: '4.0.0' });
    await bench.files.remove('/opt/turnstone/current');
    await adoptRelease({ ...bench.deps, files }, '/media/release', { allowDowngrade: false }, never);
    bench.disk.put('/media/release/node', 'another');
    await expect(
      adoptRelease({ ...bench.deps, files }, '/media/release', { allowDowngrade: false }, never),
    ).rejects.toThrow();
    expect([...open]).toEqual([]);
  });

  it('is refused when its copy fits and what is in it does not', async () => {
    const freeBytes = async (path: string): Promise<number> =>
      path.startsWith(RELEASES) ? 32 * 1024 * 1024 : Number.POSITIVE_INFINITY;
    await bench.ask({}, bench.image(), { files: { ...bench.files, freeBytes } });
    expect(await bench.seen()).toMatchObject({
      current: '1.0.0',
      result: { reason: expect.stringContaining('the release needs') },
    });
  });

  it('is no way back for a trial that is not of the running release', async () => {
    bench.disk.put(join(GUARD, 'trial'), 'id=old\nversion=0.9.0\nprevious=2.0.0\n');
    await bench.ask();
    expect(await bench.seen()).toMatchObject({
      current: '2.0.0',
      trial: { id: 'one', previous: '1.0.0' },
      result: { outcome: 'swapped' },
    });
  });

  it('takes nothing of an unpacking that was cut short for its own', async () => {
    bench.disk.put(`${RELEASES}/.incoming/left-over`, 'x');
    await bench.ask();
    expect(await bench.seen()).toMatchObject({ current: '2.0.0' });
    expect(bench.disk.paths.filter((path) => path.includes('left-over'))).toEqual([]);
  });

  it('takes nothing of a copy that was cut short before for its own', async () => {
    bench.disk.put(join(GUARD, 'image'), Buffer.alloc(100_000, 'old'));
    await bench.ask();
    expect(await bench.seen()).toMatchObject({ current: '2.0.0' });
  });

  it('leaves nothing of a release that was refused', async () => {
    bench.fault = 'no';
    await bench.ask();
    expect(bench.disk.paths.filter((path) => path.includes('.incoming'))).toEqual([]);
  });

  it('is refused where no release is installed', async () => {
    await bench.files.remove('/opt/turnstone/current');
    await bench.ask();
    expect(await bench.seen()).toMatchObject({ current: undefined, result: { reason: 'no release is installed' } });
  });
});

describe('a request about a configuration', () => {
  const HASHES = `hash=${'a'.repeat(64)}\nbefore=${'b'.repeat(64)}\n`;
  const requests = {
    configure: `request=configure\nid=one\n${HASHES}trialS=300\nneeds=reload\norigin=patch\n`,
    settle: 'request=settle\nid=one\noutcome=kept\nreason=\n',
  };

  it.each(Object.entries(requests))('is handed on: %s', async (word, text) => {
    await bench.say(`${text}bootId=boot-1\naskedAtMs=10000\n`);
    expect(bench.done).toEqual([word === 'configure' ? 'configure one' : 'settle one kept']);
    expect(bench.disk.paths).not.toContain('/var/lib/turnstone/firmware/request');
    expect((await bench.seen()).result).toBeUndefined();
  });

  it.each(Object.entries(requests))(
    'is not done by another boot, after ten minutes, or without a time: %s',
    async (_word, text) => {
      for (const asked of ['bootId=boot-0\naskedAtMs=10000\n', 'bootId=boot-1\n', 'askedAtMs=10000\n', ''])
        await bench.say(`${text}${asked}`);
      await bench.clock.advance(600_001);
      await bench.say(`${text}bootId=boot-1\naskedAtMs=10000\n`);
      expect(bench.done).toEqual([]);
    },
  );
});

describe('a request to go back', () => {
  it('moves to the release before, ends the trial, and tells first how it ended', async () => {
    await bench.ask();
    for (const name of ['starts', 'ticks']) bench.disk.put(join(GUARD, name), '3\n');
    bench.done.length = 0;
    const from = bench.disk.changes.length;
    await bench.askBack('one', '1.0.0');
    expect(await bench.seen()).toEqual({
      current: '1.0.0',
      trial: undefined,
      result: { id: 'one', outcome: 'rolled-back', version: '2.0.0', reason: 'the agent gave the release up' },
    });
    expect(bench.done).toEqual(['restart']);
    expect(await bench.files.list(GUARD)).toEqual(expect.not.arrayContaining(['trial', 'starts', 'ticks']));
    const order = bench.disk.changes
      .slice(from)
      .filter((change) => /rename .*(result|current)|unlink .*trial/.test(change));
    expect(order).toEqual([`rename ${GUARD}/result`, 'rename /opt/turnstone/current', `unlink ${GUARD}/trial`]);
  });

  it('only restarts when it was cut short before the restart', async () => {
    await bench.ask();
    await bench.askBack('one', '1.0.0');
    bench.done.length = 0;
    await bench.askBack('one', '1.0.0');
    expect(await bench.seen()).toMatchObject({
      current: '1.0.0',
      result: { outcome: 'rolled-back', version: '2.0.0' },
    });
    expect(bench.done).toEqual(['restart']);
  });

  it('to a kept release after the trial is a trial of its own', async () => {
    await bench.ask();
    bench.confirm();
    await bench.askBack('back', '1.0.0');
    expect(await bench.seen()).toMatchObject({
      current: '1.0.0',
      trial: { id: 'back', version: '1.0.0', previous: '2.0.0' },
      result: { outcome: 'swapped' },
    });
    expect(bench.text(`${GUARD}/history`)).toBe('2.0.0\n1.0.0\n');
  });

  it('is refused when the kept release cannot read what the running one writes, but never during its trial', async () => {
    await bench.ask({}, bench.image({ stateFormats: { outbox: [1, 2] } }));
    await bench.askBack('one', '1.0.0');
    expect(await bench.seen()).toMatchObject({ current: '1.0.0', result: { outcome: 'rolled-back' } });
    await bench.ask({ id: 'again' }, bench.image({ stateFormats: { outbox: [1, 2] } }));
    bench.confirm('again');
    await bench.askBack('back', '1.0.0');
    expect(await bench.seen()).toMatchObject({
      current: '2.0.0',
      trial: undefined,
      result: { id: 'back', outcome: 'refused', reason: expect.stringContaining('cannot read the state: outbox 2') },
    });
  });

  it('is taken at its end when what follows the way back fails', async () => {
    await bench.ask();
    bench.done.length = 0;
    bench.disk.faults = {
      fail: (operation, path) =>
        operation === 'unlink' && path === join(GUARD, 'trial') ? { code: 'EIO' } : undefined,
    };
    await bench.askBack('one', '1.0.0');
    expect(await bench.seen()).toMatchObject({ current: '1.0.0', result: { outcome: 'rolled-back' } });
    expect(bench.done).toEqual(['restart']);
  });

  it.each([
    ['is damaged', 'damaged: native/turnstone.node', (path: string) => bench.disk.put(path, 'an Addon')],
    ['has lost a file', 'damaged: native/turnstone.node', (path: string) => bench.files.remove(path)],
    [
      'has a manifest that cannot be read',
      'not installed',
      () => bench.disk.put(`${RELEASES}/1.0.0/manifest.json`, '{'),
    ],
  ])('is refused when the kept release %s', async (_how, reason, harm) => {
    await bench.ask();
    await harm(`${RELEASES}/1.0.0/native/turnstone.node`);
    await bench.askBack('back', '1.0.0');
    expect(await bench.seen()).toMatchObject({
      current: '2.0.0',
      result: { outcome: 'refused', reason: expect.stringContaining(reason) },
    });
  });
});

describe('the root helper', () => {
  it('reboots when asked, and swaps nothing then', async () => {
    await bench.say(
      guardLines({ request: 'reboot', id: '7', bootId: bench.clock.bootId, askedAtMs: bench.clock.monotonicMs() }),
    );
    expect(bench.done).toEqual(['reboot']);
    expect((await bench.seen()).result).toBeUndefined();
  });

  it.each(['reboot', 'swap'] as const)(
    'removes a %s that is older than ten minutes, or from before this boot, and does nothing',
    async (request) => {
      const { bootId } = bench.clock;
      const swap = { version: '2.0.0', source: 'image' } as const;
      const say = (asked: AskedAt) =>
        bench.say(
          guardLines(request === 'swap' ? { request, id: '7', ...swap, ...asked } : { request, id: '7', ...asked }),
        );
      await bench.clock.advance(700_000);
      bench.disk.put(join(bench.paths.firmware, 'image'), bench.image().bytes);
      await say({ bootId, askedAtMs: bench.clock.monotonicMs() - 600_001 });
      await say({ bootId: 'boot-0', askedAtMs: bench.clock.monotonicMs() });
      expect(bench.done).toEqual([]);
      expect((await bench.seen()).current).toBe('1.0.0');
      expect(bench.disk.paths).not.toContain('/var/lib/turnstone/firmware/request');
      await say({ bootId, askedAtMs: bench.clock.monotonicMs() - 600_000 });
      expect(bench.done.at(-1)).toBe(request === 'swap' ? 'restart' : 'reboot');
    },
  );

  it('does not reboot for a request without a time, which an earlier release may have left', async () => {
    await bench.say('request=reboot\nid=7\n');
    expect(bench.done).toEqual([]);
  });

  it('does nothing for any other word, and takes it away', async () => {
    await bench.say('request=format\nid=7\n');
    expect(bench.done).toEqual([]);
    expect(bench.disk.paths).not.toContain('/var/lib/turnstone/firmware/request');
  });

  it('rejects when not even the request can be taken away', async () => {
    await expect(answerRequest(bench.deps, never)).rejects.toThrow();
  });

  it('keeps the running release, the one to go back to, and the two that ran before', async () => {
    for (const [at, release] of ['1.1.0', '1.2.0', '1.3.0', '1.4.0'].entries()) {
      await bench.ask({ id: `n${at}`, version: release }, bench.image({ release }));
      bench.confirm(`n${at}`);
    }
    expect(await bench.releases()).toEqual(['1.2.0', '1.3.0', '1.4.0']);
    expect(bench.text(`${GUARD}/history`)).toBe('1.3.0\n1.2.0\n1.1.0\n1.0.0\n');
  });

  it('remembers the last twenty', async () => {
    for (let at = 0; at < 24; at += 1) {
      const release = `2.0.${at}`;
      await bench.ask({ id: `n${at}`, version: release }, bench.image({ release }));
      bench.confirm(`n${at}`);
    }
    const lines = bench.text(`${GUARD}/history`).trimEnd().split('\n');
    expect([lines.length, lines[0], lines.at(-1)]).toEqual([20, '2.0.22', '2.0.3']);
  });

  it('closes a trial that the agent has confirmed and the guard has not seen yet', async () => {
    await bench.ask();
    bench.confirm('another');
    await bench.ask({ id: 'two' });
    expect((await bench.seen()).trial).toMatchObject({ id: 'one' });
    bench.confirm();
    await bench.ask({ id: 'three' });
    expect(await bench.seen()).toMatchObject({ trial: undefined, result: { id: 'three', outcome: 'refused' } });
  });
});

describe('a release that a person installs', () => {
  it('is current at once when it is newer, without a trial', async () => {
    expect(await bench.adopt({ release: '1.5.0' })).toEqual({ installed: '1.5.0', current: '1.5.0' });
    expect(await bench.seen()).toEqual({ current: '1.5.0', trial: undefined, result: undefined });
    expect(bench.done).toEqual(['self-test without configuration']);
    expect(bench.text(`${GUARD}/history`)).toBe('1.0.0\n');
  });

  it('has none before it where it is the first', () => {
    expect(bench.disk.paths.filter((path) => path.startsWith(GUARD))).toEqual([]);
  });

  it('survives a power cut right after', async () => {
    await bench.adopt({ release: '1.5.0' });
    bench.disk.cutPower(() => false);
    expect((await bench.seen()).current).toBe('1.5.0');
    for (const [path, content] of makeImage({ release: '1.5.0' }).files)
      expect(bench.disk.contentOf(join(RELEASES, '1.5.0', path))).toEqual(content);
  });

  it('ends the trial of another', async () => {
    await bench.ask();
    await bench.adopt({ release: '2.5.0' });
    expect(await bench.seen()).toMatchObject({ current: '2.5.0', trial: undefined });
  });

  it('is under no trial that was laid for its version and never began, whenever the power goes', async () => {
    const { faults } = bench.disk;
    bench.disk.put(join(GUARD, 'trial'), 'id=one\nversion=2.5.0\nprevious=1.0.0\n');
    bench.disk.faults = {
      fail: (operation, path) =>
        operation === 'unlink' && path === join(GUARD, 'trial') ? { code: 'EIO' } : undefined,
    };
    await expect(bench.adopt({ release: '2.5.0' })).rejects.toThrow();
    expect(await bench.seen()).toMatchObject({ current: '1.0.0' });
    bench.disk.faults = faults;
    await bench.adopt({ release: '2.5.0' });
    expect(await bench.seen()).toMatchObject({ current: expect.stringMatching(/^2\.5\.0/), trial: undefined });
  });

  it('is kept beside the newer one that runs, unless a downgrade is wanted', async () => {
    await bench.adopt({ release: '3.0.0' });
    expect(await bench.adopt({ release: '2.0.0' })).toEqual({ installed: '2.0.0', current: '3.0.0' });
    expect(await bench.releases()).toContain('2.0.0');
    expect((await bench.seen()).current).toBe('3.0.0');
    expect(await bench.adopt({ release: '2.0.0' }, { allowDowngrade: true })).toEqual({
      installed: '2.0.0',
      current: '2.0.0',
    });
    expect((await bench.seen()).current).toBe('2.0.0');
  });

  it('makes way for itself: of those that ran before only two are kept', async () => {
    for (const release of ['1.1.0', '1.2.0', '1.3.0', '1.4.0']) await bench.adopt({ release });
    expect(await bench.releases()).toEqual(['1.2.0', '1.3.0', '1.4.0']);
    expect(bench.text(`${GUARD}/history`)).toBe('1.3.0\n1.2.0\n1.1.0\n1.0.0\n');
  });

  it('takes the place of one of its version that is kept and does not run', async () => {
    await bench.adopt({ release: '1.5.0' });
    expect(await bench.adopt({ release: '1.0.0', files: { node: 'rebuilt' } }, { allowDowngrade: true })).toEqual({
      installed: '1.0.0',
      current: '1.0.0',
    });
    expect(bench.text(join(RELEASES, '1.0.0', 'node'))).toBe('rebuilt');
  });

  it('lies in folders that everybody may look into, and is marked as a program only where its manifest says so', async () => {
    const modes: Record<string, number> = {};
    const makeFolder = async (path: string, mode: number): Promise<void> => {
      modes[path] = mode;
      await bench.files.makeFolder(path, mode);
    };
    bench.disk.put('/media/release/x', '');
    await bench.adopt({ release: '1.5.0' });
    await adoptRelease(
      { ...bench.deps, files: { ...bench.files, makeFolder } },
      '/media/release',
      { allowDowngrade: false },
      never,
    );
    expect(new Set(Object.values(modes))).toEqual(new Set([0o755]));
    expect(Object.keys(modes).sort()).toEqual([
      '/opt/turnstone',
      RELEASES,
      `${RELEASES}/.incoming`,
      `${RELEASES}/.incoming/native`,
      GUARD,
    ]);
    const mode = async (path: string) => (await bench.disk.facts(join(RELEASES, '1.5.0', path)))?.mode;
    expect([await mode('turnstone'), await mode('node'), await mode('native/turnstone.node')]).toEqual([
      0o755, 0o755, 0o644,
    ]);
  });

  it('is refused where there is no room for it and 32 MB', async () => {
    const bytes = [...makeImage({ release: '1.5.0' }).files].reduce(
      (sum, [path, { length }]) => sum + (path === 'manifest.json' ? 0 : length),
      0,
    );
    const room = async (free: number) =>
      adoptRelease(
        { ...bench.deps, files: { ...bench.files, freeBytes: async () => free } },
        '/media/release',
        { allowDowngrade: false },
        never,
      );
    await bench.adopt({ release: '1.5.0' });
    await expect(room(bytes + 32 * 1024 * 1024 - 1)).rejects.toMatchObject({ code: 'firmware/no-space' });
    await expect(room(bytes + 32 * 1024 * 1024)).resolves.toMatchObject({ current: '1.5.0' });
  });

  it('is not installed twice when it is what runs', async () => {
    expect(await bench.adopt({ release: '1.0.0' })).toEqual({ installed: '1.0.0', current: '1.0.0' });
    expect(await bench.releases()).toEqual(['1.0.0']);
  });

  it('gets a name of its own when it was rebuilt, so that what runs is never taken away', async () => {
    const { installed, current } = await bench.adopt({ release: '1.0.0', files: { node: 'rebuilt' } });
    expect(installed).toMatch(/^1\.0\.0\+[0-9a-f]{8}$/);
    expect(current).toBe(installed);
    expect(bench.text(join(RELEASES, '1.0.0', 'node'))).toBe('a runtime');
    expect(bench.text(join(RELEASES, installed, 'node'))).toBe('rebuilt');
  });

  it('is refused for another machine, and when its self-test complains', async () => {
    await expect(bench.adopt({ release: '2.0.0', arch: 'pdp11' })).rejects.toMatchObject({
      code: 'firmware/other-machine',
    });
    bench.fault = 'no';
    await expect(bench.adopt({ release: '2.0.0' })).rejects.toThrow('no');
    expect((await bench.seen()).current).toBe('1.0.0');
  });

  it.each([
    ['is not the one of the manifest', (files: Map<string, Uint8Array>) => files.set('node', Buffer.from('A runtime'))],
    ['is missing', (files: Map<string, Uint8Array>) => files.delete('node')],
    [
      'is longer than the manifest says',
      (files: Map<string, Uint8Array>) => files.set('node', Buffer.from('a runtime!')),
    ],
  ])('is refused when one of its files %s', async (_how, harm) => {
    const files = new Map(bench.image().files);
    harm(files);
    await expect(bench.adoptFiles(files)).rejects.toMatchObject({
      code: expect.stringMatching(/^firmware\/(bad-archive|too-large)$/),
    });
    expect((await bench.seen()).current).toBe('1.0.0');
  });

  it('is refused when the folder is no release', async () => {
    await expect(bench.adoptFiles(new Map([['node', Buffer.from('x')]]))).rejects.toMatchObject({
      code: 'firmware/bad-manifest',
    });
  });
});

function swapRuntime({ entries }: { entries: { path: string; content: Uint8Array }[] }): void {
  for (const entry of entries) if (entry.path === 'node') entry.content = Buffer.from('A runtime');
}
