import { execFile } from 'node:child_process';
import { chmod, link, lstat, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { WrittenFile, writeOutput } from '../../../src/cli/written-file.ts';

let folder: string;
let out: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnstone-output-'));
  out = join(folder, 'out');
});
afterEach(() => rm(folder, { recursive: true, force: true }));

it('takes the name when it is whole, and leaves what was there until then', async () => {
  await writeFile(out, 'before');
  const file = await WrittenFile.open(out, 0o600);
  await file.write('part');
  await file.discard();
  expect([await readFile(out, 'utf8'), await readdir(folder)]).toEqual(['before', ['out']]);
  await writeOutput(out, 'whole', 0o600);
  expect([await readFile(out, 'utf8'), await readdir(folder)]).toEqual(['whole', ['out']]);
});

it('writes nothing through other names of files, at its name or beside it', async () => {
  const victim = join(folder, 'victim');
  await writeFile(victim, 'kept', { mode: 0o644 });
  await chmod(victim, 0o644);
  await link(victim, out);
  await link(victim, `${out}.${process.pid}.part`);
  await writeOutput(out, 'whole', 0o600);
  expect([await readFile(victim, 'utf8'), (await stat(victim)).mode & 0o777, await readFile(out, 'utf8')]).toEqual([
    'kept',
    0o644,
    'whole',
  ]);
});

it('takes the name of a regular file alone: a link, a pipe, a device and a folder stay', async () => {
  await symlink('/proc/self/fd/1', join(folder, 'link'));
  await promisify(execFile)('mkfifo', [join(folder, 'pipe')]);
  const cases = { link: /: it is a link; name a file$/, pipe: /: it is a device or a pipe;/, '.': /: it is a folder;/ };
  for (const [name, says] of Object.entries(cases)) {
    const before = (await lstat(join(folder, name))).ino;
    await expect(writeOutput(join(folder, name), 'whole', 0o600)).rejects.toThrow(says);
    expect([name, (await lstat(join(folder, name))).ino]).toEqual([name, before]);
  }
  await expect(writeOutput('/dev/null', 'whole', 0o600)).rejects.toThrow('/dev/null: it is a device or a pipe');
  expect((await readdir(folder)).sort()).toEqual(['link', 'pipe']);
});

it('has the permissions that were asked for, whatever the umask', async () => {
  const module = resolve(import.meta.dirname, '../../../src/cli/written-file.ts');
  const script = `import { writeOutput } from '${module}'; process.umask(0o077); await writeOutput(process.argv[1], 'x', 0o640);`;
  await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script, out]);
  expect((await stat(out)).mode & 0o777).toBe(0o640);
});
