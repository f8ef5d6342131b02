/** Which access token the doctor asks about: the one that the agent uses. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { tokenInUse } from '../../../src/cli/doctor.ts';
import { fingerprintOf } from '../../../src/devices/access-token.ts';
import {
  type CredentialsRecord,
  type CredentialsState,
  formatCredentials,
} from '../../../src/devices/credentials-record.ts';

const RECORD: CredentialsRecord = {
  phase: 'in-use',
  source: 'provisioned',
  accessToken: 'kept',
  board: {},
  generation: 1,
};

async function folderWith(files: Readonly<Record<string, CredentialsState | string>>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'turnstone-doctor-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  for (const [name, state] of Object.entries(files))
    await writeFile(join(folder, name), typeof state === 'string' ? state : formatCredentials(state));
  return folder;
}

it('is what the configured one was rotated to since', async () => {
  const configured = { ...RECORD, configuredToken: fingerprintOf('configured') };
  const folder = await folderWith({ 'credentials.json': { configured, own: { ...RECORD, accessToken: 'own' } } });
  expect([await tokenInUse(folder, 'configured'), await tokenInUse(folder, 'another')]).toEqual(['kept', 'another']);
  expect(await tokenInUse(await folderWith({ 'credentials.json': 'spoilt' }), 'configured')).toBe('configured');
});

it('is the board\u2019s own, out of either file, and none before it is in use', async () => {
  const own = { own: RECORD };
  const found: Parameters<typeof folderWith>[0][] = [
    { 'credentials.json': own },
    { 'credentials.backup.json': own },
    { 'credentials.json': 'spoilt', 'credentials.backup.json': own },
  ];
  for (const files of found) expect(await tokenInUse(await folderWith(files), undefined)).toBe('kept');
  const proposed = { own: { ...RECORD, phase: 'proposed' as const } };
  for (const files of [{}, { 'credentials.json': proposed }] as Parameters<typeof folderWith>[0][])
    expect(await tokenInUse(await folderWith(files), undefined)).toBeUndefined();
  await expect(tokenInUse(await folderWith({ 'credentials.json': 'spoilt' }), undefined)).rejects.toMatchObject({
    code: 'provisioning/corrupt',
  });
});
