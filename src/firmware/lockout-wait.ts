/**
 * While someone works on the machine, what the platform offers sets nothing in motion: no swap, which restarts the agent and moves safe states
 * on the way down and up, and no attached device's command; nor while something else holds it up, such as another device that is being updated. It is downloaded and verified all the same. What a person on site asked for goes
 * on, and what waits unbegun gives way to it.
 */
import { type AgentError, retryable } from '../errors/agent-error.ts';
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
  /** Id of the update that was given up because a person asked for another. */
  gaveWay: string | undefined;
  /** The update that waits and may still be given up: nobody was told that it is being installed. */
  #unbegun: { readonly id: string; readonly end: AbortController } | undefined;

  constructor(deps: UpdaterDeps) {
    this.#deps = deps;
  }

  get mayGiveWay(): boolean {
    return this.#unbegun !== undefined;
  }

  /** Gives up the update that waits; false when there is none that may be given up. */
  giveWay(): boolean {
    if (this.#unbegun === undefined) return false;
    this.gaveWay = this.#unbegun.id;
    this.#unbegun.end.abort();
    return true;
  }

  /** The answer to a person whose request cannot be taken now. */
  busy(): AgentError {
    const waits = this.reason === undefined ? '' : `, and waits: ${this.reason}`;
    return retryable('firmware/busy', `another update is under way${waits}`);
  }

  /** Resolves when the step may be taken: false when the signal has aborted meanwhile. */
  async allows(step: UpdateStep, update: Update, isWithdrawn: () => boolean, signal: AbortSignal): Promise<boolean> {
    const { clock, locked, holds } = this.#deps;
    const why = (): string | undefined => (locked() ? WHY : holds?.());
    if (!HELD.has(step) || update.source !== 'platform') return true;
    // When the update has ended or the step was done before, its step only notes that: no need to wait.
    const isMoot = async (): Promise<boolean> =>
      step === 'choose'
        ? isWithdrawn()
        : step === 'request-swap' && (await lookAtGuard(this.#deps, update)) !== undefined;
    const end = new AbortController();
    const ended = AbortSignal.any([signal, end.signal]);
    try {
      for (let reason = why(); reason !== undefined && !(await isMoot()) && !ended.aborted; reason = why()) {
        this.#tell(reason, update);
        if (step === 'choose') this.#unbegun = { id: update.id, end };
        await clock.sleep(LOOK_EVERY_MS, ended);
      }
    } finally {
      this.#unbegun = undefined;
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
