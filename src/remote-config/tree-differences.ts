/** A configuration as plain values. */

/** Templates are expanded, variables of the environment are not. */
export type Tree = Readonly<Record<string, unknown>>;
