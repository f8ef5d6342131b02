/** The board's serial ports: at the far end of each wire sits a talker, which prints by itself or answers. */

import type { SerialDescription } from '../../hardware/serial-port.ts';
import type { Clock } from '../../host/clock.ts';
import type { BoardConfig } from './board-config.ts';
import { PtyWire, type SerialWire, SocketWire, type WireUser } from './serial-wire.ts';
import { type BoardContext, boardFault } from './simulated-part.ts';
import { type Talker, type TalkerContext, talkerOf } from './talkers/talker.ts';

interface Port {
  readonly wire: SerialWire;
  readonly talker: Talker;
}

export interface SerialUser {
  readonly device: string | undefined;
  write(bytes: Uint8Array): void;
  release(): void;
}

export class SimulatedSerial {
  readonly #ports = new Map<string, Port>();
  readonly #context: BoardContext;

  constructor(ports: BoardConfig['serial'], context: BoardContext) {
    this.#context = context;
    for (const { port, pty, talk } of ports) {
      const send = (bytes: Uint8Array): void =>
        this.#ports
          .get(port)
          ?.wire.send(context.faults.of(port) === 'garbage' ? scrambled(bytes, context.clock) : bytes);
      const print: TalkerContext['print'] = (text, values, keys) => {
        const fault = context.faults.of(port);
        if (fault === 'hang' || fault === 'unplug') return;
        // Garbage is no value anyone should have reported.
        if (fault === undefined)
          for (const [key, value] of Object.entries(values)) context.record.add('shown', port, keys[key] ?? key, value);
        send(Buffer.from(text));
      };
      const talker = talkerOf(talk, { ...context, source: port, send, print });
      const receive = (bytes: Uint8Array): void => {
        if (context.faults.of(port) !== 'hang') talker.receive(bytes);
      };
      this.#ports.set(port, { talker, wire: pty ? new PtyWire(port, receive) : new SocketWire() });
    }
    context.faults.onChange((target, fault) => {
      const wire = this.#ports.get(target)?.wire;
      if (fault === 'unplug') wire?.unplug();
      else wire?.plug();
    });
  }

  /** @throws AgentError `hardware/serial-no-port` (retry). */
  open(path: string, user: WireUser): SerialUser {
    const port = this.#ports.get(path);
    if (port === undefined || !port.wire.plugged)
      throw boardFault('hardware/serial-no-port', `the simulated board has no serial port ${path}`);
    const { wire, talker } = port;
    return {
      device: wire.device,
      write: (bytes) => {
        if (!wire.plugged) throw boardFault('hardware/serial-unplugged', `${path} is unplugged`);
        if (this.#context.faults.of(path) !== 'hang') talker.receive(bytes);
      },
      release: wire instanceof SocketWire ? wire.join(user) : () => {},
    };
  }

  list(): readonly SerialDescription[] {
    return [...this.#ports].filter(([, { wire }]) => wire.plugged).map(([path]) => ({ path, maker: 'simulated' }));
  }

  close(): void {
    for (const { wire, talker } of this.#ports.values()) {
      talker.close();
      wire.close();
    }
  }
}

/** Each byte with a few bits turned: what a wrong baud rate looks like. */
function scrambled(bytes: Uint8Array, clock: Pick<Clock, 'jitter'>): Uint8Array {
  return bytes.map((byte) => byte ^ Math.floor(clock.jitter() * 256));
}
