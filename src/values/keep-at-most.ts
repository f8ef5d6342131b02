/** Bounds a map whose keys come from outside: what was put in first goes first. */
export function keepAtMost(map: Map<unknown, unknown>, most: number): void {
  for (const oldest of map.keys()) {
    if (map.size <= most) break;
    map.delete(oldest);
  }
}
