/** Trouble of any kind: drawn by its weight, told as it comes, and over by itself. */
import type { Chance } from '../chance.ts';
import type { World } from '../world.ts';

export const SECOND_MS = 1_000;
export const MINUTE_MS = 60_000;
export const HOUR_MS = 3_600_000;

/** One trouble as it comes. */
export interface Stroke {
  readonly world: World;
  readonly chance: Chance;
  /** By then it has ended what it began. */
  readonly untilMs: number;
}

export interface Trouble {
  readonly name: string;
  /** How often, beside the others. */
  readonly weight: number;
  readonly befall: (stroke: Stroke) => void;
}

/** Tells it, begins it, and ends it after a while, of half a second to `maxMs`; `begin` returns what ends it. */
export function lasting(stroke: Stroke, words: string, maxMs: number, begin: () => () => unknown): void {
  const { world, chance } = stroke;
  const ms = within(stroke, chance.magnitude(500, maxMs));
  world.story.tell(`${words}, for ${Math.round(ms / SECOND_MS)} s`);
  const end = begin();
  world.timeline.after(ms, () => {
    world.story.tell(`over: ${words}`);
    end();
  });
}

/** So long, or what is left until the calm. */
export function within({ world, untilMs }: Stroke, ms: number): number {
  return Math.max(0, Math.min(ms, untilMs - world.timeline.nowMs));
}
