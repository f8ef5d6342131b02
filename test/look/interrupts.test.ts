import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { EXIT } from '../../src/cli/exit-code.ts';
import { expectSimulatedDevice } from '../../src/cli/simulated-run.ts';
import { runCommandLine } from '../../src/command-line/program.ts';
import { systemFiles } from '../../src/host/files.ts';
import { fakeEdge } from '../support/fake-edge.ts';

async function ownFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'turnstone-look-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

it('ends with 130 when platform-setup is interrupted while it waits for the platform', async () => {
  const [folder, edge] = [await ownFolder(), fakeEdge()];
  const server = createServer((socket) => {
    socket.on('error', () => {});
    edge.stop();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  await writeFile(join(folder, 'password'), 'tenant');
  const login = ['--user', 'a@example.org', '--password-file', join(folder, 'password'), '--dry-run'];
  const words = ['platform-setup', '--url', `http://127.0.0.1:${port}`, ...login];
  expect(await runCommandLine(words, { edge, version: () => '1' })).toBe(EXIT.interrupted);
});

it('keeps a simulated run away from a real platform also where the device would be made there (changelog)', async () => {
  const settings = { platform: { url: 'https://iot.example.org' }, devices: [], stateFolder: await ownFolder() };
  const asked = expectSimulatedDevice(settings as never, systemFiles, { isMeant: false, warn: () => {} });
  await expect(asked).rejects.toThrow('--send-simulated');
});

it('says what is wrong with the socket of a board, which is no fault of the program', async () => {
  const edge = fakeEdge();
  expect(await runCommandLine(['board', '--socket', '/nowhere/board.sock'], { edge, version: () => '1' })).toBe(EXIT.failure);
});
