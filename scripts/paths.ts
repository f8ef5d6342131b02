/**
 * Counts the files of `src` that a reading of a BME280 runs through until it is acknowledged, and a command until its pin has moved:
 * `node scripts/paths.ts [--list]`. A file counts where one of its functions ran that had not run while nothing happened.
 *
 * The agent lives in a simulated world in this process, so that each stretch of time holds what it is about and nothing else.
 */
import { Session } from 'node:inspector/promises';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { warmUp } from '../test/simulation/live.ts';
import { People } from '../test/simulation/people.ts';
import { World } from '../test/simulation/world.ts';

const ROOT = resolve(import.meta.dirname, '..');
const SRC = join(ROOT, 'src/');
/** They stand for the world outside. */
const OUTSIDE = /^src\/stand-ins\/|\/twin\.ts$/;
const SEED = 1;
const STEP_MS = 50;
const STARTED_MS = 5 * 60_000;
/** Shorter than the period of the only sensor, so that it is idle after an acknowledgement. */
const IDLE_MS = 5_000;
const WITHIN_MS = 60_000;

const { values } = parseArgs({ options: { list: { type: 'boolean', default: false } } });
await warmUp();
const session = new Session();
session.connect();
await session.post('Profiler.enable');
const world = await World.make(SEED, { sensors: 1 });
const people = new People(world);
world.powerOn();
await world.timeline.runUntil(STARTED_MS);
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
await untilAcknowledged();
await ran();
await runFor(IDLE_MS);
const idle = await ran();
await untilAcknowledged();
const reading = filesOf(await ran());
await runFor(IDLE_MS);
for (const one of await ran()) idle.add(one);
const moves = movesOfMotor();
people.probe('setActuator', { name: 'motorUp', value: true });
await until('the pin moves', () => movesOfMotor() > moves);
const command = filesOf(await ran());
await world.close();
tell('from a BME280 reading to its acknowledgement', reading);
tell('from an RPC to its pin', command);
process.exit(0);

function tell(what: string, files: readonly string[]): void {
  console.log(`${String(files.length).padStart(4)} files ${what}`);
  if (values.list) for (const file of files) console.log(`       ${file}`);
}

/** Files in which a function ran that is not among the idle ones. */
function filesOf(functions: ReadonlySet<string>): readonly string[] {
  const files = [...functions].filter((one) => !idle.has(one)).map((one) => one.slice(0, one.indexOf(' ')));
  return [...new Set(files)].sort();
}

/** Functions of `src` that ran since the last call, each as its file and where in it it stands. */
async function ran(): Promise<Set<string>> {
  const { result } = await session.post('Profiler.takePreciseCoverage');
  const scripts = result.filter(({ url }) => url.startsWith('file:') && fileURLToPath(url).startsWith(SRC));
  const functions = scripts.flatMap(({ url, functions: all }) => {
    const file = fileURLToPath(url).slice(ROOT.length + 1);
    return all
      .flatMap(({ ranges }) => ranges.slice(0, 1))
      .filter(({ count }) => count > 0)
      .map(({ startOffset }) => `${file} ${startOffset}`);
  });
  return new Set(functions.filter((one) => !OUTSIDE.test(one.slice(0, one.indexOf(' ')))));
}

function movesOfMotor(): number {
  return world.movesOf('gpiochip0:20').length;
}

async function untilAcknowledged(): Promise<void> {
  const { uploadedAtMs } = world.network.outcomes;
  await until('an acknowledgement', () => world.network.outcomes.uploadedAtMs > uploadedAtMs);
}

async function runFor(ms: number): Promise<void> {
  await world.timeline.runUntil(world.timeline.nowMs + ms);
}

async function until(what: string, isSo: () => boolean): Promise<void> {
  const endMs = world.timeline.nowMs + WITHIN_MS;
  while (!isSo()) {
    if (world.timeline.nowMs >= endMs) throw new Error(`${what}: not within ${WITHIN_MS} ms`);
    await runFor(STEP_MS);
  }
}
