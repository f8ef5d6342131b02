/** Chooses the ports that the configuration asks for: this machine's, or a simulated board's. */
import type { HardwareConfig } from '../config/schema/agent-config.ts';
import { AgentError } from '../errors/agent-error.ts';
import type { Clock } from '../host/clock.ts';
import { boardPorts } from './board-client.ts';
import { linuxPorts } from './linux-ports.ts';
import type { Ports } from './ports.ts';

export interface OpenPortsDeps {
  readonly clock: Clock;
  readonly hardware: HardwareConfig;
}

/** Opens no hardware yet. @throws AgentError `hardware/no-board-socket` (stop) for a simulated board without its socket. */
export function openPorts({ clock, hardware }: OpenPortsDeps): Ports {
  if (hardware.board === 'linux') return linuxPorts(clock, hardware.gpio);
  if (hardware.boardSocket === undefined) {
    throw new AgentError('hardware/no-board-socket', 'a simulated board needs hardware.boardSocket', {
      recovery: 'stop',
    });
  }
  return boardPorts({ clock, socketPath: hardware.boardSocket });
}
