/** The board in the world: its real drivers' chips and lines, reached without a socket, by one process at a time. */

import { portsOver } from '../../src/hardware/board-client.ts';
import type { BoardConnection } from '../../src/hardware/board-link.ts';
import type { BoardEvent, BoardOperation, BoardOperations } from '../../src/hardware/board-protocol.ts';
import { withinDeadline } from '../../src/hardware/deadline.ts';
import type { Ports } from '../../src/hardware/ports.ts';
import type { Clock } from '../../src/host/clock.ts';
import { BoardUser, type Operations } from '../../src/stand-ins/simulated-board/board-operations.ts';
import { Boot } from './boot.ts';
import type { Pins } from './pins.ts';

export interface FieldDeps {
  readonly operations: Operations;
  readonly boot: Boot;
  readonly pins: Pins;
  /** Delivers what a serial port says, when it is due. */
  readonly later: (port: string | undefined, deliver: () => void) => void;
}

type Written = BoardOperations['gpio.write']['params'];

/** Board as one life of the agent holds it; released when that life ends. */
export class FieldLine implements BoardConnection {
  readonly #operations: Operations;
  readonly #listeners = new Map<number, (event: BoardEvent) => void>();
  readonly #user: BoardUser;
  readonly #pins: Pins;
  /** Paths of open serial ports, by their handles. */
  readonly #ports = new Map<number, string>();
  #isCut = false;

  constructor({ operations, boot, pins, later }: FieldDeps) {
    this.#operations = operations;
    this.#pins = pins;
    this.#user = new BoardUser((event) => {
      const ownEvent =
        event.event === 'edge'
          ? { ...event, monotonicMs: boot.monotonicAt(event.monotonicMs - Boot.MONOTONIC_BEGINS_MS) }
          : event;
      const deliver = (): void => {
        if (!this.#isCut) queueMicrotask(() => this.#listeners.get(event.handle)?.(ownEvent));
      };
      if (event.event === 'bytes') later(this.#ports.get(event.handle), deliver);
      else deliver();
    });
  }

  async request<Op extends BoardOperation>(
    op: Op,
    params: BoardOperations[Op]['params'],
    signal: AbortSignal,
  ): Promise<BoardOperations[Op]['result']> {
    if (this.#isCut) return await new Promise<never>(() => {});
    const isSwitching = op === 'gpio.write';
    if (isSwitching) this.#pins.switches('before');
    if (this.#isCut) return await new Promise<never>(() => {});
    const done =
      isSwitching && this.#pins.areStuck
        ? this.#takenOnly(params as Written)
        : this.#operations[op](params, this.#user);
    const answer = Promise.resolve(done) as Promise<BoardOperations[Op]['result']>;
    if (isSwitching) this.#pins.switches('after');
    if (this.#isCut) return await neverTold(answer);
    if (op === 'serial.open') {
      const { handle } = (await answer) as BoardOperations['serial.open']['result'];
      this.#ports.set(handle, (params as BoardOperations['serial.open']['params']).port);
    }
    return await withinDeadline(
      (isSwitching || op === 'gpio.read') && this.#pins.areMute ? neverTold(answer) : answer,
      `simulated board: ${op}`,
      signal,
    );
  }

  onEvents(handle: number, listener: ((event: BoardEvent) => void) | undefined): void {
    if (listener === undefined) this.#listeners.delete(handle);
    else this.#listeners.set(handle, listener);
  }

  async close(): Promise<void> {}

  /** The process is gone: outputs keep their level, nothing else is held. */
  cut(): void {
    this.#isCut = true;
    this.#user.end();
  }

  /** As a write, but for the movement: a chip that is gone or hangs takes nothing. A GPIO write is answered with nothing. */
  async #takenOnly({ handle }: Written): Promise<null> {
    await this.#operations['gpio.read']({ handle }, this.#user);
    return null;
  }

  ports(clock: Clock): Ports {
    return portsOver(this, clock);
  }
}

async function neverTold<T>(answer: Promise<T>): Promise<T> {
  answer.catch(() => {});
  return await new Promise<never>(() => {});
}
