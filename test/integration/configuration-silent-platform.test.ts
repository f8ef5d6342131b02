/** A whole agent that begins with a configuration on trial, and reaches no platform: it says itself why the file returns, before the guard's timer. */
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { systemClock } from '../../src/host/clock.ts';
import { AgentProcess } from '../support/agent-process.ts';

const WITHIN = { timeout: 20_000, interval: 100 };

it('asks for the previous file, with what was missing as the reason', { timeout: 60_000 }, async () => {
  const guard = await mkdtemp(join(tmpdir(), 'turnstone-guard-'));
  const agent = await AgentProcess.make(
    [
      'version: 1',
      'platform: { url: "http://127.0.0.1:1", accessToken: of-nobody }',
      'remoteConfiguration: { enabled: true }',
      `firmware: { guardFolder: ${guard} }`,
    ].join('\n'),
    'SILENT-1',
  );
  try {
    const hash = createHash('sha256')
      .update(await readFile(agent.configFile))
      .digest('hex');
    await mkdir(join(guard, 'configuration'), { recursive: true });
    const began = Math.floor(systemClock.monotonicMs());
    await writeFile(
      join(guard, 'configuration/state'),
      `id=silent\nhash=${hash}\nbefore=other\ntrialS=1\nneeds=restart\norigin=patch\nnumber=0001\nbootId=${systemClock.bootId}\nbeganAtMs=${began}\n`,
    );
    agent.start();
    await vi.waitFor(async () => {
      const request = await readFile(join(agent.folder, 'state/firmware/request'), 'utf8');
      expect(request).toMatch(/^request=settle$/m);
      expect(request).toMatch(/^reason=within 1s: no upload was acknowledged/m);
    }, WITHIN);
  } finally {
    await agent.remove();
    await rm(guard, { recursive: true, force: true });
  }
});
