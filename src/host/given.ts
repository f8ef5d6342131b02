/** Objects whose members may be missing, but are never undefined (`exactOptionalPropertyTypes`). */

/** The same type, in which each member that may be undefined may be missing instead. */
export type Given<T> = { readonly [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  readonly [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>;
};

/** Without the members that are undefined: `given({ name, unit: undefined })` is `{ name }`. */
export function given<T extends object>(members: T): Given<T> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as Given<T>;
}
