/** What install.sh does through the helper, on machines where something is amiss or under way. */
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { RootHelperBench } from '../../support/root-helper-bench.ts';

const GUARD = '/var/lib/turnstone-guard';
const RELEASES = '/opt/turnstone/releases';
const ADDON = 'native/turnstone.node';
let bench: RootHelperBench;

beforeEach(async () => {
  bench = await RootHelperBench.make();
});

describe('a release that is installed again', () => {
  it.each([
    ['is damaged', (path: string) => bench.disk.put(path, 'damaged')],
    ['is lost', (path: string) => bench.disk.unlink(path)],
  ])('repairs what runs when a file of it %s, in a folder beside it', async (_how, harm) => {
    await harm(join(RELEASES, '1.0.0', ADDON));
    const { current } = await bench.adopt({ release: '1.0.0' });
    expect(current).toMatch(/^1\.0\.0\+[0-9a-f]{8}$/);
    expect((await bench.seen()).current).toBe(current);
    expect(bench.text(join(RELEASES, current, ADDON))).toBe('an addon');
    // It runs until the agent is restarted, and is none to go back to.
    expect(await bench.releases()).toEqual(['1.0.0', current]);
    expect(bench.disk.paths).not.toContain(join(GUARD, 'history'));
  });

  it('is repaired a second and a third time, and then left alone', async () => {
    const names: string[] = [];
    for (let time = 0; time < 3; time += 1) {
      const running = (await bench.seen()).current ?? '';
      bench.disk.put(join(RELEASES, running, ADDON), 'damaged');
      names.push((await bench.adopt({ release: '1.0.0' })).current);
      expect(bench.text(join(RELEASES, names.at(-1) ?? '', ADDON))).toBe('an addon');
    }
    expect((await bench.adopt({ release: '1.0.0' })).current).toBe(names.at(-1));
    // What ran until then runs until the agent is restarted.
    expect(await bench.releases()).toEqual([names.at(-2), names.at(-1)].sort());
  });

  it('leaves nothing behind when it is refused', async () => {
    bench.fault = 'no';
    await expect(bench.adopt({ release: '1.5.0' })).rejects.toThrow('no');
    expect(await bench.releases()).toEqual(['1.0.0']);
  });
});

describe('a release that is installed by hand during a trial', () => {
  beforeEach(() => bench.ask());

  it('takes the way back away at no moment', async () => {
    const program = join(RELEASES, '1.0.0/turnstone');
    for (const spec of [{ release: '1.0.0' }, { release: '1.0.0', files: { node: 'rebuilt' } }]) {
      bench.disk.faults = {
        fail: () => {
          expect(bench.disk.paths).toContain(program);
          return undefined;
        },
      };
      await bench.adopt(spec);
      bench.disk.faults = {};
      expect(await bench.seen()).toMatchObject({ current: '2.0.0', trial: { previous: '1.0.0' } });
    }
    expect(bench.text(join(RELEASES, '1.0.0/node'))).toBe('a runtime');
  });

  it('leaves the unconfirmed one out of what ran, so that a mended one is not older than it', async () => {
    await bench.adopt({ release: '1.0.0' }, { allowDowngrade: true });
    expect(await bench.seen()).toMatchObject({ current: '1.0.0', trial: undefined });
    expect(await bench.releases()).toContain('2.0.0');
    expect(bench.text(join(GUARD, 'history'))).toBe('1.0.0\n');
    await bench.ask({ id: 'two', version: '1.5.0' }, bench.image({ release: '1.5.0' }));
    expect(await bench.seen()).toMatchObject({ current: '1.5.0' });
  });

  it('remembers one whose confirmation the guard has not seen yet', async () => {
    bench.confirm();
    await bench.adopt({ release: '2.5.0' });
    expect(bench.text(join(GUARD, 'history'))).toBe('2.0.0\n1.0.0\n');
  });

  it('leaves the trial open until `current` has moved', async () => {
    bench.disk.faults = {
      fail: (operation, path) =>
        operation === 'rename' && path.endsWith('/current.tmp') ? { code: 'EIO' } : undefined,
    };
    await expect(bench.adopt({ release: '2.5.0' })).rejects.toThrow('EIO');
    bench.disk.faults = {};
    expect(await bench.seen()).toMatchObject({ current: '2.0.0', trial: { id: 'one' } });
  });
});

describe('a release that is installed by hand', () => {
  it('is installed when an old one cannot be removed', async () => {
    bench.disk.put(join(RELEASES, '0.9.0/node'), 'x');
    bench.disk.faults = {
      fail: (operation, path) =>
        operation === 'unlink' && path.startsWith(join(RELEASES, '0.9.0')) ? { code: 'EUCLEAN' } : undefined,
    };
    expect(await bench.adopt({ release: '1.5.0' })).toEqual({ installed: '1.5.0', current: '1.5.0' });
  });

  it('is refused when it cannot read the state, unless a downgrade is wanted', async () => {
    await bench.adopt({ release: '2.0.0', stateFormats: { outbox: [1, 2] } });
    const blind = { release: '3.0.0', stateFormats: { outbox: [3] } };
    await expect(bench.adopt(blind)).rejects.toMatchObject({ code: 'firmware/refuses-state' });
    expect((await bench.seen()).current).toBe('2.0.0');
    expect(await bench.adopt(blind, { allowDowngrade: true })).toMatchObject({ current: '3.0.0' });
  });
});
