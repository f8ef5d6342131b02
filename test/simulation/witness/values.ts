/** Values that are not reported as they came: converted by words of their key, and made of others by an expression. */
import type { JsonValue } from '../../../src/values/json.ts';
import { CONVERTED, CONVERTER, COUNT, MADE } from '../measures.ts';
import type { World } from '../world.ts';
import { few, type Sentence, seconds } from './sentence.ts';

/** Binary fractions are as near. */
const NOISE = 1e-9;
const DEVICE = 'self';

export const VALUES: readonly Sentence[] = [
  { name: 'a converted value is what its words make of the number that came', contradictions: converted },
  { name: 'a value that is made of others is their function, of their time', contradictions: made },
];

/** Values of one time of one boot, by key. */
interface Row {
  readonly atMs: number;
  readonly boot: string;
  readonly values: Map<string, JsonValue>;
}

function converted(world: World): string[] {
  return few(
    rowsOf(world, Object.keys(CONVERTED)).flatMap(({ atMs, values }) => {
      const count = values.get(COUNT);
      return Object.entries(CONVERTED).flatMap(([key, { model }]) => {
        const value = values.get(key);
        if (typeof count !== 'number')
          return value === undefined ? [] : [`${key} is ${String(value)} at ${seconds(atMs)}, and no number came then`];
        const due = model(count);
        return isSame(value, due) || (value === undefined && mayBeMissing(world))
          ? []
          : [`${key} is ${String(value)} at ${seconds(atMs)}, and ${String(due)} by the ${count} that came`];
      });
    }),
  );
}

function made(world: World): string[] {
  const rows = rowsOf(world, Object.keys(MADE));
  return few(
    rows.flatMap(({ atMs, boot, values }, n) => {
      const previous = rows[n - 1];
      const isNext = previous?.boot === boot && !wasForgotten(world, previous.atMs, atMs);
      const [count, scaled, bent] = [COUNT, 'scaled', 'bent'].map((key) => values.get(key));
      return Object.entries(MADE).flatMap(([key, { model }]) => {
        const value = values.get(key);
        if (typeof count !== 'number' || typeof scaled !== 'number' || typeof bent !== 'number')
          return value === undefined || mayBeMissing(world)
            ? []
            : [`${key} is ${String(value)} at ${seconds(atMs)}, and nothing came then that it could be made of`];
        const earlier = isNext ? previous.values.get(COUNT) : undefined;
        const before = typeof earlier === 'number' ? earlier : undefined;
        const due = model({ count, scaled, bent, before });
        // What a difference goes by need not be known outside, and be it by a life that has ended.
        const isUnknown = (value === undefined || due === undefined) && !(isNext && previous.values.has(key));
        return isSame(value, due) || isUnknown || mayBeMissing(world)
          ? []
          : [`${key} is ${String(value)} at ${seconds(atMs)}, and ${String(due)} by the ${count} of then`];
      });
    }),
  );
}

/** Rows that have the number that came, or any of the keys, oldest first. */
function rowsOf(world: World, keys: readonly string[]): Row[] {
  const shown = new Set([COUNT, 'scaled', 'bent', ...keys]);
  const rows = new Map<string, Row>();
  if (!world.site.config.sensors.some(({ name }) => name === CONVERTER)) return [];
  for (const { entry, takenAtMs } of world.durable) {
    if (entry.device !== DEVICE || !shown.has(entry.key)) continue;
    const at = `${entry.bootId} ${entry.monotonicMs}`;
    const row = rows.get(at) ?? { atMs: takenAtMs, boot: entry.bootId, values: new Map() };
    rows.set(at, row);
    row.values.set(entry.key, entry.value);
  }
  return [...rows.values()].sort((a, b) => a.atMs - b.atMs);
}

/** A disk that fails, or is full, may take some of a row. */
function mayBeMissing({ disk, fills }: World): boolean {
  return disk.wasFaulty || fills.length > 0;
}

/** A life ended between the two, or a technician had taken one of the sensors out. */
function wasForgotten({ lives, configuration }: World, fromMs: number, untilMs: number): boolean {
  return (
    lives.ends.some((endMs) => endMs >= fromMs && endMs <= untilMs) ||
    configuration.isWithout(CONVERTER, fromMs, untilMs) ||
    configuration.isWithout('made', fromMs, untilMs)
  );
}

function isSame(value: JsonValue | undefined, due: number | string | undefined): boolean {
  if (typeof value !== 'number' || typeof due !== 'number') return value === due;
  return Math.abs(value - due) <= NOISE * Math.max(1, Math.abs(due));
}
