/**
 * Makes start.mjs of a bundle: everything that `turnstone run` loads whenever it starts, in one file. Node spends about a millisecond on each
 * file that it resolves, reads and links, and of what esbuild splits off a start needs 167.
 *
 *   command.mjs, *.mjs ─► start.mjs: of those, all that a start loads
 *   (made by esbuild)  ─► *.mjs: what it may load later, which takes the shared parts from start.mjs
 *
 * Other commands go on loading the small files, each only what it needs.
 */
import { readFile } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { type BuildOptions, build, type Metafile, type Plugin } from 'esbuild';

/** Sources that a start imports when it comes to them; test/integration/bundle.test.ts fails when one is missing here. */
const LOADED_AT_START = [
  'src/main.ts',
  'src/cli/frame/commander-program.ts',
  'src/cli/commands/run.ts',
  'src/config/environment-file.ts',
  'src/cli/run.ts',
  'src/agent/agent.ts',
  'src/agent/machine.ts',
  'src/page-server/page-server.ts',
];

const OF_OTHER_COMMANDS = /(^|\/)src\/cli\//;
const START_FILE = 'start.mjs';
const SPLIT_FILE = /^\.\/[^/]+\.mjs$/;
const NAMED_IMPORT = /\bimport\s*\{([^}]*)\}\s*from\s*"\.\/([^"/]+\.mjs)"/g;
const LAZY_IMPORT = /\bimport\(\s*"\.\/([^"/]+\.mjs)"\s*\)/g;

interface Split {
  readonly outputs: Metafile['outputs'];
  /** Folder of the bundle. */
  readonly folder: string;
  /** First lines of every file; they are put once into what is made of several. */
  readonly banner: string;
  readonly options: BuildOptions;
}

/** Writes start.mjs, and what it may load later, beside the files of the split bundle. */
export async function writeStartFile(split: Split): Promise<void> {
  const { folder, banner, options } = split;
  const outputs = new Map(Object.entries(split.outputs).map(([path, output]) => [basename(path), output]));
  const started = loadedAtStart(outputs);
  const later = [...started]
    .flatMap((file) => importsOf(outputs, file, 'dynamic-import'))
    .filter((file) => needsStart(outputs, file, started));
  // Names are hashed from paths: these start at the bundle, so that one built elsewhere is the same bytes.
  const common: BuildOptions = {
    ...options,
    absWorkingDir: folder,
    bundle: true,
    outdir: folder,
    banner: { js: banner },
    entryNames: '[name]',
  };
  const { metafile } = await build({
    ...common,
    entryPoints: [...new Set(later)].map((file) => ({
      in: join(folder, file),
      out: `after-start-${basename(file, '.mjs')}`,
    })),
    splitting: true,
    metafile: true,
    plugins: [fromStartFile(outputs, started), splitFiles(folder, banner, started)],
  });
  const places = new Map<string, string>();
  for (const [path, { entryPoint }] of Object.entries(metafile?.outputs ?? {}))
    if (entryPoint !== undefined) places.set(basename(entryPoint), basename(path));
  await build({
    ...common,
    stdin: { contents: startEntry(outputs, started), resolveDir: folder },
    entryNames: 'start',
    splitting: false,
    plugins: [laterFiles(started, places), splitFiles(folder, banner, started)],
  });
  await expectAllNames(folder, [...places.values()]);
}

/** Lets esbuild look for every name that a later file takes from start.mjs. @throws when one is missing there. */
async function expectAllNames(folder: string, later: readonly string[]): Promise<void> {
  const entryPoints = later.map((file) => join(folder, file));
  await build({
    entryPoints,
    outdir: folder,
    bundle: true,
    write: false,
    splitting: true,
    format: 'esm',
    platform: 'node',
    logLevel: 'error',
  });
}

type Outputs = ReadonlyMap<string, Metafile['outputs'][string]>;

function loadedAtStart(outputs: Outputs): ReadonlySet<string> {
  const started = new Set<string>();
  const add = (file: string): void => {
    if (started.has(file)) return;
    started.add(file);
    for (const one of importsOf(outputs, file, 'import-statement')) add(one);
  };
  for (const source of LOADED_AT_START) {
    const found = [...outputs].find(
      ([, { entryPoint }]) => entryPoint !== undefined && resolve(entryPoint).endsWith(`/${source}`),
    );
    if (found === undefined)
      throw new Error(`the bundle has no file of its own for ${source}: scripts/start-file.ts must follow`);
    add(found[0]);
  }
  return started;
}

/** Other commands are reached from a start, but never by it, and some packages share nothing with it: those stay with the small files. */
function needsStart(outputs: Outputs, file: string, started: ReadonlySet<string>): boolean {
  if (started.has(file) || OF_OTHER_COMMANDS.test(outputs.get(file)?.entryPoint ?? '')) return false;
  const seen = new Set<string>();
  const reaches = (one: string): boolean => {
    if (seen.has(one)) return false;
    seen.add(one);
    const { inputs = {}, imports = [] } = outputs.get(one) ?? {};
    // A file without inputs has nothing but esbuild's helpers.
    if (started.has(one)) return Object.keys(inputs).length > 0;
    return imports.some(({ path, external }) => external !== true && reaches(basename(path)));
  };
  return reaches(file);
}

function importsOf(outputs: Outputs, file: string, kind: 'dynamic-import' | 'import-statement'): string[] {
  return (outputs.get(file)?.imports ?? [])
    .filter((one) => one.kind === kind && one.external !== true)
    .map(({ path }) => basename(path));
}

/** Every name that a later file may ask for, and the program. */
function startEntry(outputs: Outputs, started: ReadonlySet<string>): string {
  return [...started]
    .map((file) => {
      const names = (outputs.get(file)?.exports ?? []).map((name) => `${name} as ${nameInStart(file, name)}`);
      return names.length === 0 ? `import './${file}';` : `export { ${names.join(', ')} } from './${file}';`;
    })
    .join('\n');
}

function nameInStart(file: string, name: string): string {
  return `${basename(file, '.mjs').replaceAll(/\W/g, '_')}_${name}`;
}

/** Takes what start.mjs holds from there: its modules have state, so none may be there twice. */
function fromStartFile(outputs: Outputs, started: ReadonlySet<string>): Plugin {
  return {
    name: 'from-start-file',
    setup(plugin) {
      plugin.onResolve({ filter: SPLIT_FILE }, ({ path, kind }) => {
        const file = basename(path);
        if (file === START_FILE || (started.has(file) && kind === 'import-statement'))
          return { path: `./${START_FILE}`, external: true };
        return started.has(file) ? { path: file, namespace: 'started' } : undefined;
      });
      plugin.onLoad({ filter: /.*/, namespace: 'started' }, ({ path }) => {
        const names = (outputs.get(path)?.exports ?? []).map((name) => `${nameInStart(path, name)} as ${name}`);
        return { contents: `export { ${names.join(', ')} } from './${START_FILE}';`, loader: 'js' };
      });
    },
  };
}

/** Rewrites the imports of a later file: as modules in between, each file of the split bundle would be a file again. */
function importedFromStart(text: string, started: ReadonlySet<string>): string {
  return text.replaceAll(NAMED_IMPORT, (whole, names: string, file: string) => {
    if (!started.has(file)) return whole;
    const renamed = names.split(',').map((pair) => {
      const [name = '', own = name] = pair.trim().split(/\s+as\s+/);
      return `${nameInStart(file, name)} as ${own}`;
    });
    return `import{${renamed.join(',')}}from"./${START_FILE}"`;
  });
}

/** Names what stays outside of start.mjs by its own place. */
function laterFiles(started: ReadonlySet<string>, places: ReadonlyMap<string, string>): Plugin {
  return {
    name: 'later-files',
    setup(plugin) {
      plugin.onResolve({ filter: SPLIT_FILE }, ({ path }) => {
        const file = basename(path);
        return started.has(file) ? undefined : { path: `./${places.get(file) ?? file}`, external: true };
      });
    },
  };
}

/**
 * Reads a file of the split bundle without its banner. What start.mjs holds is imported outright: as a lazy import esbuild would wrap it, and
 * all that it needs, into functions, which V8 compiles by themselves and whose code it forgets before the compile cache is written.
 */
function splitFiles(folder: string, banner: string, started: ReadonlySet<string>): Plugin {
  return {
    name: 'split-files',
    setup(plugin) {
      plugin.onLoad({ filter: /\.mjs$/ }, async ({ path }) => {
        const text = await readFile(path, 'utf8');
        const bare = text.startsWith(banner) ? text.slice(banner.length) : text;
        const isLater = !started.has(basename(path));
        const imports: string[] = [];
        const contents = isLater
          ? importedFromStart(bare, started)
          : bare.replaceAll(LAZY_IMPORT, (whole, file: string) => {
              if (!started.has(file)) return whole;
              imports.push(`import * as $started${imports.length} from './${file}';`);
              return `Promise.resolve($started${imports.length - 1})`;
            });
        return { contents: `${imports.join('')}${contents}`, loader: 'js', resolveDir: folder };
      });
    },
  };
}
