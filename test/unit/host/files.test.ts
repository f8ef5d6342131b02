import { execFileSync } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemFiles } from '../../../src/host/files.ts';
import { readUserFile, readWhole } from '../../../src/host/whole-file.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnstone-files-'));
});
afterEach(() => rm(folder, { recursive: true }));

describe("the machine's files", () => {
  it('neither wait for a pipe nor read a device', async () => {
    const pipe = join(folder, 'pipe');
    execFileSync('mkfifo', [pipe]);
    for (const path of [pipe, '/dev/zero', folder]) {
      await expect(systemFiles.open(path, 'read')).rejects.toMatchObject({ code: 'EINVAL' });
      await expect(readUserFile(path)).rejects.toMatchObject({ code: 'host/read-failed', recovery: 'drop' });
    }
    await expect(systemFiles.open(pipe, 'keep')).rejects.toMatchObject({ code: 'EINVAL' });
  });

  it('go through no link that lies in the state folder, and through those of a person', async () => {
    await writeFile(join(folder, 'real'), 'content');
    await symlink(join(folder, 'real'), join(folder, 'link'));
    for (const mode of ['read', 'update', 'replace', 'keep'] as const)
      await expect(systemFiles.open(join(folder, 'link'), mode)).rejects.toMatchObject({ code: 'ELOOP' });
    await expect(systemFiles.open(join(folder, 'link'), 'create')).rejects.toMatchObject({ code: 'EEXIST' });
    await expect(readWhole(systemFiles, join(folder, 'link'))).rejects.toMatchObject({ recovery: 'drop' });
    expect((await readUserFile(join(folder, 'link')))?.toString()).toBe('content');
    expect(await systemFiles.facts(join(folder, 'link'))).toMatchObject({ kind: 'link' });
  });

  it('of the kernel, which say that they are empty, are read to their end', async () => {
    expect((await readUserFile('/proc/self/status'))?.toString()).toContain('VmRSS');
  });

  it('have the permissions that were asked for, whatever the umask', async () => {
    const path = join(folder, 'x');
    const before = process.umask(0o077);
    try {
      await (await systemFiles.open(path, 'create', { mode: 0o664 })).close();
      expect((await stat(path)).mode & 0o777).toBe(0o664);
      await chmod(path, 0o666);
      await (await systemFiles.open(path, 'replace', { mode: 0o600 })).close();
      expect((await stat(path)).mode & 0o777).toBe(0o600);
    } finally {
      process.umask(before);
    }
  });

  it('are there, or gone, before a call that says so returns', async () => {
    const path = join(folder, 'run/marks/pump');
    systemFiles.writeNow(path, 'since 1');
    systemFiles.writeNow(path, 'on');
    expect((await readWhole(systemFiles, path))?.toString()).toBe('on');
    systemFiles.unlinkNow(path);
    systemFiles.unlinkNow(path);
    expect(await systemFiles.facts(path)).toBeUndefined();
    await symlink(join(folder, 'elsewhere'), path);
    expect(() => systemFiles.writeNow(path, 'x')).toThrow(/ELOOP/);
  });

  it('leave no descriptor behind when they are refused', async () => {
    const open = async (): Promise<number> => (await readdir('/proc/self/fd')).length;
    await mkdir(join(folder, 'inner'));
    const before = await open();
    for (let n = 0; n < 20; n += 1) await systemFiles.open(join(folder, 'inner'), 'read').catch(() => {});
    expect(await open()).toBeLessThanOrEqual(before + 2);
  });

  it('are made, kept and looked at', async () => {
    await systemFiles.makeFolder(join(folder, 'a/b'));
    const file = await systemFiles.open(join(folder, 'a/b/c'), 'keep');
    await file.write(Buffer.from('hello'), 0);
    await file.close();
    const again = await systemFiles.open(join(folder, 'a/b/c'), 'keep');
    expect(await again.size()).toBe(5);
    await again.close();
    expect(await systemFiles.facts(join(folder, 'a/b/c'))).toMatchObject({ kind: 'file', bytes: 5 });
    expect(await systemFiles.facts(join(folder, 'a/b'))).toMatchObject({ kind: 'folder' });
    expect(await systemFiles.facts(join(folder, 'none'))).toBeUndefined();
    await systemFiles.link('c', join(folder, 'a/b/d'));
    expect(await systemFiles.readLink(join(folder, 'a/b/d'))).toBe('c');
    await systemFiles.unlink(join(folder, 'a/b/c'));
    await systemFiles.unlink(join(folder, 'a/b/d'));
    await systemFiles.removeFolder(join(folder, 'a/b'));
    expect(await systemFiles.list(join(folder, 'a'))).toEqual([]);
  });
});
