/**
 * Turns off rules of the rooms that hold promises, one at a time, and looks whether a unit test fails. What survives, ends by a time limit
 * or is reached by no test counts as not killed. Nothing is changed on disk; the whole result is left in build/mutate/result.json.
 *
 *   npm run mutate -- [--json] [--sample 400] [--seed N] [--room outbox] [--workers 2] [--at-least 0.85]
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { type MutationResult, reportLines, resultOf } from './mutation/mutation-report.ts';
import { type Mutant, mutantsOf, promisingRooms, type Room, sharesOf, shuffled } from './mutation/rooms.ts';
import { TestHost } from './mutation/test-host.ts';
import { learnTestMap } from './mutation/test-map.ts';
import { type Trial, tryMutants } from './mutation/try-mutants.ts';

const WHOLE_SAMPLE = 400;
/** A room that is small must show something too. */
const MIN_A_ROOM = 40;

export interface MutationOptions {
  readonly root: string;
  /** All rooms that are marked; mutants are drawn from `only`, or from all of them. */
  readonly rooms: readonly Room[];
  readonly only: string | undefined;
  readonly sample: number;
  readonly seed: number;
  readonly workers: number;
  readonly onTrial: (trial: Trial, done: number) => void;
}

export async function mutate({
  root,
  rooms,
  only,
  sample,
  seed,
  workers,
  onTrial,
}: MutationOptions): Promise<MutationResult> {
  const sinceMs = performance.now();
  const chosen = rooms.filter((room) => only === undefined || room.name === only);
  const mutants = new Map<Room, Mutant[]>();
  for (const room of chosen) mutants.set(room, await mutantsOf(root, room));
  const counts = new Map([...mutants].map(([room, all]) => [room.name, all.length]));
  const atLeast = Math.floor((MIN_A_ROOM * Math.min(sample, WHOLE_SAMPLE)) / WHOLE_SAMPLE);
  const shares = sharesOf(counts, sample, atLeast);
  const queues = [...mutants].map(([room, all]) => ({
    room,
    mutants: shuffled(all, seed),
    share: shares.get(room.name) ?? 0,
  }));

  const hosts = Array.from({ length: workers }, () => new TestHost(root));
  // A signal ends the hosts too: they are groups of their own.
  const closeAll = (): void => void Promise.all(hosts.map((host) => host.close())).finally(() => process.exit(130));
  process.once('SIGINT', closeAll).once('SIGTERM', closeAll);
  try {
    const map = await learnTestMap(root, rooms, hosts);
    let done = 0;
    const { trials, unloadable, controls } = await tryMutants(
      { root, map, hosts, onTrial: (trial) => onTrial(trial, ++done) },
      queues,
    );
    const files = chosen.flatMap((room) => room.files);
    const texts = new Map(
      await Promise.all(files.map(async (file) => [file, await readFile(join(root, file), 'utf8')] as const)),
    );
    const seconds = Math.round((performance.now() - sinceMs) / 1000);
    return resultOf(trials, { seed, seconds, unloadable, controls, unfit: map.unfit, counts, texts });
  } finally {
    process.off('SIGINT', closeAll).off('SIGTERM', closeAll);
    await Promise.all(hosts.map((host) => host.close()));
  }
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      json: { type: 'boolean', default: false },
      sample: { type: 'string', default: String(WHOLE_SAMPLE) },
      seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 32)) },
      room: { type: 'string' },
      workers: { type: 'string', default: String(Math.min(2, availableParallelism())) },
      'at-least': { type: 'string', default: '0' },
    },
  });
  const root = resolve(import.meta.dirname, '..');
  const rooms = await promisingRooms(root);
  if (values.room !== undefined && rooms.every((room) => room.name !== values.room))
    throw new Error(`--room is one of ${rooms.map((room) => room.name).join(', ')}`);
  const seed = wholeNumber('--seed', values.seed, 0);
  console.error(`seed ${seed}`);
  const result = await mutate({
    root,
    rooms,
    only: values.room,
    sample: wholeNumber('--sample', values.sample, 1),
    seed,
    workers: wholeNumber('--workers', values.workers, 1),
    onTrial: ({ mutant, outcome, ms }, done) =>
      console.error(`${done}  ${outcome}  ${mutant.file}:${mutant.line} ${mutant.operator}  ${Math.round(ms)} ms`),
  });
  await mkdir(join(root, 'build/mutate'), { recursive: true });
  await writeFile(join(root, 'build/mutate/result.json'), JSON.stringify(result, null, 1));
  if (values.json) console.log(JSON.stringify(result));
  else for (const line of reportLines(result)) console.log(line);
  if (result.score < Number(values['at-least'])) process.exitCode = 1;
}

function wholeNumber(option: string, text: string, least: number): number {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= least) return value;
  throw new Error(`${option} is a whole number from ${least}, not ${text}`);
}

if (process.argv[1] === import.meta.filename) await main();
