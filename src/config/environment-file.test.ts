import { execFile } from 'node:child_process';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { doubtfulLines, environmentIn, withServiceEnvironment } from './environment-file.ts';

describe('a file of variables', () => {
  it.each([
    ['A=plain', { A: 'plain' }],
    ['  A = plain  \r\nB=2', { A: 'plain', B: '2' }],
    ['# A=1\n; B=2\n\nC=3', { C: '3' }],
    [`A=' single '\nB=" double "`, { A: ' single ', B: ' double ' }],
    [`A="a \\"quote\\" \\$x \\n"`, { A: 'a "quote" $x \\n' }],
    ['A=two \\\nwords\nB=2', { A: 'two words', B: '2' }],
    [`A="first\nsecond"\nB=2`, { A: 'first\nsecond', B: '2' }],
    [`A=it's\nB=2`, { A: "it's", B: '2' }],
    ['A=a\\ b\\ \nB=', { A: 'a b ', B: '' }],
    [`A='one'"two" three`, { A: 'onetwothree' }],
    ['export A=1\n1B=2\nnothing\nC=3', { C: '3' }],
    ['A=1\nA=2', { A: '2' }],
    ['A=a=b#c', { A: 'a=b#c' }],
    [`A="without end`, { A: 'without end' }],
    ['', {}],
  ])('%j', (text, expected) => {
    expect(environmentIn(text)).toEqual(expected);
  });
});

it.each([
  ['# path C:\\\nTOKEN=abc\n', [1]],
  ['A=1\n  ; two \\\r\nTOKEN=abc\n# three\\\n', [2]],
  ['# last \\\n\nA=1\n', []],
  ['A=one \\\ntwo\n# plain\n', []],
])('names comments that end in a backslash before another line: %j', (text, lines) => {
  expect(doubtfulLines(text)).toEqual(lines);
});

describe('the variables of the service', () => {
  async function given(text: string) {
    const folder = await mkdtemp(join(tmpdir(), 'turnstone-environment-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    await writeFile(join(folder, 'environment'), text);
    const told: string[] = [];
    const read = (config: string, more = {}) =>
      withServiceEnvironment(config, { OWN: '1', ...more }, (line) => told.push(line), folder);
    return { folder, told, read };
  }

  it('are known beside the installed configuration, after those of this process', async () => {
    const { folder, read, told } = await given('OWN=2\nTOKEN=abc\n');
    expect(await read(join(folder, 'turnstone.yaml'))).toEqual({ OWN: '1', TOKEN: 'abc' });
    expect(await read(join(folder, 'within', 'turnstone.yaml'))).toEqual({ OWN: '1' });
    expect(told).toEqual([]);
  });

  it('are told of where systemd may read them otherwise', async () => {
    const { folder, read, told } = await given('# dir C:\\\nTOKEN=abc\n');
    expect(await read(join(folder, 'turnstone.yaml'))).toMatchObject({ TOKEN: 'abc' });
    expect(told).toEqual([expect.stringMatching(/environment:1: a comment that ends in a backslash/)]);
  });

  it('are said to be unknown where the file cannot be read', async () => {
    const { folder, read, told } = await given('');
    await rm(join(folder, 'environment'));
    expect(await read(join(folder, 'turnstone.yaml'))).toEqual({ OWN: '1' });
    expect(told).toEqual([]);
    await writeFile(join(folder, 'environment'), 'A'.repeat(100_000));
    await chmod(join(folder, 'environment'), 0o600);
    expect(await read(join(folder, 'turnstone.yaml'))).toEqual({ OWN: '1' });
    const service = { STATE_DIRECTORY: '/var/lib/turnstone' };
    expect(await read(join(folder, 'turnstone.yaml'), service)).toEqual({ OWN: '1', ...service });
    expect(told).toHaveLength(1);
    expect(told.join('')).toMatch(/more than 65536 bytes.*try sudo/);
  });

  // Only root can become nobody.
  it.runIf(process.getuid?.() === 0)('are not missed by a user who may not enter the folder', async () => {
    const { folder } = await given('A=1\n');
    const script = `
      import { withServiceEnvironment } from ${JSON.stringify(join(import.meta.dirname, 'environment-file.ts'))};
      import { readConfigBytes } from ${JSON.stringify(join(import.meta.dirname, 'peek-config.ts'))};
      const folder = ${JSON.stringify(folder)};
      await withServiceEnvironment(folder + '/turnstone.yaml', {}, (line) => console.log(line.trim()), folder);
      await readConfigBytes(folder + '/turnstone.yaml').catch((error) => console.log(error.message));`;
    const asNobody = async (folderMode: number, fileMode: number): Promise<string> => {
      await writeFile(join(folder, 'turnstone.yaml'), 'version: 1\n');
      await chmod(join(folder, 'turnstone.yaml'), fileMode);
      await chmod(join(folder, 'environment'), fileMode);
      await chmod(folder, folderMode);
      const options = { uid: 65_534, gid: 65_534, cwd: '/' };
      const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], options);
      return stdout;
    };
    const unread = `no configuration: cannot read ${folder}/turnstone.yaml: EACCES; this user may not read it: try sudo\n`;
    expect(await asNobody(0o750, 0o644)).toBe(unread);
    expect(await asNobody(0o755, 0o600)).toBe(
      `cannot read ${folder}/environment: EACCES; variables of the service are not known here: try sudo\n${unread}`,
    );
    expect(await asNobody(0o755, 0o644)).toBe('');
  });
});
