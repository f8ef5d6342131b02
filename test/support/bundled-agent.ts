/** Bundles the agent for a run of tests that start it again and again; once for all projects of the run. */
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildBundle, ownNativeModules } from '../../scripts/bundle.ts';
import { AGENT_PROGRAM_VARIABLE } from './agent-program.ts';

export async function setup(): Promise<(() => Promise<void>) | undefined> {
  if (process.env[AGENT_PROGRAM_VARIABLE] !== undefined) return undefined;
  const folder = await mkdtemp(join(tmpdir(), 'turnstone-bundled-agent-'));
  // An agent that gives root's rights up still reads what it needs later.
  await chmod(folder, 0o755);
  await buildBundle(ownNativeModules(), { target: join(folder, 'bundle') });
  process.env[AGENT_PROGRAM_VARIABLE] = join(folder, 'bundle/main.mjs');
  return async () => {
    delete process.env[AGENT_PROGRAM_VARIABLE];
    await rm(folder, { recursive: true, force: true });
  };
}
