/** The ground on which root's part of a configuration from afar stands; the root helper's program gives it. */
import { basename, dirname, join } from 'node:path';
import type { UpdateFiles } from '../../firmware/update-files.ts';
import type { Clock } from '../../host/clock.ts';
import type { FileOwner } from '../../host/file-owner.ts';
import type { Log } from '../../host/log.ts';
import type { lockedChanges } from '../locked.ts';

export interface RootConfigurationDeps {
  readonly files: UpdateFiles;
  /** /var/lib/turnstone-guard, root's. */
  readonly guardFolder: string;
  /** The service's own folder, in which anything may lie. */
  readonly requestFolder: string;
  /** /etc/turnstone/turnstone.yaml. */
  readonly file: string;
  /** User of this process, to whom the file in place has to belong. */
  readonly userId: number;
  readonly ownerOf: (path: string) => Promise<FileOwner | undefined>;
  /** Makes the files of `act` with this group. */
  readonly asGroup: <T>(groupId: number, act: () => Promise<T>) => Promise<T>;
  /** Starts `boot-guard trial-over` in so many seconds, in the place of a timer that runs. Rejects when it cannot be started. */
  readonly startTimer: (seconds: number) => Promise<void>;
  /** No timer is no fault. */
  readonly stopTimer: () => Promise<void>;
  /** Has the agent take up the file in place: one that runs, or that has ended with 78. One that somebody has stopped stays so. */
  readonly renewAgent: (how: 'reload' | 'restart') => Promise<void>;
  /** Changes that may not come from afar. */
  readonly lockedChanges: typeof lockedChanges;
  readonly isReleaseOnTrial: () => Promise<boolean>;
  readonly clock: Pick<Clock, 'bootId' | 'monotonicMs' | 'wallMs'>;
  readonly log: Log;
}

/** The way back beside the file in place, under a name that no person and no editor gives. */
export function backPath({ file }: Pick<RootConfigurationDeps, 'file'>): string {
  return join(dirname(file), `.${basename(file)}.before-trial`);
}

/** The file that is about to come into place, beside it. */
export function stagedPath({ file }: Pick<RootConfigurationDeps, 'file'>): string {
  return join(dirname(file), `.${basename(file)}.on-trial`);
}
