import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { environmentIn, withServiceEnvironment } from './environment-file.ts';

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
});
