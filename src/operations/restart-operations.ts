/** Methods that begin the process or the machine anew. Safe states move on the way down and up, so lockout holds these back too. */
import { type OperationsOn, QUESTION } from './operation.ts';

export interface Restarts {
  /** Begins an orderly end of the process, which systemd starts again. */
  readonly restart: () => void;
  /** Rejects with the reason where nobody would carry a reboot out. */
  readonly expectReboots: () => Promise<void>;
  readonly reboot: () => void;
}

const ACCEPTED = { accepted: true } as const;
const END = { ...QUESTION, effect: 'move', moves: true, run: () => ACCEPTED } as const;

export const RESTART_OPERATIONS: OperationsOn<Restarts> = {
  restart: ({ restart }) => ({
    ...END,
    description: 'Restarts the agent once the reply is sent.',
    afterReply: restart,
  }),
  reboot: ({ expectReboots, reboot }) => ({
    ...END,
    description: 'Reboots the machine once the reply is sent.',
    run: async () => {
      await expectReboots();
      return ACCEPTED;
    },
    afterReply: reboot,
  }),
};
