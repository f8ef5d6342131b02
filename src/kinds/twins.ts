/** Loads every kind's twin, for who builds a simulated board. */
import type { Twin, Twins } from '../stand-ins/simulated-board/twin.ts';
import { SENSOR_KINDS } from './sensor-kinds.ts';

export async function loadTwins(): Promise<Twins> {
  const loaded = SENSOR_KINDS.map(
    async ({ kind, twin }): Promise<readonly (readonly [string, Twin])[]> =>
      twin === undefined ? [] : [[kind, (await twin()).twin]],
  );
  return new Map((await Promise.all(loaded)).flat());
}
