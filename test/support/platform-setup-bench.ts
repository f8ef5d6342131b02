/** platform-setup as a person calls it, against a local platform of its own. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { EXIT } from '../../src/cli/exit-code.ts';
import { runCommandLine } from '../../src/cli/frame/program.ts';
import { LocalPlatform } from '../../src/stand-ins/local-platform/local-platform.ts';
import { fakeEdge } from './fake-edge.ts';
import { makeImage } from './release-image.ts';

interface Shown {
  readonly what: string;
  readonly name: string;
  readonly verdict: string;
  readonly isDone: boolean;
  readonly why?: string;
}
interface Result {
  readonly steps: readonly Shown[];
  readonly provisioning?: { readonly deviceKey: string; readonly deviceSecret: string };
}

export const PROFILE = 'Turnstone gateway';

export async function setupBench() {
  const platform = await LocalPlatform.start();
  const folder = await mkdtemp(join(tmpdir(), 'turnstone-setup-'));
  onTestFinished(async () => {
    await platform.close();
    await rm(folder, { recursive: true, force: true });
  });
  const run = async (words: readonly string[], { user = 'tenant', password = 'tenant', answers }: Person = {}) => {
    const passwordFile = join(folder, 'password');
    await writeFile(passwordFile, `${password}\n`);
    const edge = fakeEdge(answers === undefined ? {} : { answers });
    const login = [
      '--user',
      `${user}@thingsboard.org`,
      ...(answers === undefined ? ['--password-file', passwordFile] : []),
    ];
    const exitCode = await runCommandLine(['platform-setup', '--url', platform.url, ...login, ...words], {
      edge,
      version: () => '1',
    });
    return { exitCode, out: edge.out(), err: edge.err(), asked: edge.asked };
  };
  const json = async (...words: readonly string[]): Promise<Result> => {
    const { exitCode, out, err } = await run(['--yes', '--json', ...words]);
    expect({ exitCode, err }).toEqual({ exitCode: EXIT.ok, err: '' });
    return JSON.parse(out) as Result;
  };
  const { state } = platform;
  const profile = () => state.registry.profiles.all.find(({ name }) => name === PROFILE);
  const image = async (content: string): Promise<string> => {
    const path = join(folder, 'turnstone-1.2.0.tar.zst');
    await writeFile(path, makeImage({ release: '1.2.0', files: { notes: content } }).bytes);
    return path;
  };
  return { platform, state, folder, run, json, profile, image };
}

interface Person {
  readonly user?: string;
  readonly password?: string;
  /** Typed at a terminal: the password, and then yes or no. */
  readonly answers?: readonly string[];
}

/** Names of the steps that were not left as they are. */
export const due = ({ steps }: Result): readonly string[] =>
  steps.filter(({ verdict }) => verdict !== 'keep').map(({ name }) => name);
