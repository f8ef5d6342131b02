/** When an output was on, and when nobody could have switched it: both as stretches of the world's time. */
import type { World } from '../world.ts';

export interface OnTime {
  readonly fromMs: number;
  readonly untilMs: number;
}

/** Oldest first; one that is on as the world ends is on until then. */
export function onTimes(world: World, line: string): OnTime[] {
  const times: OnTime[] = [];
  let since: number | undefined;
  for (const { atMs, on } of [...world.movesOf(line), { atMs: world.timeline.nowMs, on: false }]) {
    if (on) since ??= atMs;
    else if (since !== undefined) {
      times.push({ fromMs: since, untilMs: atMs });
      since = undefined;
    }
  }
  return times;
}

/** How long it was on while something could have been done about it, ms. */
export function blamelessMs(world: World, { fromMs, untilMs }: OnTime): number {
  return untilMs - fromMs - world.hinderedMs(fromMs, untilMs);
}

export function isOnAt(world: World, line: string, atMs: number): boolean {
  return world.movesOf(line).findLast((move) => move.atMs <= atMs)?.on === true;
}

/** True when it was on (or off) at some time of the stretch. */
export function was(world: World, line: string, on: boolean, { fromMs, untilMs }: OnTime): boolean {
  return (
    isOnAt(world, line, fromMs) === on ||
    world.movesOf(line).some((move) => move.on === on && move.atMs >= fromMs && move.atMs <= untilMs)
  );
}
