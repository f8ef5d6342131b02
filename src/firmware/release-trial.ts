/**
 * Judges a new release. It is confirmed after its first acknowledged upload and a time of health. Time counts against it only
 * while the platform can be reached, or while it is unwell itself: a dead link is no fault of a release, for a day.
 */
import type { AgentRelease, StepOutcome, UpdaterDeps } from './updater-deps.ts';

const LOOK_EVERY_MS = 1_000;

/** Watches until the release has proved itself or has had its time; undefined when the signal ended the watch. */
export async function proveRelease(
  {
    clock,
    config: { confirm },
    vitals,
  }: Pick<UpdaterDeps, 'clock'> &
    Pick<AgentRelease, 'vitals'> & { readonly config: Pick<UpdaterDeps['config'], 'confirm'> },
  signal: AbortSignal,
): Promise<StepOutcome<'healthy' | 'unfit'> | undefined> {
  let lastMs = clock.monotonicMs();
  let healthyMs = 0;
  let countedMs = 0;
  let heldMs = 0;
  while (!signal.aborted) {
    await clock.sleep(LOOK_EVERY_MS, signal);
    const passedMs = clock.monotonicMs() - lastMs;
    lastMs += passedMs;
    const { uploaded, reachable, fault } = vitals();
    healthyMs = uploaded && fault === undefined ? healthyMs + passedMs : 0;
    if (healthyMs >= confirm.healthyForMs) return { event: 'healthy' };
    if (reachable || fault !== undefined) countedMs += passedMs;
    else heldMs += passedMs;
    const why = fault ?? (uploaded ? 'it was never well for long enough' : 'no upload was acknowledged');
    if (countedMs > confirm.deadlineMs)
      return { event: 'unfit', reason: `${why} within ${minutes(confirm.deadlineMs)} minutes` };
    if (countedMs + heldMs > confirm.unreachableHoldMs)
      return {
        event: 'unfit',
        reason: `the platform was out of reach for ${minutes(confirm.unreachableHoldMs)} minutes`,
      };
  }
  return undefined;
}

function minutes(ms: number): number {
  return Math.round(ms / 60_000);
}
