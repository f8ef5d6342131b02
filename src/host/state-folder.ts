/**
 * The state folder, taken for this one agent: at the start, or, where the disk does not let it, whenever somebody tries again. Until then
 * nothing of the outbox is touched; what may be lived without is lived without. The run folder, which lies in memory, is taken beside it: it
 * keeps two agents from the same outputs where the disk keeps nothing apart.
 */
import { hasCode } from '../errors/agent-error.ts';
import { sentence } from '../names/sentences.ts';
import { toldBy } from '../names/told-error.ts';
import type { Alerts } from './alert-list.ts';
import { endedWithin } from './bounded-wait.ts';
import type { HostMachine } from './machine.ts';
import { joinedWhileUnderWay } from './shared-work.ts';
import type { Held } from './state-lock.ts';

export interface StateFolderDeps {
  readonly path: string;
  readonly runFolder: string;
  readonly machine: Pick<HostMachine, 'files' | 'takeLock' | 'clock'>;
  readonly alerts: Alerts;
  /** Another agent took it while this one could not. */
  readonly onTaken: () => void;
}

const ALERT = 'state-folder';
/** Nothing is switched before: the outputs wait no longer for a disk that does not answer. */
const TAKE_WITHIN_MS = 2_000;

export class StateFolder {
  readonly #deps: StateFolderDeps;
  #lock: Held | undefined;
  readonly #takeLock = joinedWhileUnderWay(() => this.#takeNow());
  #isClosed = false;
  #runLock: Held | undefined;

  private constructor(deps: StateFolderDeps) {
    this.#deps = deps;
  }

  /** Tried once; what the disk says is an alert, and that it says nothing. @throws AgentError `host/already-running` (stop). */
  static async open(deps: StateFolderDeps): Promise<StateFolder> {
    const folder = new StateFolder(deps);
    const unlessTaken = (error: unknown): void => {
      if (hasCode(error, 'host/already-running')) throw error;
    };
    try {
      const taken = folder.#takeLock().catch(unlessTaken);
      if (await endedWithin(deps.machine.clock, TAKE_WITHIN_MS, taken)) await taken;
      else folder.#waitFor(taken);
      await folder.#takeRunFolder().catch(unlessTaken);
    } catch (error) {
      await folder.close();
      throw error;
    }
    return folder;
  }

  /** Resolves when it is this agent's. @throws what the disk says, or as `open`. */
  async expectTaken(): Promise<void> {
    if (this.#lock !== undefined) return;
    await this.#takeLock().catch((error: unknown) => {
      if (hasCode(error, 'host/already-running')) this.#deps.onTaken();
      throw error;
    });
  }

  /** Idempotent. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#lock?.close();
    await this.#runLock?.close();
  }

  /** Makes and locks the run folder; its other faults are found by the control sockets. */
  async #takeRunFolder(): Promise<void> {
    const { runFolder, machine } = this.#deps;
    await machine.files.makeFolder(runFolder, 0o755);
    this.#runLock = await machine.takeLock(runFolder);
  }

  /** A disk that does not answer at the start may do so later, and say then that another agent has it. */
  #waitFor(taken: Promise<void>): void {
    this.#deps.alerts.raise(ALERT, sentence('stateFolderSilent'));
    taken.catch(() => this.#deps.onTaken());
  }

  async #takeNow(): Promise<void> {
    const { path, machine, alerts } = this.#deps;
    try {
      await machine.files.makeFolder(path);
      const lock = await machine.takeLock(path);
      if (this.#isClosed) return await lock.close();
      this.#lock = lock;
      alerts.clear(ALERT);
    } catch (error) {
      alerts.raise(ALERT, sentence('stateFolderRefused', { why: toldBy(error) }));
      throw error;
    }
  }
}
