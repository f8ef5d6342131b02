import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { EXIT } from '../../src/cli/exit-code.ts';
import { runCommandLine } from '../../src/command-line/program.ts';
import { fakeEdge } from '../support/fake-edge.ts';
import { setupBench } from '../support/platform-setup-bench.ts';

const run = async (words: readonly string[], environment = {}) => {
  const edge = fakeEdge({ environment });
  return { exitCode: await runCommandLine(words, { edge, version: () => '1' }), out: edge.out(), err: edge.err() };
};

async function someFile(text: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'turnstone-look-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const path = join(folder, 'turnstone.yaml');
  await writeFile(path, text, { mode: 0o600 });
  return path;
}

const GOOD = 'version: 1\nplatform: { url: "https://iot.example.org", accessToken: abcdefghij0123456789 }\n';

it('says under --json of each file of a fleet in JSON that it cannot be read', async () => {
  const { out, err } = await run(['check-config', '--json', await someFile(GOOD), '/nowhere/gw.yaml']);
  for (const line of `${out}${err}`.trim().split('\n')) expect(() => JSON.parse(line), line).not.toThrow();
});

it('suggests no variable of the shell for one that is not set', async () => {
  const file = await someFile(GOOD.replace('abcdefghij0123456789', `"\${K}"`));
  expect((await run(['check-config', file], { _: '/usr/bin/env', TERM: 'x' })).out).not.toContain('did you mean "_"');
});

it('ends with 2 for an address without https://, and takes no password in one', async () => {
  const { folder, platform } = await setupBench();
  await writeFile(join(folder, 'password'), 'tenant');
  const login = ['--user', 'tenant@thingsboard.org', '--password-file', join(folder, 'password'), '--dry-run'];
  const withPassword = platform.url.replace('://', '://somebody:secret@');
  const codes = [];
  for (const url of ['iot.example.org', withPassword]) codes.push((await run(['platform-setup', '--url', url, ...login])).exitCode);
  expect(codes).toEqual([EXIT.usage, EXIT.usage]);
});
