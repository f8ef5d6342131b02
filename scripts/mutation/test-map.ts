/**
 * Which unit tests reach which places, and how long they take: learned by running them once with a mark before every place, and kept in
 * build/ until a source changes; when only a test file changed, it alone is run again.
 */
import { createHash } from 'node:crypto';
import { chmod, glob, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { withMarks } from './changed-text.ts';
import type { Order, Reach, TestFileResult } from './order.ts';
import { placesIn } from './places.ts';
import type { Mutant, Room } from './rooms.ts';
import type { TestHost } from './test-host.ts';

const WHOLE_RUN_WITHIN_MS = 30 * 60_000;
const TEST_WITHIN_MS = 120_000;

/** A test file as it was at the hash. */
interface KnownTest extends TestFileResult {
  readonly hash: string;
  /** Its own and those of the programs it started. */
  readonly reaches: readonly Reach[];
}

interface KeptMap {
  /** Hash of all files that are no tests. */
  readonly hash: string;
  readonly tests: readonly KnownTest[];
}

export interface TestMap {
  readonly tests: readonly KnownTest[];
  /** Test files that fail without any mutant, and can judge none; with what they say. */
  readonly unfit: readonly string[];
  /** By file, relative to the root, the number of its first place among those of all files. */
  readonly firstPlaces: ReadonlyMap<string, number>;
}

/** @throws when the tests do not even end without any mutant. */
export async function learnTestMap(root: string, rooms: readonly Room[], hosts: readonly TestHost[]): Promise<TestMap> {
  const keptIn = join(root, 'build/mutate/test-map.json');
  const hash = await hashOfAllButTests(root);
  const kept = await readKept(keptIn);
  const known = kept?.hash === hash ? kept.tests : [];
  const hashes = await testHashes(root);
  const upToDate = known.filter((one) => hashes.get(one.file) === one.hash);
  const missing = [...hashes.keys()].filter((file) => upToDate.every((one) => one.file !== file));

  const { changed, firstPlaces, places } = await markedSources(root, rooms);
  const folder = await mkdtemp(join(tmpdir(), 'turnstone-reach-'));
  // Tests start programs as other users, too.
  await chmod(folder, 0o1777);
  try {
    const order: Order = {
      changed,
      reach: { places, folder },
      tests: [],
      testTimeoutMs: TEST_WITHIN_MS,
      stopAtFailure: false,
    };
    const results = await Promise.all(
      hosts.map((host, at) => run(host, { ...order, tests: everyNth(missing, at, hosts.length) })),
    );
    const reaches = await readReaches(folder);
    const unfit = results
      .flat()
      .flatMap((result) => (result.failed ? [`${relative(root, result.file)}: ${result.because}`] : []));
    const sound = results.flat().filter((result) => !result.failed);
    const learned = sound.map((result) => ({
      ...result,
      hash: hashes.get(result.file) ?? '',
      reaches: reaches.filter((reach) => reach.test === result.file),
    }));
    const tests = [...upToDate, ...learned];
    await mkdir(join(root, 'build/mutate'), { recursive: true });
    await writeFile(keptIn, JSON.stringify({ hash, tests } satisfies KeptMap));
    return { tests, unfit, firstPlaces };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * The test files that can notice a mutant, in the order in which to ask them: its room's own first, the quick ones before the slow. What
 * runs only while a module is loaded is asked of the room's own alone.
 */
export function testsFor(mutant: Mutant, room: Room, { tests, firstPlaces }: TestMap): TestFileResult[] {
  const place = (firstPlaces.get(mutant.file) ?? 0) + mutant.place;
  const isOwn = (one: TestFileResult): boolean => one.file.includes(room.tests);
  return tests
    .filter((one) =>
      one.reaches.some(
        ({ inTests, whileLoading }) => inTests.includes(place) || (isOwn(one) && whileLoading.includes(place)),
      ),
    )
    .sort((a, b) => Number(isOwn(b)) - Number(isOwn(a)) || a.ms - b.ms);
}

async function run(host: TestHost, order: Order): Promise<readonly TestFileResult[]> {
  if (order.tests.length === 0) return [];
  const verdict = await host.carryOut(order, WHOLE_RUN_WITHIN_MS);
  const ended = verdict.files.map((one) => one.file);
  if (order.tests.some((test) => !ended.includes(test)))
    throw new Error(`the tests do not end without any mutant: ${verdict.because}`);
  return verdict.files;
}

async function markedSources(root: string, rooms: readonly Room[]) {
  const changed: Record<string, string> = {};
  const firstPlaces = new Map<string, number>();
  let places = 0;
  for (const file of rooms.flatMap((room) => room.files)) {
    const text = await readFile(join(root, file), 'utf8');
    changed[join(root, file)] = withMarks(text, places);
    firstPlaces.set(file, places);
    places += placesIn(text).length;
  }
  return { changed, firstPlaces, places };
}

async function readReaches(folder: string): Promise<Reach[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.json'));
  return Promise.all(names.map(async (name) => JSON.parse(await readFile(join(folder, name), 'utf8')) as Reach));
}

async function readKept(path: string): Promise<KeptMap | undefined> {
  const text = await readFile(path, 'utf8').catch(() => undefined);
  return text === undefined ? undefined : (JSON.parse(text) as KeptMap);
}

/** By absolute path. The tests of this runner are left out, and those that read the sources' text instead of running it. */
async function testHashes(root: string): Promise<Map<string, string>> {
  const hashes = new Map<string, string>();
  for await (const file of glob('{test/unit,test/field-cases,src}/**/*.test.ts', { cwd: root })) {
    if (!/architecture|scripts\/mutation/.test(file)) hashes.set(join(root, file), await hashOf(root, [file]));
  }
  return new Map([...hashes].sort(([a], [b]) => (a < b ? -1 : 1)));
}

async function hashOfAllButTests(root: string): Promise<string> {
  const files: string[] = [];
  for await (const file of glob('{src,test,scripts,config}/**/*.{ts,json,yaml,sh}', { cwd: root })) {
    if (!file.endsWith('.test.ts')) files.push(file);
  }
  return hashOf(root, files.sort());
}

async function hashOf(root: string, files: readonly string[]): Promise<string> {
  const hash = createHash('sha256');
  for (const file of files) hash.update(file).update(await readFile(join(root, file)));
  return hash.digest('hex');
}

function everyNth<T>(items: readonly T[], first: number, n: number): T[] {
  return items.filter((_, at) => at % n === first);
}
