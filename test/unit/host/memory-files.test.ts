import { describe, expect, it } from 'vitest';
import { type CutAt, MemoryFiles } from '../../support/memory-files.ts';

async function write(disk: MemoryFiles, path: string, text: string, synced = true): Promise<void> {
  const file = await disk.open(path, 'keep', { synced });
  await file.write(Buffer.from(text), 0);
}

describe('a disk in memory', () => {
  it.each<[CutAt, string]>([
    ['before', 'old'],
    ['inside', 'old'],
    ['after', 'new'],
  ])('loses its power %s a chosen change', async (at, left) => {
    const disk = new MemoryFiles();
    disk.put('/state/x', 'old');
    disk.cutAt(1, at, () => disk.cutPower(() => false));
    await expect(write(disk, '/state/x', 'new')).rejects.toMatchObject({ code: 'EIO' });
    expect(disk.contentOf('/state/x').toString()).toBe(left);
  });

  it('keeps of what was not synced the sectors that the cut keeps, and takes back the others', async () => {
    const disk = new MemoryFiles();
    disk.put('/state/x', 'a'.repeat(1_024));
    const file = await disk.open('/state/x', 'update');
    await file.write(Buffer.from('b'.repeat(1_536)), 0);
    let sector = 0;
    disk.cutPower(() => sector++ === 1);
    expect(disk.contentOf('/state/x').toString()).toBe('a'.repeat(512) + 'b'.repeat(512));
  });

  it('reads zeros where a sector is missing before one that was kept', async () => {
    const disk = new MemoryFiles();
    disk.put('/state/x', '');
    const file = await disk.open('/state/x', 'update');
    await file.write(Buffer.from('b'.repeat(1_024)), 0);
    let sector = 0;
    disk.cutPower(() => sector++ === 1);
    expect(disk.contentOf('/state/x').toString()).toBe('\0'.repeat(512) + 'b'.repeat(512));
  });

  it('ends one of several faults without ending the others', async () => {
    const disk = new MemoryFiles();
    const endFirst = disk.addFaults({ fail: (operation) => (operation === 'write' ? { code: 'EIO' } : undefined) });
    const endSecond = disk.addFaults({ fail: (operation) => (operation === 'write' ? { code: 'EROFS' } : undefined) });
    endFirst();
    await expect(write(disk, '/state/x', 'new')).rejects.toMatchObject({ code: 'EROFS' });
    endSecond();
    await write(disk, '/state/x', 'new');
    expect(disk.contentOf('/state/x').toString()).toBe('new');
  });

  it('forgets a folder in memory with the power', () => {
    const disk = new MemoryFiles({ memoryFolders: ['/run'] });
    disk.writeNow('/run/mark', 'on');
    disk.cutPower(() => true);
    expect(disk.paths).toEqual([]);
  });
});
