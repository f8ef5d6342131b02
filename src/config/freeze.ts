/** Nobody changes a configuration: a new one is read, and what differs is reopened. */

export function freezeDeeply<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  Object.freeze(value);
  for (const member of Object.values(value)) freezeDeeply(member);
  return value;
}
