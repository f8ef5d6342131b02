/** What a release runs is the bundle, not the sources: its native modules must load with the names by which they are used. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildBundle, ownNativeModules } from '../../scripts/bundle.ts';

const run = promisify(execFile);
let folder: string;
let main: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnstone-bundle-'));
  await buildBundle(ownNativeModules(), { target: join(folder, 'bundle') });
  main = join(folder, 'bundle/main.mjs');
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe('the bundle', () => {
  it('loads every native module with what is used of it', async () => {
    const { stderr } = await run(process.execPath, [main, 'firmware', 'self-test']);
    expect(stderr).toBe('');
  });

  it('has every command', async () => {
    const { stdout } = await run(process.execPath, [main, '--help']);
    for (const command of ['run', 'status', 'doctor', 'firmware', 'report', 'audit']) expect(stdout).toContain(command);
  });
});
