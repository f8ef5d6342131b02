/** Root's helper answering a request that changes the configuration, on a disk in memory: its own code, with timer and agent of a test. */
import { releasePaths } from '../../src/firmware/guard-state.ts';
import { answerRequest } from '../../src/firmware/release-swap.ts';
import { updateFiles } from '../../src/firmware/update-files.ts';
import type { Files } from '../../src/host/files.ts';
import { silentLog } from '../../src/host/log.ts';
import { lockedChanges } from '../../src/remote-config/locked.ts';
import { configure, isConfigurationOnTrial } from '../../src/remote-config/root/configure.ts';
import { settle } from '../../src/remote-config/root/end-trial.ts';
import type { RootConfigurationDeps } from '../../src/remote-config/root/root-deps.ts';
import type { MemoryFiles } from './memory-files.ts';

const PATHS = releasePaths();
const never = new AbortController().signal;

export interface RootConfigurationBench
  extends Pick<RootConfigurationDeps, 'file' | 'startTimer' | 'stopTimer' | 'renewAgent' | 'clock'> {
  readonly disk: MemoryFiles;
  /** The disk as this process of root's sees it, until it dies. */
  readonly seen: Files;
}

/** Answers the request that lies there. */
export async function answerConfigurationRequest(bench: RootConfigurationBench): Promise<void> {
  const { disk, seen, file, startTimer, stopTimer, renewAgent, clock } = bench;
  const files = updateFiles(seen);
  const deps: RootConfigurationDeps = {
    files,
    guardFolder: PATHS.guard,
    requestFolder: PATHS.firmware,
    file,
    userId: 0,
    ownerOf: async (path) => {
      const facts = await disk.facts(path);
      return facts?.kind === 'file' ? { userId: 0, groupId: 0, mode: facts.mode } : undefined;
    },
    asGroup: (_group, then) => then(),
    startTimer,
    stopTimer,
    renewAgent,
    lockedChanges,
    isReleaseOnTrial: async () => false,
    clock,
    log: silentLog,
  };
  await answerRequest(
    {
      files,
      paths: PATHS,
      settingsFolder: '/etc/turnstone',
      arch: 'x64',
      selfTest: async () => {},
      restartAgent: async () => {},
      reboot: async () => {},
      configuration: {
        configure: (request) => configure(deps, request),
        settle: (request) => settle(deps, request),
        isOnTrial: () => isConfigurationOnTrial(deps),
      },
      clock,
      log: silentLog,
    },
    never,
  );
}
