import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { EXIT } from '../../../src/cli/exit-code.ts';
import { runCommandLine } from '../../../src/cli/frame/program.ts';
import { fakeEdge } from '../../support/fake-edge.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnstone-cli-rpc-'));
});
afterEach(() => rm(folder, { recursive: true }));

describe('turnstone rpc', () => {
  it('says that no agent runs', async () => {
    const edge = fakeEdge();
    expect(await runCommandLine(['rpc', 'getTime', '--run-folder', folder], { edge, version: () => '1' })).toBe(
      EXIT.notRunning,
    );
    expect(edge.err()).toContain('no agent answers');
  });

  it.each([
    [['rpc', 'getTime', '{day: monday}'], 'parameters are JSON'],
    [['rpc', 'getTime', '--timeout', '0'], 'seconds from 1 to 300'],
    [['rpc'], "missing required argument 'method'"],
  ])('refuses %j', async (words, why) => {
    const edge = fakeEdge();
    expect(await runCommandLine(words, { edge, version: () => '1' })).toBe(EXIT.usage);
    expect(edge.err()).toContain(why);
  });
});
