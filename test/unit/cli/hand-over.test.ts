/** A bundle on its way to the service, where the disk has no room for it. */
import { mkdir, mkdtemp, readdir, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { runCommandLine } from '../../../src/cli/frame/program.ts';
import { ControlServer } from '../../../src/control-socket/control-server.ts';
import { systemClock } from '../../../src/host/clock.ts';
import { systemFiles } from '../../../src/host/files.ts';
import { silentLog } from '../../../src/host/log.ts';
import { fakeEdge } from '../../support/fake-edge.ts';
import { socketOperations } from '../../support/socket-operations.ts';

it('is not begun, which is no lack of permission, and leaves nothing', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'turnstone-hand-over-'));
  const inbox = join(folder, 'inbox');
  await mkdir(inbox);
  const server = await ControlServer.open(
    {
      folder: join(folder, 'run'),
      ...socketOperations({
        readMethods: { firmwareInbox: () => ({ folder: inbox }), firmwareStatus: () => ({ history: [] }) },
      }),
      clock: systemClock,
      files: systemFiles,
      log: silentLog,
    },
    new AbortController().signal,
  );
  onTestFinished(async () => {
    await server.close();
    await rm(folder, { recursive: true });
  });
  const bundle = join(folder, 'bundle');
  await writeFile(bundle, '');
  await truncate(bundle, 2 ** 43);
  const edge = fakeEdge();
  const words = ['firmware', 'install', bundle, '--run-folder', join(folder, 'run')];
  expect(await runCommandLine(words, { edge, version: () => '1' })).toBe(1);
  expect(edge.err()).toMatch(/there is no room for a copy of the image \(firmware\/no-space\)\n$/);
  expect(await readdir(inbox)).toEqual([]);
});
