/** Operations on updates of the agent itself, as somebody at the device asks for them. */
import type { UpdaterStatus } from '../firmware/updater-status.ts';
import { memberOf, type OperationsOn, objectOf, QUESTION, SITE_CHANGE, textOf } from './operation.ts';

/** Each that changes something @throws AgentError `firmware/disabled` (drop) where updates are switched off. */
export interface FirmwareControl {
  status(): UpdaterStatus;
  /** Folder that a release is handed over in. */
  readonly inbox: string;
  /** Asks the platform for its offer at once. */
  check(signal: AbortSignal): Promise<void>;
  /** Begins to install the release in a file. */
  install(path: string, signal: AbortSignal): Promise<void>;
  /** Goes back to a release, by default the one before; resolves to its version. @throws AgentError `firmware/no-release` (drop). */
  rollBack(version: string | undefined, signal: AbortSignal): Promise<string>;
}

export const FIRMWARE_OPERATIONS: OperationsOn<FirmwareControl> = {
  firmwareStatus: (firmware) => ({
    ...QUESTION,
    description: 'The update that is under way, and those before it.',
    askers: ['viewer'],
    run: () => firmware.status(),
  }),
  firmwareInbox: ({ inbox }) => ({
    ...QUESTION,
    description: 'Where a release is handed over.',
    askers: ['viewer'],
    run: () => ({ folder: inbox }),
  }),
  firmwareCheck: (firmware) => ({
    ...SITE_CHANGE,
    description: 'Asks the platform for its offer at once.',
    run: async (_params, { signal }) => {
      await firmware.check(signal);
      return firmware.status();
    },
  }),
  firmwareInstall: (firmware) => ({
    ...SITE_CHANGE,
    description: 'Installs the release in a file.',
    params: objectOf({ path: { type: 'string' } }),
    run: async (params, { signal }) => {
      await firmware.install(textOf(params, 'path'), signal);
      return firmware.status();
    },
  }),
  firmwareRollback: (firmware) => ({
    ...SITE_CHANGE,
    description: 'Goes back to a release that is kept, by default the one before.',
    params: objectOf({ version: { type: 'string' } }, []),
    run: async (params, { signal }) => {
      const version = memberOf(params, 'version');
      return { version: await firmware.rollBack(version === null ? undefined : String(version), signal) };
    },
  }),
};
