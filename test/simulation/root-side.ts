/**
 * Root's side of a world whose configuration may be changed from afar: the helper that a request starts, the boot guard before and after each
 * life of the agent, and the timer of a trial. Root's parts are the real ones; the guard is the model that one table holds to the real script.
 */
import { messageOf } from '../../src/errors/agent-error.ts';
import { HELPER_NAME, REQUEST_NAME, releasePaths } from '../../src/firmware/guard-state.ts';
import { updateFiles } from '../../src/firmware/update-files.ts';
import type { GuardTurn, Renewal } from '../support/config-trial-table.ts';
import { takeGuardTurn } from '../support/guard-on-files.ts';
import type { MemoryFiles } from '../support/memory-files.ts';
import { answerConfigurationRequest } from '../support/root-configuration.ts';
import type { BoardClock } from './board-clock.ts';
import { CONFIG_FILE } from './configuration.ts';
import { Mortality } from './mortal.ts';
import type { Story } from './story.ts';
import type { Timeline } from './timeline.ts';

export const RELEASE_PATHS = releasePaths();
const REQUEST = `${RELEASE_PATHS.firmware}/${REQUEST_NAME}`;
/** The path unit sees a request, and the helper has started. */
const HELPER_STARTS_MS = 300;
const LOOK_EVERY_MS = 1_000;
/** systemd's limit for what runs before and after the agent. */
const GUARD_TIMEOUT_MS = 60_000;

export interface RootSideDeps {
  readonly timeline: Timeline;
  readonly disk: MemoryFiles;
  readonly story: Story;
  /** Clock of the present boot. */
  readonly clock: () => BoardClock;
  readonly isPowered: () => boolean;
  readonly reload: () => void;
  /** Restarts the agent; one that does not run is started by somebody else. */
  readonly restart: () => void;
  /** Told after each step of root's on the disk. */
  readonly onStep: () => void;
  /** Told of each time that the agent is to take a file up. */
  readonly onRenewal: (how: 'reload' | 'restart') => void;
}

export class RootSide {
  readonly #deps: RootSideDeps;
  readonly #processes = new Set<Mortality>();
  #cancelTimer = (): void => {};
  #isHelping = false;

  constructor(deps: RootSideDeps) {
    this.#deps = deps;
    deps.disk.put(`${RELEASE_PATHS.home}/guard/${HELPER_NAME}`, '');
    this.#lookLater();
  }

  /** Before each life of the agent. */
  beforeStart(): Promise<void> {
    return this.#guard('starting');
  }

  /** After each life that the power did not end. */
  afterEnd(exitStatus: number): Promise<void> {
    return this.#guard('stopped', exitStatus);
  }

  cutPower(): void {
    for (const process of this.#processes) process.kill();
    this.#processes.clear();
    this.#isHelping = false;
    this.#cancelTimer();
  }

  /** The path unit starts the helper while a request lies there. */
  #lookLater(): void {
    const { timeline, disk, isPowered } = this.#deps;
    timeline.after(LOOK_EVERY_MS, () => {
      this.#lookLater();
      if (this.#isHelping || !isPowered() || !disk.isThereNow(REQUEST)) return;
      this.#isHelping = true;
      void this.#asRoot('the helper', async (process) => {
        await timeline.wait(HELPER_STARTS_MS);
        if (!process.isDead) await this.#answer(process);
      }).then(() => {
        this.#isHelping = false;
      });
    });
  }

  #guard(turn: GuardTurn, exitStatus?: number): Promise<void> {
    const { clock, timeline } = this.#deps;
    const turned = this.#asRoot(`the guard, ${turn}`, (process) =>
      takeGuardTurn(
        {
          files: updateFiles(this.#files(process)),
          guardFolder: RELEASE_PATHS.guard,
          file: CONFIG_FILE,
          bootId: clock().bootId,
          wallMs: () => clock().wallMs(),
          renew: (how) => this.#renewByGuard(how),
          stopTimer: () => this.#cancelTimer(),
        },
        turn,
        exitStatus,
      ),
    );
    return Promise.race([turned, timeline.wait(GUARD_TIMEOUT_MS)]);
  }

  #renewByGuard(_how: Renewal): void {
    this.#renew('restart');
  }

  #renew(how: 'reload' | 'restart'): void {
    const { story, reload, restart, onRenewal } = this.#deps;
    story.tell(`root has the agent ${how}`);
    onRenewal(how);
    if (how === 'reload') reload();
    else restart();
  }

  async #answer(process: Mortality): Promise<void> {
    const { timeline, clock, disk, isPowered } = this.#deps;
    const act = async (what: () => void): Promise<void> => {
      if (!process.isDead) what();
    };
    await answerConfigurationRequest({
      disk,
      seen: this.#files(process),
      file: CONFIG_FILE,
      startTimer: (seconds) =>
        act(() => {
          this.#cancelTimer();
          this.#cancelTimer = timeline.after(seconds * 1_000, () => {
            if (isPowered()) void this.#guard('trial-over');
          });
        }),
      stopTimer: () => act(() => this.#cancelTimer()),
      renewAgent: (how) => act(() => this.#renew(how)),
      clock: clock(),
    });
  }

  /** The disk as a process of root's sees it. */
  #files(process: Mortality): MemoryFiles {
    const { disk, onStep } = this.#deps;
    const seen = new Proxy(disk, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== 'function') return value;
        return (...args: unknown[]): unknown => {
          const result: unknown = Reflect.apply(value, target, args);
          return result instanceof Promise ? result.finally(onStep) : result;
        };
      },
    });
    return process.bind(seen);
  }

  /** Runs a process of root's until it is done; one that fails ends, and the service manager goes on. */
  async #asRoot(name: string, act: (process: Mortality) => Promise<void>): Promise<void> {
    const process = new Mortality();
    this.#processes.add(process);
    try {
      await act(process);
    } catch (error) {
      this.#deps.story.tell(`${name} fails: ${messageOf(error)}`);
    } finally {
      this.#processes.delete(process);
    }
  }
}
