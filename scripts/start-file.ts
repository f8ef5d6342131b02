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
  'src/command-line/commander-program.ts',
  'src/cli/commands/run.ts',
  'src/config/environment-file.ts',
  'src/cli/run.ts',
  'src/agent/agent.ts',
  'src/agent/machine.ts',
  'src/status/status-server.ts',
];

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
  const later = [...started].flatMap((file) => importsOf(outputs, file, 'dynamic-import')).filter((file) => !started.has(file));
  const common: BuildOptions = { ...options, bundle: true, outdir: folder, banner: { js: banner }, entryNames: '[name]' };
  const { metafile } = await build({
    ...common,
    entryPoints: [...new Set(later)].map((file) => ({ in: join(folder, file), out: `after-start-${basename(file, '.mjs')}` })),
    splitting: true,
    metafile: true,
    plugins: [fromStartFile(outputs, started), withoutBanner(folder, banner)],
  });
  const places = new Map<string, string>();
  for (const [path, { entryPoint }] of Object.entries(metafile?.outputs ?? {}))
    if (entryPoint !== undefined) places.set(basename(entryPoint), basename(path));
  await build({
    ...common,
    stdin: { contents: startEntry(outputs, started), resolveDir: folder },
    outfile: undefined,
    entryNames: 'start',
    splitting: false,
    plugins: [laterFiles(started, places), withoutBanner(folder, banner)],
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
    const found = [...outputs].find(([, { entryPoint }]) => entryPoint !== undefined && resolve(entryPoint).endsWith(`/${source}`));
    if (found === undefined) throw new Error(`the bundle has no file of its own for ${source}: scripts/start-file.ts must follow`);
    add(found[0]);
  }
  return started;
}

function importsOf(outputs: Outputs, file: string, kind: 'dynamic-import' | 'import-statement'): string[] {
  return (outputs.get(file)?.imports ?? []).filter((one) => one.kind === kind && one.external !== true).map(({ path }) => basename(path));
}

/**
 * Every name that a later file may ask for, and then the program. It is not awaited: the program ends last, and until start.mjs has been
 * evaluated no file that takes something from it can be loaded.
 */
function startEntry(outputs: Outputs, started: ReadonlySet<string>): string {
  const lines = [...started].map((file) => {
    const names = (outputs.get(file)?.exports ?? []).map((name) => `${name} as ${nameInStart(file, name)}`);
    return names.length === 0 ? '' : `export { ${names.join(', ')} } from './${file}';`;
  });
  return [...lines, `void import('./${[...started][0]}');`].join('\n');
}

function nameInStart(file: string, name: string): string {
  return `${basename(file, '.mjs').replaceAll(/\W/g, '_')}_${name}`;
}

/** Takes what start.mjs holds from there: its modules have state, so none may be there twice. */
function fromStartFile(outputs: Outputs, started: ReadonlySet<string>): Plugin {
  return {
    name: 'from-start-file',
    setup(plugin) {
      plugin.onResolve({ filter: /^\.\/[^/]+\.mjs$/ }, ({ path }) => {
        const file = basename(path);
        if (file === 'start.mjs') return { path, external: true };
        return started.has(file) ? { path: file, namespace: 'started' } : undefined;
      });
      plugin.onLoad({ filter: /.*/, namespace: 'started' }, ({ path }) => {
        const names = (outputs.get(path)?.exports ?? []).map((name) => `${nameInStart(path, name)} as ${name}`);
        return { contents: `export { ${names.join(', ')} } from './start.mjs';`, loader: 'js' };
      });
    },
  };
}

function laterFiles(started: ReadonlySet<string>, places: ReadonlyMap<string, string>): Plugin {
  return {
    name: 'later-files',
    setup(plugin) {
      plugin.onResolve({ filter: /^\.\/[^/]+\.mjs$/ }, ({ path }) => {
        const file = basename(path);
        return started.has(file) ? undefined : { path: `./${places.get(file) ?? file}`, external: true };
      });
    },
  };
}

function withoutBanner(folder: string, banner: string): Plugin {
  return {
    name: 'without-banner',
    setup(plugin) {
      plugin.onLoad({ filter: /\.mjs$/ }, async ({ path }) => {
        const text = await readFile(path, 'utf8');
        return { contents: text.startsWith(banner) ? text.slice(banner.length) : text, loader: 'js', resolveDir: folder };
      });
    },
  };
}
