import { describe, expect, it } from 'vitest';
import { readWhole } from '../../../src/host/whole-file.ts';
import { removeDurably, setAside, writeDurably } from '../../../src/store/durable-file.ts';
import { MemoryFiles } from '../../support/memory-files.ts';

const PATH = '/state/x.json';
const nothing = (): boolean => false;

describe('a durable write', () => {
  it('survives a power cut once it has resolved, content and name', async () => {
    const files = new MemoryFiles();
    await writeDurably(files, PATH, 'first');
    files.cutPower(nothing);
    expect(files.contentOf(PATH).toString()).toBe('first');
    await writeDurably(files, PATH, 'second');
    files.cutPower(nothing);
    expect(files.contentOf(PATH).toString()).toBe('second');
  });

  it.each(['sync', 'sync-folder'] as const)('would not without the %s, so this test can see it', async (forgotten) => {
    const files = new MemoryFiles();
    await writeDurably(files, PATH, 'first');
    files.faults = { forget: (operation) => operation === forgotten };
    await writeDurably(files, PATH, 'second');
    files.cutPower(nothing);
    expect(files.paths.includes(PATH) ? files.contentOf(PATH).toString() : 'none').not.toBe('second');
  });

  it('is the old or the new content at whatever operation the power goes', async () => {
    const whole = new MemoryFiles();
    await writeDurably(whole, PATH, 'first');
    const before = whole.changes.length;
    await writeDurably(whole, PATH, 'second');
    const steps = whole.changes.length - before;
    expect(steps).toBeGreaterThanOrEqual(5);
    for (let dies = 0; dies < steps; dies += 1)
      for (const kept of [true, false]) {
        const files = new MemoryFiles();
        await writeDurably(files, PATH, 'first');
        const end = files.changes.length + dies;
        files.faults = { fail: () => (files.changes.length >= end ? { code: 'EIO', short: true } : undefined) };
        await writeDurably(files, PATH, 'second').catch(() => {});
        files.faults = {};
        files.cutPower(() => kept);
        expect(['first', 'second']).toContain(files.contentOf(PATH).toString());
      }
  });

  it('keeps the old content when it fails, and can be made again', async () => {
    const files = new MemoryFiles();
    await writeDurably(files, PATH, 'first');
    for (const failing of ['open', 'write', 'sync', 'rename'] as const) {
      files.faults = { fail: (operation) => (operation === failing ? { code: 'ENOSPC', short: true } : undefined) };
      await expect(writeDurably(files, PATH, 'second')).rejects.toMatchObject({
        code: 'host/write-failed',
        message: expect.stringContaining('ENOSPC'),
      });
      expect(files.contentOf(PATH).toString()).toBe('first');
    }
    files.faults = {};
    await writeDurably(files, PATH, 'second');
    expect(files.paths).toEqual([PATH]);
  });
});

describe('a removal and a setting aside', () => {
  it('survive a power cut', async () => {
    const files = new MemoryFiles();
    await writeDurably(files, PATH, 'x');
    await setAside(files, PATH);
    files.cutPower(nothing);
    expect(files.paths).toEqual([`${PATH}.corrupt`]);
    await removeDurably(files, `${PATH}.corrupt`);
    await removeDurably(files, `${PATH}.corrupt`);
    files.cutPower(nothing);
    expect(files.paths).toEqual([]);
  });
});

describe('reading', () => {
  it('stops at its limit, whatever the file says of its size', async () => {
    const files = new MemoryFiles();
    files.put(PATH, 'x'.repeat(200_000));
    expect((await readWhole(files, PATH, { limitBytes: 200_000 }))?.length).toBe(200_000);
    await expect(readWhole(files, PATH, { limitBytes: 199_999 })).rejects.toMatchObject({
      code: 'host/read-failed',
      recovery: 'drop',
    });
  });

  it('tells a disk that fails from a file that is none', async () => {
    const files = new MemoryFiles();
    files.put(PATH, 'x');
    files.faults = { fail: (operation) => (operation === 'read' ? { code: 'EIO' } : undefined) };
    await expect(readWhole(files, PATH)).rejects.toMatchObject({ code: 'host/read-failed', recovery: 'retry' });
    files.faults = {};
    expect(await readWhole(files, '/state/none')).toBeUndefined();
  });
});
