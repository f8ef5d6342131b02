/** What is seen of a configuration in which something is wrong: the hardware that it names, and this machine's where it names none that there is. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { peekHardware } from '../../../src/config/peek-config.ts';
import type { Environment } from '../../../src/host/environment.ts';

const environment = {} as Environment;
const OWN = { board: 'linux', gpio: 'auto' };
let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnstone-peek-'));
});
afterEach(() => rm(folder, { recursive: true }));

async function hardwareIn(content: string): Promise<unknown> {
  const file = join(folder, 'turnstone.yaml');
  await writeFile(file, content);
  return await peekHardware(file, environment);
}

it.each<readonly [string, string, object]>([
  [
    'names a board',
    'hardware: { board: simulated, boardSocket: /run/board.sock }',
    { board: 'simulated', boardSocket: '/run/board.sock', gpio: 'auto' },
  ],
  ['is wrong elsewhere', 'platform: 7\nhardware: { gpio: sysfs }', { board: 'linux', gpio: 'sysfs' }],
  ['names a board that there is not', 'hardware: { board: toaster, gpio: sysfs }', OWN],
  ['has something else in its place', 'hardware: [1]', OWN],
  ['says nothing of it', 'version: 1', OWN],
  ['is no mapping', '- 1', OWN],
])('the hardware of a file that %s', async (_what, content, hardware) => {
  expect(await hardwareIn(content)).toEqual(hardware);
});

it('of a named file that is not there is not guessed', async () => {
  const file = join(folder, 'none.yaml');
  const fault = { code: 'config/unreadable', message: `there is no configuration ${file}` };
  await expect(peekHardware(file, environment)).rejects.toMatchObject(fault);
});
