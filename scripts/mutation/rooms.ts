/**
 * The rooms that hold promises, and the drawing of mutants from them. Boot guard and installer are shell scripts and are left out: the
 * operators know TypeScript only.
 */
import { glob, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Operator, placesIn } from './places.ts';

export interface Room {
  readonly name: string;
  /** Relative to the project's root. */
  readonly files: readonly string[];
  /** Part of the paths of the room's own tests, which are run before others. */
  readonly tests: string;
}

export interface Mutant {
  readonly room: string;
  readonly file: string;
  readonly line: number;
  readonly operator: Operator;
  /** The changed range of the file's text and what it becomes. */
  readonly start: number;
  readonly end: number;
  readonly text: string;
  /** The mark, in the text that records which places are reached, of the place where this is. */
  readonly place: number;
}

/** Files that run as root, apart from the agent's own side of an update. */
const ROOT_HELPER = ['scripts/root-helper.ts', 'src/firmware/release-swap.ts', 'src/firmware/release-folder.ts'];
const SOURCE_ROOMS = ['outbox', 'rpc', 'actuators', 'firmware', 'devices', 'telemetry'];

export async function promisingRooms(root: string): Promise<Room[]> {
  const rooms: Room[] = [];
  for (const name of SOURCE_ROOMS) {
    const files: string[] = [];
    for await (const file of glob(`src/${name}/**/*.ts`, { cwd: root }))
      if (!ROOT_HELPER.includes(file) && !file.endsWith('.test.ts')) files.push(file);
    rooms.push({ name, files: files.sort(), tests: `/${name}/` });
  }
  return [...rooms, { name: 'root-helper', files: ROOT_HELPER, tests: '/firmware/' }];
}

/** All mutants of a room, in the order of its text. */
export async function mutantsOf(root: string, room: Room): Promise<Mutant[]> {
  const found: Mutant[] = [];
  for (const file of room.files) {
    const places = placesIn(await readFile(join(root, file), 'utf8'));
    for (const [place, { line, changes }] of places.entries()) {
      for (const change of changes) found.push({ room: room.name, file, line, place, ...change });
    }
  }
  return found;
}

/** How many of each room's mutants make a sample of `size`: from each room `atLeast` or all it has, the others in proportion. */
export function sharesOf(counts: ReadonlyMap<string, number>, size: number, atLeast: number): Map<string, number> {
  const shares = new Map([...counts].map(([room, count]) => [room, Math.min(count, atLeast)]));
  let left = size - [...shares.values()].reduce((sum, share) => sum + share, 0);
  for (; left > 0; left--) {
    // One more for the room that is furthest below its part.
    const [neediest] = [...counts]
      .map(([room, count]) => ({ room, count, share: shares.get(room) ?? 0 }))
      .filter(({ count, share }) => share < count)
      .sort((a, b) => a.share / a.count - b.share / b.count);
    if (neediest === undefined) break;
    shares.set(neediest.room, neediest.share + 1);
  }
  return shares;
}

/** The same order for the same seed, everywhere. */
export function shuffled<T>(items: readonly T[], seed: number): T[] {
  const order = [...items];
  const random = numbersFrom(seed);
  for (let at = order.length - 1; at > 0; at--) {
    const other = Math.floor(random() * (at + 1));
    [order[at], order[other]] = [order[other] as T, order[at] as T];
  }
  return order;
}

/** Numbers from 0 to below 1 (mulberry32). */
function numbersFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
