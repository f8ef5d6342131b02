/** Telemetry keys of an output beside its state, which has a key of its own in the configuration. */

/** Operating hours and starts of what is on or off. */
export function totalKeys(name: string): readonly [hours: string, starts: string] {
  return [`${name}Hours`, `${name}Starts`];
}
