/** Signed releases for guests, made by the script that makes the shipped ones; only packed less tightly. */
import { execFile } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { existsSync } from 'node:fs';
import { cp, mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { CHECKOUT } from './machine.ts';

const execute = promisify(execFile);
const FOLDER = join(CHECKOUT, '.lab/releases');
const KEY = join(CHECKOUT, '.lab/signing-key.pem');
/** A build reads the checkout: the large folders are shared with the copy, these are none of its business. */
const SHARED = ['node_modules', '.runtime', 'native'];
const LEFT_OUT = ['.git', '.lab', 'build', 'dist', 'coverage', 'test'];

export interface LabRelease {
  readonly version: string;
  /** The unpacked release, as a guest sees it. */
  readonly inGuest: string;
  /** The archive, on this machine. */
  readonly archive: string;
}

/** @param edit changes the source of the main file before the release is made. */
export async function makeRelease(version: string, edit?: (main: string) => string): Promise<LabRelease> {
  await mkdir(FOLDER, { recursive: true });
  if (!existsSync(KEY)) {
    await writeFile(KEY, generateKeyPairSync('ed25519').privateKey.export({ format: 'pem', type: 'pkcs8' }), {
      mode: 0o600,
    });
  }
  const source = edit === undefined ? CHECKOUT : await changedCheckout(version, edit);
  const words = ['--release', version, '--key', KEY, '--level', '3', '--out', FOLDER, '--json'];
  const { stdout } = await execute(process.execPath, [join(source, 'scripts/build-release.ts'), ...words], {
    cwd: source,
  });
  const { file } = JSON.parse(stdout) as { file: string };
  const name = file.slice(FOLDER.length + 1, -'.tar.zst'.length);
  if (source !== CHECKOUT) await rm(source, { recursive: true, force: true });
  return { version, inGuest: `/lab/.lab/releases/${name}`, archive: file };
}

/** Signs a configuration with the key of the releases, as a person does for a package. */
export async function signed(configuration: string): Promise<Buffer> {
  const file = join(CHECKOUT, '.lab/package.yaml');
  await writeFile(file, configuration);
  const words = [join(CHECKOUT, 'scripts/sign-file.ts'), '--key', KEY, '--sign', file];
  await execute(process.execPath, words, { cwd: CHECKOUT });
  return await readFile(`${file}.signed`);
}

async function changedCheckout(version: string, edit: (main: string) => string): Promise<string> {
  const folder = join(CHECKOUT, `.lab/source-${version}`);
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  for (const name of await readdir(CHECKOUT)) {
    if (SHARED.includes(name)) await symlink(join(CHECKOUT, name), join(folder, name));
    else if (!LEFT_OUT.includes(name)) await cp(join(CHECKOUT, name), join(folder, name), { recursive: true });
  }
  const main = join(folder, 'src/main.ts');
  const changed = edit(await readFile(main, 'utf8'));
  await writeFile(main, changed);
  return folder;
}
