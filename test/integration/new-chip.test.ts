/** A new chip is a folder and a line: the steps of CONTRIBUTING.md, done in a copy of the tree by a newcomer, make a kind of sensor that works. */
import { execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';

const run = promisify(execFile);
const ROOT = resolve(import.meta.dirname, '../..');
const COPIED = ['src', 'test', 'scripts', 'config', 'docs', 'native', '.gitignore'];
const FOLDER = 'src/sensors/tmp117/';
/** Environment of somebody who has just cloned the sources: nothing of the project on the path, and no variable of ours. */
const { HOME = '/', PATH = '', TMPDIR = tmpdir() } = process.env;
const environment = {
  HOME,
  TMPDIR,
  PATH: PATH.split(':')
    .filter((folder) => !folder.startsWith(ROOT))
    .join(':'),
};

let tree: string;
let before: ReadonlyMap<string, string>;

/** Every file of the copy, with a digest. */
function filesOf(folder: string): ReadonlyMap<string, string> {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const paths = entries
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .filter((path) => !/^(node_modules|\.runtime|build)\b/.test(path));
  return new Map(
    paths.map((path) => [
      path,
      createHash('sha256')
        .update(readFileSync(join(folder, path)))
        .digest('hex'),
    ]),
  );
}

/** The page's blocks: files by their path, and commands. */
async function steps(): Promise<{
  readonly files: readonly (readonly [string, string])[];
  readonly commands: readonly (readonly string[])[];
}> {
  const page = await readFile(join(ROOT, 'CONTRIBUTING.md'), 'utf8');
  const blocks = [...page.matchAll(/^```(\w+)(?: (\S+))?\n(.*?)^```$/gms)];
  return {
    files: blocks.flatMap(([, , path, text = '']) => (path === undefined ? [] : [[path, text] as const])),
    commands: blocks.flatMap(([, language, , text = '']) => (language === 'sh' ? [text.trim().split('\n')] : [])),
  };
}

/** @throws with all that the command printed. */
const inTree = async (command: string) =>
  await run('bash', ['-c', command], { cwd: tree, env: environment }).catch(({ stdout, stderr }) => {
    throw new Error(`${command}\n${stdout}${stderr}`);
  });

beforeAll(async () => {
  tree = await mkdtemp(join(tmpdir(), 'turnstone-new-chip-'));
  const roots = readdirSync(ROOT).filter((name) => /\.(json|ts|md)$/.test(name));
  for (const name of [...COPIED, ...roots]) await cp(join(ROOT, name), join(tree, name), { recursive: true });
  // Set up before, as somebody's own would be by the first command.
  for (const name of ['node_modules', '.runtime'].filter((each) => existsSync(join(ROOT, each))))
    await symlink(join(ROOT, name), join(tree, name));
  before = filesOf(tree);
  const { files, commands } = await steps();
  for (const [path, text] of files) {
    await mkdir(dirname(join(tree, path)), { recursive: true });
    await writeFile(join(tree, path), text);
  }
  for (const command of commands[0] ?? []) await inTree(command);
});
afterAll(() => rm(tree, { recursive: true, force: true }));

it('touches two lists outside its folder, and the schema is made from them', () => {
  const after = filesOf(tree);
  const touched = [...after].filter(([path, digest]) => before.get(path) !== digest).map(([path]) => path);
  expect(touched.filter((path) => !path.startsWith(FOLDER)).sort()).toEqual([
    'config/turnstone.example.yaml',
    'config/turnstone.schema.json',
    'src/kinds/sensor-kinds.ts',
  ]);
  expect(touched.filter((path) => path.startsWith(FOLDER))).toHaveLength(5);
  expect([...before.keys()].filter((path) => !after.has(path))).toEqual([]);
  expect(readFileSync(join(tree, 'config/turnstone.schema.json'), 'utf8')).toContain('"const": "tmp117"');
});

it('passes every check that the page asks for, without a variable or a path of ours', async () => {
  const { commands } = await steps();
  expect(commands[1]).toHaveLength(6);
  for (const command of commands[1] ?? []) await inTree(command);
}, 300_000);

it('is found by a scan of the board that its example asks for, with the line that switches it on', async () => {
  const socket = join(tree, 'board.sock');
  const board = spawn(
    process.execPath,
    ['src/main.ts', 'board', '--socket', socket, '--fit', join(FOLDER, 'example.yaml')],
    {
      cwd: tree,
      env: { ...environment, PROVISION_KEY: 'any', PROVISION_SECRET: 'any' },
    },
  );
  try {
    await once(board.stdout, 'data');
    const { stdout } = await inTree(`./scripts/dev.sh node src/main.ts scan i2c --simulate ${socket}`);
    expect(stdout).toContain('- { name: tmp117, kind: tmp117, bus: 1, address: 0x48 }');
  } finally {
    board.kill();
    await once(board, 'exit');
  }
});
