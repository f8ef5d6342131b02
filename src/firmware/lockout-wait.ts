/**
 * While someone works on the machine, what the platform offers sets nothing in motion: no swap, which restarts the agent and moves safe states
 * on the way down and up, and no attached device's command. It is downloaded and verified all the same. What a person on site asked for goes on.
 */
import { lookAtGuard } from './swap-request.ts';
import type { Update } from './update-journal.ts';
import type { UpdateStep } from './update-states.ts';
import type { UpdaterDeps } from './updater-deps.ts';

const LOOK_EVERY_MS = 5_000;
const WHY = 'the machine is locked out: someone works on it';
/** Before the platform is told that it is being updated, and once more where a stop or a kill came in between. */
const HELD: ReadonlySet<UpdateStep> = new Set(['choose', 'request-swap', 'run-handler']);

export class LockoutWait {
  /** Why an update waits; undefined while none does. */
  reason: string | undefined;
  readonly #deps: UpdaterDeps;

  constructor(deps: UpdaterDeps) {
    this.#deps = deps;
  }

  /** Resolves when the step may be taken: false when the signal has aborted meanwhile. */
  async allows(step: UpdateStep, update: Update, isWithdrawn: () => boolean, signal: AbortSignal): Promise<boolean> {
    const { clock, locked } = this.#deps;
    if (!HELD.has(step) || update.source !== 'platform') return true;
    // What has come to an end, or was done already, is only noted by its step.
    const isMoot = async (): Promise<boolean> =>
      step === 'choose' ? isWithdrawn() : step === 'request-swap' && (await lookAtGuard(this.#deps, update)) !== undefined;
    try {
      while (locked() && !(await isMoot()) && !signal.aborted) {
        this.#tell(WHY, update);
        await clock.sleep(LOOK_EVERY_MS, signal);
      }
    } finally {
      this.#tell(undefined, update);
    }
    return !signal.aborted;
  }

  #tell(reason: string | undefined, { title, version }: Update): void {
    if (this.reason === reason) return;
    this.reason = reason;
    this.#deps.onWait(reason === undefined ? undefined : `the update to ${title} ${version} waits: ${reason}`);
  }
}
