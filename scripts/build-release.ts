/**
 * Makes build/release/turnstone-<version>-linux-<arch>.tar.zst, and the same as a folder: stripped runtime, bundle, native modules, units,
 * installer, manifest, signature. Two runs on one commit give the same bytes: fixed order, times and owners, and nothing of the builder's
 * paths or clock. `--release V` names another version, for tests of an update; `--key FILE` signs (Ed25519, PEM).
 */
import { execFileSync } from 'node:child_process';
import { createHash, createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';
import { once } from 'node:events';
import {
  chmodSync,
  copyFileSync,
  cpSync,
  createWriteStream,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { constants, createZstdCompress } from 'node:zlib';
import { ARCHIVE_END, archiveEntry, WINDOW_LOG } from '../src/firmware/release-archive.ts';
import {
  MANIFEST_NAME,
  parseManifest,
  type ReleaseFile,
  type ReleaseManifest,
} from '../src/firmware/release-manifest.ts';
import { signatureFrame } from '../src/firmware/release-signature.ts';
import { GIVEN_UP_FORMATS, STATE_FORMATS } from '../src/firmware/state-formats.ts';
import { type Arch, buildBundle, type NativeModules, ownNativeModules, ROOT, serialportModule } from './bundle.ts';
import { examples, exampleText } from './examples.ts';
import { addTerminalFiles } from './man.ts';
import { tellSteps } from './steps.ts';

const NODE_VERSION = '24.21.0';
const OUT = join(ROOT, 'build/release');
const CROSS = join(ROOT, 'build/cross-arm64');
/** npm brings its own. */
const NODE_GYP = join(ROOT, '.runtime/node_modules/npm/node_modules/node-gyp/bin/node-gyp.js');
const GUARD_FILES = ['boot-guard', 'set-safe-states', 'leave-identity', 'narrow-devices'];

const BUILD_ID_BYTES = 20;
/** Head of the note: 4 bytes of name, 20 of content, kind 3, "GNU". */
const BUILD_ID_NOTE = Buffer.from('040000001400000003000000474e5500', 'hex');

const { values } = parseArgs({
  options: {
    arch: { type: 'string', default: process.arch },
    key: { type: 'string' },
    release: { type: 'string' },
    level: { type: 'string', default: '22' },
    out: { type: 'string', default: OUT },
    json: { type: 'boolean', default: false },
  },
});
if (values.arch !== 'x64' && values.arch !== 'arm64') throw new Error('--arch is x64 or arm64');
const arch: Arch = values.arch;
const strip = arch === process.arch ? 'strip' : `${arch === 'arm64' ? 'aarch64' : 'x86_64'}-linux-gnu-strip`;

/** Compressed between two looks at the progress. */
const PIECE_BYTES = 2 ** 18;

const steps = tellSteps('build-release', {
  write: (text) => void process.stderr.write(text),
  isTerminal: process.stderr.isTTY === true,
});
steps.begin('runtime');
const runtime = installRuntime();
const staging = join(values.out, `.staging-${arch}-${process.pid}`);
steps.begin('native modules');
const natives = arch === process.arch ? ownNativeModules() : crossBuild(runtime);
steps.begin('bundle');
const { version: release } = await buildBundle(natives, {
  target: staging,
  ...(values.release === undefined ? {} : { version: values.release }),
});
const name = `turnstone-${release}-linux-${arch}`;
steps.begin('files');
addRuntimeAndUnits();
await addTerminalFiles(staging, release);
const signingKey = values.key === undefined ? undefined : createPrivateKey(readFileSync(values.key));
if (signingKey !== undefined) {
  // install.sh trusts the key of the release that it installs, when the machine trusts none yet.
  writeFileSync(join(staging, 'signing-key.pem'), createPublicKey(signingKey).export({ format: 'pem', type: 'spki' }));
}
const manifest = writeManifest();
const archive = join(values.out, `${name}.tar.zst`);
steps.begin('archive');
await writeArchive(manifest, archive, signingKey);
rmSync(join(values.out, name), { recursive: true, force: true });
execFileSync('mv', ['-T', staging, join(values.out, name)]);
report();

function installRuntime(): string {
  const folder = join(ROOT, '.runtime', arch === process.arch ? '' : arch);
  const target = join(folder, `node_modules/node-linux-${arch}`);
  if (!existsSync(join(target, 'bin/node'))) {
    const flags = [
      '--no-save',
      '--no-package-lock',
      '--no-audit',
      '--no-fund',
      '--force',
      '--ignore-scripts',
      '--os=linux',
      `--cpu=${arch}`,
    ];
    mkdirSync(folder, { recursive: true });
    execFileSync('npm', ['install', ...flags, '--prefix', folder, `node-linux-${arch}@${NODE_VERSION}`], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
  }
  const recorded = readFileSync(join(ROOT, 'scripts/node.sha256'), 'utf8')
    .split('\n')
    .find((line) => line.includes(`/bin/node`) && line.includes(`-${arch}/`));
  if (recorded?.split(' ')[0] !== sha256(readFileSync(join(target, 'bin/node'))))
    throw new Error(`the Node binary for ${arch} is not the recorded one`);
  return target;
}

/** node-gyp in copies of the packages, so that the modules this machine runs on stay as they are. */
function crossBuild(nodedir: string): NativeModules {
  const built: Record<string, string> = { serialport: serialportModule('arm64') };
  for (const [module, source] of Object.entries({
    turnstone: 'native',
    epoll: 'node_modules/epoll',
    i2c: 'node_modules/i2c-bus',
  })) {
    const copy = join(CROSS, module);
    const product = join(copy, `build/Release/${module}.node`);
    if (!existsSync(product) || newest(join(ROOT, source)) > statSync(product).mtimeMs) {
      rmSync(copy, { recursive: true, force: true });
      mkdirSync(CROSS, { recursive: true });
      execFileSync('cp', ['-rT', join(ROOT, source), copy]);
      rmSync(join(copy, 'build'), { recursive: true, force: true });
      execFileSync(process.execPath, [NODE_GYP, 'rebuild', '-C', copy, '--arch=arm64', `--nodedir=${nodedir}`], {
        env: { ...process.env, CC: 'aarch64-linux-gnu-gcc', CXX: 'aarch64-linux-gnu-g++' },
        stdio: ['ignore', 'ignore', 'pipe'],
      });
    }
    built[module] = product;
  }
  return built as unknown as NativeModules;
}

/** When any source of a native module last changed. */
function newest(folder: string): number {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
    (path) => /\.(c|cc|cpp|h|gyp)$/.test(path) && !path.startsWith('build/'),
  );
  return Math.max(...files.map((path) => statSync(join(folder, path)).mtimeMs));
}

function addRuntimeAndUnits(): void {
  copyFileSync(join(runtime, 'bin/node'), join(staging, 'node'));
  for (const file of ['node', ...readdirSync(join(staging, 'native')).map((module) => `native/${module}`)]) {
    chmodSync(join(staging, file), 0o755);
    execFileSync(strip, ['--strip-all', '--remove-section=.comment', join(staging, file)]);
    blankBuildId(join(staging, file));
  }
  mkdirSync(join(staging, 'systemd'));
  for (const file of readdirSync(join(ROOT, 'systemd'))) {
    copyFileSync(join(ROOT, 'systemd', file), join(staging, GUARD_FILES.includes(file) ? 'guard' : 'systemd', file));
  }
  copyFileSync(join(ROOT, 'scripts/install.sh'), join(staging, 'install.sh'));
  for (const file of ['LICENSE', 'README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md'])
    copyFileSync(join(ROOT, file), join(staging, file));
  // A manifest takes 1000 files, also where an older release reads it: `turnstone models NAME` shows what these pages say.
  const modelPages = join(ROOT, 'docs/reference/models');
  const isKept = (path: string): boolean => path !== modelPages;
  cpSync(join(ROOT, 'docs'), join(staging, 'docs'), { recursive: true, filter: isKept });
  copyFileSync(join(runtime, 'LICENSE'), join(staging, 'LICENSE.node'));
  mkdirSync(join(staging, 'config/examples'), { recursive: true });
  for (const example of examples()) writeFileSync(join(staging, 'config/examples', example.name), exampleText(example));
  cpSync(join(ROOT, 'config/thingsboard'), join(staging, 'config/thingsboard'), { recursive: true });
  for (const file of ['turnstone.example.yaml', 'provisioning.example.yaml', 'turnstone.schema.json']) {
    if (existsSync(join(ROOT, 'config', file))) copyFileSync(join(ROOT, 'config', file), join(staging, 'config', file));
  }
}

/** A build id is a hash over the builder's paths too. It is blanked in place: without its section, strip leaves out PT_GNU_RELRO as well. */
function blankBuildId(file: string): void {
  const bytes = readFileSync(file);
  const at = bytes.indexOf(BUILD_ID_NOTE);
  if (at < 0) return;
  bytes.fill(0, at + BUILD_ID_NOTE.length, at + BUILD_ID_NOTE.length + BUILD_ID_BYTES);
  writeFileSync(file, bytes);
}

function writeManifest(): ReleaseManifest {
  const files: ReleaseFile[] = filesBelow('').map((path) => {
    const content = readFileSync(join(staging, path));
    const executable =
      path === 'node' ||
      path === 'turnstone' ||
      path === 'install.sh' ||
      (path.startsWith('guard/') && !path.endsWith('.mjs'));
    chmodSync(join(staging, path), executable ? 0o755 : 0o644);
    return { path, bytes: content.length, sha256: sha256(content), executable };
  });
  const text = JSON.stringify(
    {
      format: 'turnstone-release',
      version: 1,
      release,
      arch,
      node: NODE_VERSION,
      stateFormats: { ...STATE_FORMATS, ...GIVEN_UP_FORMATS },
      files,
    },
    null,
    1,
  );
  writeFileSync(join(staging, MANIFEST_NAME), text);
  return parseManifest(text);
}

function filesBelow(folder: string): string[] {
  return readdirSync(join(staging, folder), { withFileTypes: true })
    .flatMap((entry) => (entry.isDirectory() ? filesBelow(join(folder, entry.name)) : [join(folder, entry.name)]))
    .sort((a, b) => (a < b ? -1 : 1));
}

async function writeArchive(manifest: ReleaseManifest, target: string, key: KeyObject | undefined): Promise<void> {
  const zstd = createZstdCompress({
    params: {
      [constants.ZSTD_c_compressionLevel]: Number(values.level),
      [constants.ZSTD_c_windowLog]: WINDOW_LOG,
      [constants.ZSTD_c_checksumFlag]: 1,
    },
  });
  const out = createWriteStream(target);
  const hash = createHash('sha256');
  const compressed = (async () => {
    for await (const piece of zstd as AsyncIterable<Buffer>) {
      hash.update(piece);
      if (!out.write(piece)) await once(out, 'drain');
    }
  })();
  const paths = [{ path: MANIFEST_NAME, executable: false }, ...manifest.files];
  const total = paths.reduce((sum, { path }) => sum + statSync(join(staging, path)).size, 0);
  let done = 0;
  for (const { path, executable } of paths) {
    for (const piece of archiveEntry(path, readFileSync(join(staging, path)), executable)) {
      for (let at = 0; at < piece.length; at += PIECE_BYTES) {
        const part = piece.subarray(at, at + PIECE_BYTES);
        if (!zstd.write(part)) await once(zstd, 'drain');
        done += part.length;
        steps.advance(done, total);
      }
    }
  }
  zstd.end(ARCHIVE_END);
  await compressed;
  if (key !== undefined) out.write(signatureFrame(hash.digest(), key));
  out.end();
  await once(out, 'close');
}

function report(): void {
  steps.end();
  const bytes = statSync(archive).size;
  const sum = sha256(readFileSync(archive));
  const facts = {
    file: archive,
    release,
    arch,
    bytes,
    bundleMb: Math.round(bytes / 1e4) / 100,
    sha256: sum,
    signed: signingKey !== undefined,
  };
  if (values.json) console.log(JSON.stringify(facts));
  else
    console.log(
      `${archive}\n${facts.bundleMb} MB, ${facts.signed ? 'signed' : 'NOT signed (no --key)'}, SHA-256 ${sum}`,
    );
}

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
