/** How what was handed on is kept: a promise where that takes a while, nothing where nothing is waited for. */

/** @throws AgentError when it was lost. */
export type Kept = Promise<void> | void;
/** Takes something, and may return how it is kept. */
export type Keeping<T> = ((taken: T) => void) | ((taken: T) => Kept);

/** A function that promises nothing may return anything. */
export function asKept(returned: unknown): Promise<void> | undefined {
  return returned instanceof Promise ? returned : undefined;
}
