/** Folders and sockets that can never be there: the agent would end at each start, and be started again for ever. */
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readConfig } from '../../../src/config/read-config.ts';
import { SMALLEST } from '../../support/config-file.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnstone-folders-'));
  await writeFile(join(folder, 'file'), '');
  await mkdir(join(folder, 'there'));
  await symlink('there', join(folder, 'link'));
  await symlink('nowhere', join(folder, 'loose'));
  await symlink('round', join(folder, 'round'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function faultsWith(line: string) {
  const file = join(folder, 'turnstone.yaml');
  await writeFile(file, `${SMALLEST}${line}\n`, { mode: 0o600 });
  return (await readConfig(file, { environment: {} })).faults;
}

/** Filled up to a length in bytes. */
const long = (start: string, bytes: number, name = 100): string => {
  let path = start;
  while (path.length < bytes) path += `/${'n'.repeat(Math.min(name, bytes - path.length - 1))}`;
  return path;
};

describe.each(['stateFolder', 'runFolder'])('a %s', (name) => {
  it.each([
    ['is there', () => join(folder, 'there')],
    ['can be made, with those above it', () => join(folder, 'a/b/c')],
    ['is a link to a folder', () => join(folder, 'link')],
    ['lies beneath such a link', () => join(folder, 'link/a')],
  ])('may be one that %s', async (_what, path) => {
    expect(await faultsWith(`${name}: ${path()}`)).toEqual([]);
  });

  it.each([
    ['is a file', () => join(folder, 'file'), 'and this is a file'],
    ['lies beneath a file', () => join(folder, 'file/a/b'), '/file is a file'],
    ['is a link to nothing', () => join(folder, 'loose'), '/loose is a link to nothing'],
    ['lies beneath a link that leads in a ring', () => join(folder, 'round/a'), 'is a link to nothing'],
    ['lies among processes', () => '/proc/turnstone', "the kernel's own"],
    ['lies among devices', () => '/sys/turnstone/a', "the kernel's own"],
    ['has a name that is too long', () => `/var/${'n'.repeat(256)}`, 'names of at most 255 bytes'],
  ])('may not be one that %s', async (_what, path, words) => {
    const faults = await faultsWith(`${name}: ${path()}`);
    expect(faults).toContainEqual(expect.objectContaining({ path: name, line: 3, column: name.length + 3 }));
    expect(faults.map(({ expected }) => expected).join('\n')).toContain(words);
  });
});

describe('the two folders', () => {
  const nested = async (state: string, run: string): Promise<boolean> =>
    (await faultsWith(`stateFolder: ${state}\nrunFolder: ${run}`)).some(({ problem }) =>
      problem.startsWith('in one place'),
    );

  it.each([
    ['there', 'there'],
    ['there/a', 'there'],
    ['there', 'there/a'],
    ['link', 'there'],
    ['there', 'link'],
    ['link/a', 'there'],
    ['there/..a', 'there'],
  ])('may not be one, or one within the other: %s, %s', async (state, run) => {
    expect(await nested(join(folder, state), join(folder, run))).toBe(true);
  });

  it.each([
    ['there/ab', 'there/a'],
    ['link/a', 'there/b'],
  ])('may be side by side: %s, %s', async (state, run) => {
    expect(await nested(join(folder, state), join(folder, run))).toBe(false);
  });
});

describe('a path', () => {
  it('of a state folder is as long as the disk takes', async () => {
    expect(await faultsWith(`stateFolder: ${long('/var', 3_839)}`)).toEqual([]);
    expect(await faultsWith(`stateFolder: ${long('/var', 3_840)}`)).toEqual([
      expect.objectContaining({ line: 3, column: 14 }),
    ]);
  });

  it('of a run folder leaves room for the sockets in it', async () => {
    expect(await faultsWith(`runFolder: ${long('/run', 94)}`)).toEqual([]);
    expect(await faultsWith(`runFolder: ${long('/run', 95)}`)).toEqual([
      expect.objectContaining({ path: 'runFolder', line: 3, column: 12, expected: 'at most 94 bytes' }),
    ]);
    // Bytes, not characters.
    expect(await faultsWith(`runFolder: /run/${'ä'.repeat(46)}`)).toEqual([
      expect.objectContaining({ path: 'runFolder' }),
    ]);
  });

  it('of a board is one that a socket can have', async () => {
    expect(await faultsWith(`hardware: { board: simulated, boardSocket: ${long('/run', 107)} }`)).toEqual([]);
    expect(await faultsWith(`hardware: { board: simulated, boardSocket: ${long('/run', 108)} }`)).toEqual([
      expect.objectContaining({ path: 'hardware.boardSocket', line: 3, column: 44 }),
    ]);
  });
});
