/**
 * Compares the sources of models and presets with checkouts of them, and lists what has changed since the facts were taken from there.
 *
 *   npm run sources -- FOLDER
 *
 * FOLDER holds a checkout for each repository, as OWNER/NAME, NAME or OWNER+NAME, with its history. Nothing is fetched. A repository that is not
 * there is counted, and said. Ends with 1 where a source moved, or is not found where it is said to be.
 */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { glob, readFile } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { parse } from 'yaml';

const MODELS = 'src/sensors/modbus/models/*.yaml';
const PRESETS = 'src/sensors/serial-line/presets/*.yaml';
/** As a preset names a public file: `owner/name at commit, path`. */
const IN_PRESET = /^([\w.-]+\/[\w.-]+)(?: at ([0-9a-f]{7,40}))?(?:, (.+))?$/;
const ROOT = resolve(import.meta.dirname, '..');

/** Place from which facts of a file of ours come. */
export interface Source {
  /** File of ours. */
  readonly of: string;
  readonly repository: string;
  readonly path: string;
  readonly commit: string;
}

export type Verdict =
  | { readonly state: 'same' | 'no-checkout' }
  | { readonly state: 'changed'; readonly commits: number; readonly newest: string }
  | { readonly state: 'not-found'; readonly reason: string };

/** Returns every source in a repository; makers' documents have none. */
export async function sourcesOf(root = ROOT): Promise<readonly Source[]> {
  const found: Source[] = [];
  for await (const file of glob([MODELS, PRESETS], { cwd: root })) {
    const of = basename(file, '.yaml');
    const { sources = {}, source = '' } = parse(await readFile(join(root, file), 'utf8')) as {
      readonly sources?: Readonly<Record<string, Partial<Source>>>;
      readonly source?: string;
    };
    for (const { repository, path = '', commit = '' } of Object.values(sources))
      if (repository !== undefined) found.push({ of, repository, path, commit });
    for (const part of source.split('; ')) {
      const [, repository = '', commit = '', path = ''] = IN_PRESET.exec(part) ?? [];
      if (repository !== '') found.push({ of, repository, path, commit });
    }
  }
  return found.toSorted(
    (one, other) => one.repository.localeCompare(other.repository) || one.of.localeCompare(other.of),
  );
}

/** Looks at one source in the folder of checkouts. */
export async function compare({ repository, path, commit }: Source, folder: string): Promise<Verdict> {
  const [owner = '', name = ''] = repository.split('/');
  const checkout = [join(owner, name), name, `${owner}+${name}`, join(`${owner}+${name}`, 'repo')]
    .map((place) => join(folder, place))
    .find((place) => existsSync(join(place, '.git')) || existsSync(join(place, 'HEAD')));
  if (checkout === undefined) return { state: 'no-checkout' };
  const git = async (...args: readonly string[]): Promise<string> =>
    (await promisify(execFile)('git', ['-C', checkout, ...args], { maxBuffer: 2 ** 24 })).stdout.trim();
  const has = (...args: readonly string[]): Promise<boolean> =>
    git(...args).then(
      (out) => out !== '',
      () => false,
    );
  if (!(await has('rev-parse', '--verify', '--quiet', `${commit}^{commit}`)))
    return { state: 'not-found', reason: `the checkout has no commit ${commit || '(none is stated)'}` };
  if (!(await has('ls-tree', commit, '--', path)))
    return { state: 'not-found', reason: `${path} is not there at ${commit}` };
  const commits = (await git('log', '--format=%h %cs', `${commit}..HEAD`, '--', path)).split('\n').filter(Boolean);
  const [newest] = commits;
  return newest === undefined ? { state: 'same' } : { state: 'changed', commits: commits.length, newest };
}

async function main(folder: string): Promise<boolean> {
  const sources = await sourcesOf();
  const counts = { same: 0, changed: 0, 'not-found': 0, 'no-checkout': 0 };
  for (const source of sources) {
    const verdict = await compare(source, folder);
    counts[verdict.state] += 1;
    const place = `${source.repository} ${source.path}`;
    if (verdict.state === 'changed')
      console.log(
        `changed    ${source.of}: ${place}, ${verdict.commits} commits since ${source.commit}, the newest ${verdict.newest}`,
      );
    if (verdict.state === 'not-found') console.log(`not found  ${source.of}: ${place}: ${verdict.reason}`);
  }
  console.log(
    `${sources.length} sources: ${counts.same} the same, ${counts.changed} changed, ${counts['not-found']} not found, ${counts['no-checkout']} without a checkout in ${folder}`,
  );
  return counts.changed + counts['not-found'] > 0;
}

if (import.meta.main) {
  const [folder] = process.argv.slice(2);
  if (folder === undefined) {
    console.error('usage: npm run sources -- FOLDER');
    process.exitCode = 2;
  } else if (await main(resolve(folder))) process.exitCode = 1;
}
