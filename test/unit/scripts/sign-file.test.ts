/** A file that is signed from the command line is one that a gateway takes. */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { ROOT } from '../../../scripts/bundle.ts';
import { withPlain } from '../../../src/firmware/file-pieces.ts';
import { parseTrustedKey, verifySignature } from '../../../src/firmware/release-signature.ts';
import { makeKeys } from '../../support/release-image.ts';
import { systemUpdateFiles } from '../../support/system-update-files.ts';

const PROGRAM = join(ROOT, 'scripts/sign-file.ts');
const CONTENT = 'version: 1\n';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnstone-sign-'));
});
afterEach(() => rm(folder, { recursive: true }));

it('has the content, and behind it a signature of the key', async () => {
  const { privateKey, publicPem } = makeKeys();
  const [file, key] = [join(folder, 'turnstone.yaml'), join(folder, 'key.pem')];
  await writeFile(file, CONTENT);
  await writeFile(key, privateKey.export({ format: 'pem', type: 'pkcs8' }));
  const said = execFileSync(process.execPath, [PROGRAM, '--sign', file, '--key', key], { encoding: 'utf8' });
  expect(said).toMatch(/\.signed\n107 bytes, signed, SHA-256 [0-9a-f]{64}\n$/);
  expect((await readFile(`${file}.signed`, 'utf8')).slice(0, CONTENT.length)).toBe(CONTENT);
  const keys = [parseTrustedKey(publicPem, 'key.pem')];
  const verified = await withPlain(systemUpdateFiles, `${file}.signed`, (signed) =>
    verifySignature(signed, { keys, required: true }),
  );
  expect(verified).toEqual({ archiveBytes: CONTENT.length, signedBy: 'key.pem' });
});

it('is not written without a key', () => {
  const { status, stderr } = spawnSync(process.execPath, [PROGRAM, '--sign', PROGRAM], { encoding: 'utf8' });
  expect([status, stderr]).toEqual([64, 'build-release: --sign FILE needs --key signing-key.pem\n']);
});
