/** The agent's two local sockets, with what may be asked for on them. */
import { hasCode } from '../errors/agent-error.ts';
import type { Alerts } from '../host/alert-list.ts';
import type { Log } from '../host/log.ts';
import type { HostMachine } from '../host/machine.ts';
import type { Held } from '../host/state-lock.ts';
import { sentence } from '../names/sentences.ts';
import { toldBy } from '../names/told-error.ts';
import type { LocalDoorDeps } from '../operations/local-door.ts';
import type { ControlServerDeps } from './control-server.ts';

export interface ControlSocketsDeps {
  readonly runFolder: string;
  readonly machine: Pick<HostMachine, 'clock' | 'files'> & {
    readonly listen: (deps: ControlServerDeps, signal: AbortSignal) => Promise<Held>;
  };
  readonly log: Log;
  readonly alerts: Alerts;
  readonly door: LocalDoorDeps;
}

const ALERT = 'control-socket';
const LISTEN_AGAIN_MS = 30_000;

/** A run folder that is full or cannot be written is no reason not to measure: the sockets come when it can. @throws AgentError (stop). */
export async function openControlSockets(deps: ControlSocketsDeps, signal: AbortSignal): Promise<Held> {
  const { runFolder, machine, log, alerts, door } = deps;
  const { clock, files } = machine;
  let held: Held | undefined;
  let cancelTry = (): void => {};
  let isClosed = false;
  const open = async (): Promise<void> => {
    try {
      const opened = await machine.listen({ folder: runFolder, clock, files, log, ...door }, signal);
      alerts.clear(ALERT);
      held = opened;
      if (isClosed) await opened.close();
    } catch (error) {
      if (!hasCode(error, 'control-socket/cannot-listen')) throw error;
      alerts.raise(ALERT, sentence('commandsDoNotReach', { why: toldBy(error) }));
      if (!isClosed) cancelTry = clock.after(LISTEN_AGAIN_MS, () => void open().catch(() => {}));
    }
  };
  await open();
  return {
    close: async () => {
      isClosed = true;
      cancelTry();
      await held?.close();
    },
  };
}
