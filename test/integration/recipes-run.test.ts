/** The recipes of the papers, as the page says to try them: `run --simulate` with nothing else, as anybody, without a platform. */
import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { AGENT_PROGRAM } from '../support/agent-program.ts';

const PAGE = readFileSync(join(import.meta.dirname, '../../docs/recipes.md'), 'utf8');
const RECIPES = [...PAGE.matchAll(/^## (.+)\n[\s\S]*?```yaml\n([\s\S]*?)```/gm)].map(([, title = '', yaml = '']) => ({
  title,
  yaml,
}));
const WITHIN_MS = 60_000;

let folder: string;
let agent: ChildProcess | undefined;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnstone-recipes-'));
});
afterEach(() => agent?.kill('SIGKILL'));
afterAll(() => rm(folder, { recursive: true, force: true }));

describe('the recipes', () => {
  it('are all found', () => expect(RECIPES.length).toBe([...PAGE.matchAll(/```yaml/g)].length));

  it.each(RECIPES)(
    'run by themselves: $title',
    async ({ yaml }) => {
      const file = join(folder, 'turnstone.yaml');
      await writeFile(file, yaml, { mode: 0o600 });
      // No variable of the recipe is set, and whatever it would keep lies in a folder of its own.
      agent = spawn(process.execPath, [AGENT_PROGRAM, 'run', '--config', file, '--simulate'], {
        env: { PATH: process.env.PATH, TMPDIR: folder },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      let said = '';
      const ended = new Promise<number | null>((resolve) => agent?.once('exit', (code) => resolve(code)));
      const reached = new Promise<void>((resolve) => {
        for (const stream of [agent?.stdout, agent?.stderr])
          stream?.on('data', (piece: Buffer) => {
            said += piece.toString();
            if (said.includes('this device is provisioned')) resolve();
          });
      });
      await Promise.race([reached, ended]);
      expect(said).toContain('simulated: readings go to a local platform');
      expect(said).toContain('this device is provisioned');
      agent.kill('SIGINT');
      expect(await ended).toBe(0);
      expect(said).not.toMatch(/ at .*\.(ts|mjs):\d+/);
      expect(await readdir(folder)).toEqual(['turnstone.yaml']);
    },
    WITHIN_MS,
  );
});
