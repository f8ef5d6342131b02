/**
 * Cost of an update: `npm run bench:firmware [-- --json] [-- --quick] [-- --speed]`.
 *
 * 200 MB come from a local platform in a process of its own, downloaded and verified (SHA-256, Ed25519) beside bare undici to a file, runs
 * interleaved, medians; then the same download killed 50 times; then a real release swapped into an installed gateway. `--quick` builds
 * the bundle at a low compression level: its size is then not the shipped one. `--speed` measures the download alone.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { createHash, createPrivateKey, createPublicKey, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { appendFile, mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { signatureFrame } from '../../src/firmware/release-signature.ts';
import { LocalPlatform } from '../../src/stand-ins/local-platform/local-platform.ts';
import { buildRelease, InstalledGateway, makeSigningKey, until } from '../support/installed-gateway.ts';
import { PlatformPerson } from '../support/platform-people.ts';

const IMAGE_BYTES = 200_000_000;
const CHUNK_BYTES = 1_000_000;
const RUNS = 5;
const KILLS = 50;
/** After its first request; 50 of these lives must not be enough for the whole image. */
const MAX_LIFE_MS = 10;
const TOKEN = 'bench-token';
const CHILD = join(import.meta.dirname, 'firmware-child.ts');
/** As the launcher starts the agent. */
const NODE_FLAGS = ['--max-semi-space-size=1', '--max-old-space-size=64', '--expose-gc'];
const NEXT = '99.0.0';

const { values: flags } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    quick: { type: 'boolean', default: false },
    speed: { type: 'boolean', default: false },
  },
});
const folder = await mkdtemp(join(tmpdir(), 'turnstone-bench-firmware-'));
const server = await startPlatform();
try {
  const key = await makeSigningKey(folder);
  const offer = await prepareImage(key);
  const { speedRatio, extraMemoryMb } = await measureSpeed(offer);
  const result = flags.speed
    ? { speedRatio, extraMemoryMb }
    : { speedRatio, extraMemoryMb, ...(await measureRest(offer, key)) };
  if (flags.json) console.log(JSON.stringify(result));
  else for (const [name, value] of Object.entries(result)) console.log(`${name.padEnd(22)} ${value}`);
} finally {
  server.process.kill();
  await rm(folder, { recursive: true, force: true });
}

/** The same platform that `turnstone platform` starts, in a process of its own. */
async function startPlatform(): Promise<{ process: ChildProcess; url: string }> {
  const main = join(import.meta.dirname, '../../src/main.ts');
  const child = spawn(process.execPath, [main, 'platform', '--port', '0', '--json', '--device', `bench=${TOKEN}`], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  for await (const bytes of child.stdout) {
    const url = /"url":"([^"]+)"|(http:\/\/127\.0\.0\.1:\d+)/.exec(String(bytes));
    if (url !== null) return { process: child, url: url[1] ?? url[2] ?? '' };
  }
  throw new Error('the platform did not start');
}

/** A signed file of 200 MB that does not compress, assigned to the bench's device. */
async function prepareImage(key: string): Promise<string> {
  const path = join(folder, 'image.bin');
  const out = createWriteStream(path);
  const signed = createHash('sha256');
  const whole = createHash('sha256');
  for (let left = IMAGE_BYTES - 96; left > 0; left -= CHUNK_BYTES) {
    const piece = randomBytes(Math.min(left, CHUNK_BYTES));
    signed.update(piece);
    whole.update(piece);
    if (!out.write(piece)) await once(out, 'drain');
  }
  const privateKey = createPrivateKey(await readFile(key));
  const frame = signatureFrame(signed.digest(), privateKey);
  whole.update(frame);
  await new Promise<void>((resolve) => out.end(frame, () => resolve()));
  await mkdir(join(folder, 'keys'));
  await writeFile(join(folder, 'keys/bench.pem'), createPublicKey(privateKey).export({ format: 'pem', type: 'spki' }));
  const person = await PlatformPerson.logIn(server.url);
  const id = await person.uploadPackage(path, { title: 'bench', version: '1' });
  await person.assignFirmware('bench', id);
  await rm(path);
  return JSON.stringify({
    title: 'bench',
    version: '1',
    checksum: whole.digest('hex'),
    algorithm: 'SHA256',
    sizeBytes: IMAGE_BYTES,
    fingerprint: 'bench',
  });
}

async function measureSpeed(offer: string): Promise<{ speedRatio: number; extraMemoryMb: number }> {
  const bareMs: number[] = [];
  const ours: { ms: number; extraMb: number }[] = [];
  for (let run = 0; run < RUNS; run += 1) {
    const url = `${server.url}/api/v1/${TOKEN}/firmware?title=bench&version=1&size=0`;
    bareMs.push((await child(['bare', url, join(folder, 'bare.bin')])).ms);
    await rm(join(folder, 'bare.bin'));
    const target = join(folder, `run-${run}`);
    await mkdir(target);
    ours.push((await child(imageWords(target, offer))) as { ms: number; extraMb: number });
    await rm(target, { recursive: true });
  }
  const ratio = median(bareMs) / median(ours.map(({ ms }) => ms));
  return { speedRatio: round(ratio), extraMemoryMb: round(median(ours.map(({ extraMb }) => extraMb))) };
}

async function measureRest(offer: string, key: string): Promise<Readonly<Record<string, number>>> {
  const chunksRepeatedPerKill = await measureKills(offer);
  const bundle = await buildRelease({
    out: join(folder, 'releases'),
    key,
    ...(flags.quick ? { level: 1 } : { level: 22 }),
  });
  const swapToUploadS = await measureSwap(bundle.file.replace(/\.tar\.zst$/, ''), key);
  return { chunksRepeatedPerKill, swapToUploadS, bundleMb: bundle.bundleMb };
}

/** Kills at random moments; the most that any resume began before the end of what the killed run had written, in chunks. */
async function measureKills(offer: string): Promise<number> {
  const target = join(folder, 'killed');
  await mkdir(target);
  const log = join(target, 'requests');
  await appendFile(log, '');
  const requests = async (): Promise<number[]> => (await readFile(log, 'utf8')).split('\n').slice(0, -1).map(Number);
  let mostRepeated = 0;
  let writtenBytes = 0;
  for (let kill = 0; kill <= KILLS; kill += 1) {
    const before = (await requests()).length;
    const running = start(imageWords(target, offer, 'cold'));
    const ended = new Promise((resolve) => running.once('exit', resolve));
    await until('the download goes on', async () => (await requests()).length > before);
    const resumedAt = (await requests())[before] ?? 0;
    mostRepeated = Math.max(mostRepeated, (writtenBytes - resumedAt) / CHUNK_BYTES);
    if (kill < KILLS) {
      await delay(Math.random() * MAX_LIFE_MS);
      running.kill('SIGKILL');
    }
    await ended;
    writtenBytes = (await stat(join(target, 'image'))).size;
    if (kill < KILLS && writtenBytes === IMAGE_BYTES)
      throw new Error(`the download ended before kill ${kill + 1} of ${KILLS}`);
  }
  if (writtenBytes !== IMAGE_BYTES) throw new Error('the download did not end after the last kill');
  return round(mostRepeated);
}

/** From the moment `current` moves to the first upload of the new release at the platform. */
async function measureSwap(release: string, key: string): Promise<number> {
  const platform = await LocalPlatform.start();
  const gateway = await InstalledGateway.make();
  try {
    const next = await buildRelease({ out: join(folder, 'next'), key, release: NEXT });
    await gateway.install(release);
    const { id } = platform.ensureDevice('gateway', TOKEN);
    await gateway.configure(`platform: { url: "${platform.url}", accessToken: ${TOKEN}, reconcilePeriod: 10s }`);
    gateway.start();
    const person = await PlatformPerson.logIn(platform.url);
    const versions = async (): Promise<unknown[]> =>
      (await person.values(id, 'current_fw_version')).map(({ value }) => value);
    await until('the first upload', async () => (await versions()).length > 0);
    await person.assignFirmware(
      'gateway',
      await person.uploadPackage(next.file, { title: 'turnstone', version: NEXT }),
    );
    await until('the new release uploads', async () => (await versions()).includes(NEXT), 120_000);
    return round((Date.now() - (await gateway.movedAtMs())) / 1000);
  } finally {
    await gateway.remove();
    await platform.close();
  }
}

function imageWords(target: string, offer: string, what = 'image'): string[] {
  return [what, server.url, TOKEN, target, offer, join(folder, 'keys'), join(target, 'requests')];
}

function start(words: readonly string[]): ChildProcess {
  return spawn(process.execPath, [...NODE_FLAGS, CHILD, ...words], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, MALLOC_ARENA_MAX: '2' },
  });
}

async function child(words: readonly string[]): Promise<{ ms: number }> {
  const running = start(words);
  let said = '';
  running.stdout?.on('data', (bytes: Buffer) => {
    said += bytes.toString('utf8');
  });
  const code = await new Promise((resolve) => running.once('close', resolve));
  if (code !== 0) throw new Error(`the download ended with ${String(code)}`);
  return JSON.parse(said) as { ms: number };
}

function median(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN;
}

function round(number: number): number {
  return Math.round(number * 100) / 100;
}
