/** Loops that live and end together: started again as one, none of them may be left over from the time before. */

/**
 * Runs them until all have ended. When one fails, the others are told to end by their own signal, and are waited for.
 * @throws the first failure.
 */
export async function runTogether(loops: readonly ((signal: AbortSignal) => Promise<void>)[], signal: AbortSignal): Promise<void> {
  const failed = new AbortController();
  const either = AbortSignal.any([signal, failed.signal]);
  await Promise.all(loops.map((loop) => loop(either).catch((error: unknown) => failed.abort(error))));
  if (failed.signal.aborted) throw failed.signal.reason;
}
