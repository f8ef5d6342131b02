/** Configurations as files, for tests: the smallest that is complete, and what a test adds to it. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../../src/config/read-config.ts';
import type { AgentConfig } from '../../src/config/schema/agent-config.ts';
import type { Environment } from '../../src/host/environment.ts';

/** A platform and a token; sections are added behind it. */
export const SMALLEST = 'version: 1\nplatform: { url: "https://example.org", accessToken: fixture-token }\n';

/** The configuration that a YAML text gives. */
export async function configOf(yaml: string, environment: Environment = {}): Promise<AgentConfig> {
  const folder = await mkdtemp(join(tmpdir(), 'turnstone-config-'));
  try {
    const file = join(folder, 'turnstone.yaml');
    await writeFile(file, yaml, { mode: 0o600 });
    return await loadConfig(file, { environment });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
