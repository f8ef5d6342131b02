/**
 * Makes build/bundle: the agent as minified files (one for each command, and what they share), the root helper, the native modules, the
 * launcher. Nothing else is needed at run time but a Node of the pinned version, so a release is this folder, the runtime and the units.
 *
 *   src/main.ts ────────────┐ esbuild ┌─► command.mjs, *.mjs, and of these start.mjs (scripts/start-file.ts); main.mjs takes one of the two
 *   node-gyp, or the package’s own prebuilt file ► native/*.node
 *   src/sensors/module/child.ts ──┤   ├─► module-driver.mjs: the process of a user's own driver
 *   scripts/root-helper.ts ─┘         └─► guard/root-helper.mjs
 *   src/pages, uPlot ───────► pages/, which browsers get
 *   src/sensors/modbus/models ► models/, which configurations name
 *   src/sensors/serial-line/presets ► presets/, the same
 *   src/sensors/dlms/lists ► lists/, the same
 */
import { chmod, copyFile, cp, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type BuildOptions, build, type Metafile, type Plugin, transform } from 'esbuild';
import { builtinsWhenUsed, englishOnly, nativeModulesBesideTheBundle, undiciDispatchers } from './bundle-plugins.ts';
import { writeStartFile } from './start-file.ts';

export const ROOT = fileURLToPath(new URL('..', import.meta.url));
export const BUNDLE = join(ROOT, 'build/bundle');

export type Arch = 'x64' | 'arm64';

/** Where each native module of one architecture lies; the file name in the bundle is the key plus `.node`. */
export type NativeModules = Readonly<Record<'turnstone' | 'epoll' | 'i2c' | 'serialport', string>>;

/** Names that CommonJS packages expect around them, given to the ES module that holds them; esbuild does not look into nativeRequire. */
const COMMONJS_WORDS = [
  "import{createRequire as $require}from'node:module'",
  'const require=$require(import.meta.url),nativeRequire=require,__dirname=import.meta.dirname,__filename=import.meta.filename;',
].join(';');

/** Form of every file of JavaScript in the bundle. */
const OUTPUT = {
  outExtension: { '.js': '.mjs' },
  chunkNames: '[name]-[hash]',
  minify: true,
  format: 'esm',
  platform: 'node',
  target: 'node24',
  legalComments: 'none',
  logLevel: 'warning',
  // An uncaught error prints its source line into the journal.
  lineLimit: 160,
} as const satisfies BuildOptions;

/** The native modules of the architecture this runs on, as scripts/dev.sh built them. */
export function ownNativeModules(): NativeModules {
  return {
    turnstone: join(ROOT, 'native/build/Release/turnstone.node'),
    epoll: join(ROOT, 'node_modules/epoll/build/Release/epoll.node'),
    i2c: join(ROOT, 'node_modules/i2c-bus/build/Release/i2c.node'),
    serialport: serialportModule(process.arch === 'arm64' ? 'arm64' : 'x64'),
  };
}

/** serialport ships its modules prebuilt. */
export function serialportModule(arch: Arch): string {
  const file = arch === 'arm64' ? '@serialport+bindings-cpp.armv8.glibc.node' : '@serialport+bindings-cpp.glibc.node';
  return join(ROOT, `node_modules/@serialport/bindings-cpp/prebuilds/linux-${arch}`, file);
}

export interface BundleOptions {
  /** Default build/bundle. */
  readonly target?: string;
  /** Default the one of package.json. */
  readonly version?: string;
}

/** Builds the bundle; resolves with its version and the size of what a start loads. */
export async function buildBundle(
  natives: NativeModules,
  options: BundleOptions = {},
): Promise<{ version: string; startBytes: number }> {
  const own = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as { version: string };
  const { target = BUNDLE, version = own.version } = options;
  await rm(target, { recursive: true, force: true });
  await mkdir(join(target, 'native'), { recursive: true });
  const main = await bundleFile(join(ROOT, 'src/main.ts'), join(target, 'command.mjs'), version);
  await writeStartFile({ outputs: main.outputs, folder: target, banner: COMMONJS_WORDS, options: OUTPUT });
  await writeFile(
    join(target, 'main.mjs'),
    "await import(process.argv[2] === 'run' ? './start.mjs' : './command.mjs');\n",
  );
  const driver = await bundleFile(
    join(ROOT, 'src/sensors/module/child.ts'),
    join(target, 'module-driver.mjs'),
    version,
  );
  const helper = await bundleHelper(join(target, 'guard/root-helper.mjs'), version);
  for (const [name, path] of Object.entries(natives)) await copyFile(path, join(target, 'native', `${name}.node`));
  await copyPages(join(target, 'pages'));
  await cp(join(ROOT, 'src/sensors/modbus/models'), join(target, 'models'), { recursive: true });
  await cp(join(ROOT, 'src/sensors/serial-line/presets'), join(target, 'presets'), { recursive: true });
  await cp(join(ROOT, 'src/sensors/dlms/lists'), join(target, 'lists'), { recursive: true });
  await copyFile(join(ROOT, 'scripts/launcher.sh'), join(target, 'turnstone'));
  await chmod(join(target, 'turnstone'), 0o755);
  await writeFile(
    join(target, 'package.json'),
    `${JSON.stringify({ name: 'turnstone', version, type: 'module', private: true })}\n`,
  );
  await writeFile(join(target, 'LICENSES.txt'), await licensesOf([main, driver, helper]));
  return { version, startBytes: (await stat(join(target, 'start.mjs'))).size };
}

/** Bundles root's program as the one file that is installed of it. What the agent loads when it is used, as drivers, root never does. */
async function bundleHelper(outfile: string, version: string): Promise<Metafile> {
  const metafile = await bundleFile(join(ROOT, 'scripts/root-helper.ts'), outfile, version, [nothingLoadedLater]);
  const files = Object.keys(metafile.outputs);
  if (files.length !== 1) throw new Error(`the root helper is one file, and not ${files.join(', ')}`);
  return metafile;
}

const nothingLoadedLater: Plugin = {
  name: 'nothing-loaded-later',
  setup: (build) =>
    build.onResolve({ filter: /^\./ }, ({ kind, path }) =>
      kind === 'dynamic-import' ? { path, external: true } : undefined,
    ),
};

export async function bundleFile(
  entry: string,
  outfile: string,
  version: string,
  plugins: readonly Plugin[] = [],
): Promise<Metafile> {
  const result = await build({
    entryPoints: [{ in: entry, out: basename(outfile, '.mjs') }],
    outdir: dirname(outfile),
    ...OUTPUT,
    // Lazy imports stay in files of their own: a start reads, compiles and keeps no more than the agent.
    splitting: true,
    bundle: true,
    metafile: true,
    banner: { js: COMMONJS_WORDS },
    define: {
      'process.env.TURNSTONE_VERSION': JSON.stringify(version),
      // Its optional addon is not in the bundle; without this cbor-x looks for it at every start.
      'process.env.CBOR_NATIVE_ACCELERATION_DISABLED': '"true"',
      // undici's second, experimental HTTP parser stays out, as it does of Node itself.
      esbuildDetection: 'true',
    },
    plugins: [...plugins, nativeModulesBesideTheBundle, builtinsWhenUsed, undiciDispatchers, englishOnly],
  });
  return result.metafile;
}

/** The files of the pages and uPlot as its package has it; src/host/page-files.ts finds them here. */
export async function copyPages(target: string): Promise<void> {
  await mkdir(join(target, 'shared'), { recursive: true });
  await bundlePage('status', ['app.js', 'stream-worker.js', 'offline.js'], target);
  await bundlePage('platform', ['app.js'], target);
  await mkdir(join(target, 'uplot'));
  for (const name of ['uPlot.iife.min.js', 'uPlot.min.css'])
    await copyFile(join(ROOT, 'node_modules/uplot/dist', name), join(target, 'uplot', name));
}

/**
 * Joins the scripts of a page, so that a browser asks for a few files in place of forty. What is imported when it is used stays apart; the head
 * names what is loaded at the start.
 */
async function bundlePage(page: string, scripts: readonly string[], target: string): Promise<void> {
  const [source, folder] = [join(ROOT, 'src/pages', page), join(target, page)];
  const { metafile } = await build({
    entryPoints: scripts.map((name) => join(source, name)),
    outdir: folder,
    chunkNames: '[name]-[hash]',
    bundle: true,
    splitting: true,
    format: 'esm',
    minify: true,
    target: 'es2022',
    metafile: true,
  });
  for (const name of await readdir(source)) {
    const kind = extname(name).slice(1);
    const text = await readFile(join(source, name), 'utf8');
    if (kind === 'html') await writeFile(join(folder, name), withPreloads(text, page, metafile));
    else if (kind !== 'js') await writeFile(join(folder, name), await smaller(text, kind));
  }
  for (const name of (await readdir(join(ROOT, 'src/pages/shared'))).filter((one) => one.endsWith('.css')))
    await writeFile(
      join(target, 'shared', name),
      await smaller(await readFile(join(ROOT, 'src/pages/shared', name), 'utf8'), 'css'),
    );
}

async function smaller(text: string, kind: string): Promise<string> {
  return kind === 'css' ? (await transform(text, { loader: 'css', minify: true })).code : text;
}

/** Names what the page's script loads at its start, and the English texts, in place of the modules of the sources. */
function withPreloads(html: string, page: string, { outputs }: Metafile): string {
  const found = Object.entries(outputs);
  const app = found.find(([, { entryPoint = '' }]) => entryPoint.endsWith(`src/pages/${page}/app.js`))?.[1];
  const english = found.filter(([file]) => basename(file).startsWith('texts-en-')).map(([file]) => basename(file));
  const imported = (app?.imports ?? []).filter(({ kind }) => kind === 'import-statement');
  const names = [...new Set(['app.js', ...imported.map(({ path }) => basename(path)), ...english])];
  const links = names.map((name) => `<link rel="modulepreload" href="/page/${page}/${name}">\n`);
  const [first = '', ...others] = html.split(/<link rel="modulepreload".*>\n/);
  return others.length === 0 ? html : `${first}${links.join('')}${others.join('')}`;
}

/** The licence texts of every package whose code is in the bundle, which their licences ask for. */
async function licensesOf(metafiles: readonly Metafile[]): Promise<string> {
  const folders = new Set([join(ROOT, 'node_modules/uplot')]);
  for (const input of metafiles.flatMap((metafile) => Object.keys(metafile.inputs))) {
    const match = /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(input);
    if (match?.[1] !== undefined) folders.add(join(ROOT, match[1]));
  }
  const texts: string[] = [];
  for (const folder of [...folders].sort()) {
    const { name, version, license } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as Record<
      string,
      string
    >;
    const text = await firstOf(
      ['LICENSE', 'LICENSE.md', 'LICENSE.txt', 'LICENCE', 'license'].map((file) => join(folder, file)),
    );
    texts.push(`${name} ${version} (${license})\n\n${text ?? ''}`.trim());
  }
  return `${texts.join(`\n\n${'-'.repeat(80)}\n`)}\n`;
}

async function firstOf(paths: readonly string[]): Promise<string | undefined> {
  for (const path of paths) {
    const text = await readFile(path, 'utf8').catch(() => undefined);
    if (text !== undefined) return text;
  }
  return undefined;
}

if (import.meta.main) {
  const { version, startBytes } = await buildBundle(ownNativeModules());
  console.log(`build/bundle: turnstone ${version}, start.mjs ${(startBytes / 1024).toFixed(0)} KB`);
}
