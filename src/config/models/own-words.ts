/** Words of a sensor's own over those of its model or preset: key by key and word by word, so that `{ unit: kW }` alone keeps the rest. */
type Mapping = Readonly<Record<string, unknown>>;

/** Returns the same with the sensor's own words; what is no mapping stands as it is, for its fault to be told. */
export function withOwnWords(given: Mapping, own: unknown): unknown {
  if (own === undefined) return given;
  if (!isMapping(own)) return own;
  const merged = Object.entries(own).map(([key, words]) => {
    const ofGiven = Object.hasOwn(given, key) ? given[key] : undefined;
    return [key, isMapping(ofGiven) && isMapping(words) ? { ...ofGiven, ...words } : words] as const;
  });
  return { ...given, ...Object.fromEntries(merged) };
}

export function isMapping(value: unknown): value is Mapping {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
