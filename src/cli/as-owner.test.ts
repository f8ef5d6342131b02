import { chown, mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { asOwnerOf } from './as-owner.ts';

async function folderOf(uid?: number): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'turnstone-owner-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  if (uid !== undefined) await chown(folder, uid, uid);
  return folder;
}

describe('work in a folder of somebody else', () => {
  it('is done as it is where the folder is one’s own', async () => {
    const folder = await folderOf();
    expect(await asOwnerOf(folder, async () => process.geteuid?.())).toBe(process.geteuid?.());
  });

  it.runIf(process.geteuid?.() === 0)(
    'is done as its owner, whom no link leads to what is root’s, and then by root again',
    async () => {
      const [folder, own] = [await folderOf(65534), await folderOf()];
      await writeFile(join(own, 'secret'), 'of root', { mode: 0o600 });
      await symlink(join(own, 'secret'), join(folder, 'link'));
      await asOwnerOf(folder, async () => {
        await expect(readFile(join(folder, 'link'))).rejects.toThrow('EACCES');
        await mkdir(join(folder, 'made'));
      });
      expect((await stat(join(folder, 'made'))).uid).toBe(65534);
      expect(await readFile(join(folder, 'link'), 'utf8')).toBe('of root');
      await expect(asOwnerOf(folder, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
      expect([process.geteuid?.(), process.getegid?.()]).toEqual([0, 0]);
    },
  );
});
