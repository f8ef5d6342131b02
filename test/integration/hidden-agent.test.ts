/** The agent as a process: its variables are not for programs of its user. */
import { spawn } from 'node:child_process';
import { chown, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { AGENT_PROGRAM } from '../support/agent-program.ts';

/** No user of a table. */
const SERVICE = 54_321;

it('has no process information that its user owns, once it runs', { timeout: 60_000 }, async () => {
  const folder = await mkdtemp(join(tmpdir(), 'turnstone-hidden-'));
  const configFile = join(folder, 'turnstone.yaml');
  await writeFile(
    configFile,
    `version: 1\nplatform: { url: "http://127.0.0.1:9" }\nstateFolder: ${folder}/state\nrunFolder: ${folder}/run\n`,
  );
  // The kernel gives what root may see to root (proc(5)): only another user shows a difference.
  const uid = process.getuid?.() === 0 ? SERVICE : (process.getuid?.() ?? SERVICE);
  if (process.getuid?.() === 0) for (const path of [folder, configFile]) await chown(path, uid, uid);
  const agent = spawn(process.execPath, [AGENT_PROGRAM, 'run', '--config', configFile], {
    stdio: 'ignore',
    env: { PATH: process.env.PATH, ACCESS_TOKEN: 'x' },
    ...(process.getuid?.() === 0 && { uid, gid: uid }),
  });
  const ended = new Promise((resolve) => agent.once('exit', resolve));
  onTestFinished(async () => {
    agent.kill('SIGKILL');
    await ended;
    await rm(folder, { recursive: true, force: true });
  });
  const ownerOf = async (file: string): Promise<number> => (await stat(`/proc/${agent.pid}/${file}`)).uid;
  expect(await ownerOf('environ')).toBe(uid);
  await expect.poll(() => ownerOf('environ'), { timeout: 30_000 }).not.toBe(uid);
  // One that has ended has no command line.
  expect(await readFile(`/proc/${agent.pid}/cmdline`, 'latin1')).toContain(configFile);
});
