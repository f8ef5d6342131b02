/** `Map.prototype.getOrInsertComputed` of ECMAScript 2026, which Node 24 does not have yet. */

interface Inserted<Key, Value> {
  get(key: Key): Value | undefined;
  set(key: Key, value: Value): unknown;
}

export function getOrInsert<Key, Value>(map: Inserted<Key, Value>, key: Key, make: () => Value): Value {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}
