/** Findings of the doctor about an agent that does not say how it is. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { EXIT } from '../../../src/cli/exit-code.ts';
import { runCommandLine } from '../../../src/cli/frame/program.ts';
import { fakeEdge } from '../../support/fake-edge.ts';

/** The agent check's finding with this agent on the control socket, or with none. */
async function findingWith(agent: ((socket: Socket) => void) | undefined): Promise<unknown> {
  const folder = await mkdtemp(join(tmpdir(), 'turnstone-doctor-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const config = join(folder, 'turnstone.yaml');
  await mkdir(join(folder, 'run'));
  await writeFile(
    config,
    `version: 1\nplatform: { url: "http://127.0.0.1:9", accessToken: t }\nrunFolder: ${folder}/run\n`,
  );
  if (agent !== undefined) {
    const server = createServer(agent).listen(join(folder, 'run/control.sock'));
    onTestFinished(() => void server.close());
  }
  const edge = fakeEdge();
  await runCommandLine(['doctor', '--json', '--config', config], { edge, version: () => '1' });
  return JSON.parse(edge.out()).checks.find(({ id }: { id: string }) => id === 'agent');
}

it('is that one hangs where one listens, and that none runs where none does', async () => {
  expect(await findingWith((socket) => socket.destroy())).toMatchObject({
    verdict: 'fault',
    reason: expect.stringMatching(/^one runs and hangs/),
  });
  expect(await findingWith(undefined)).toMatchObject({ verdict: 'warning', reason: 'no agent runs' });
});

it('prints no report of what it could not look at: Ctrl-C ends it with 130', async () => {
  const edge = fakeEdge();
  edge.stop();
  expect(await runCommandLine(['doctor', '--config', '/nowhere/turnstone.yaml'], { edge, version: () => '' })).toBe(
    EXIT.interrupted,
  );
  expect(edge.out()).toBe('');
});
