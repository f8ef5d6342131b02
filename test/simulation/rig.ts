/** The board and what hangs on it: what is held, what is broken, and every movement of its outputs, across power cuts. */
import type { BoardFault } from '../../src/hardware/board-protocol.ts';
import { type Operations, operationsOf } from '../../src/stand-ins/simulated-board/board-operations.ts';
import { BoardRecord } from '../../src/stand-ins/simulated-board/board-record.ts';
import { SimulatedBoard } from '../../src/stand-ins/simulated-board/simulated-board.ts';
import type { BoardClock } from './board-clock.ts';
import { Boot } from './boot.ts';
import type { Site } from './site.ts';

interface Broken {
  readonly target: string;
  readonly onWhole: (() => void) | undefined;
}

export class Rig {
  readonly record: BoardRecord;
  readonly #site: Site;
  readonly #clock: BoardClock;
  readonly #holds = new Set<{ readonly target: string; readonly value: number }>();
  readonly #falls: number[] = [];
  /** By how much what a serial port says comes late, ms. */
  readonly #late = new Map<string, number>();
  #board: SimulatedBoard;
  #operations: Operations;
  readonly #broken = new Set<Broken>();

  /** @param clock true time. */
  constructor(site: Site, clock: BoardClock) {
    this.#site = site;
    this.#clock = clock;
    this.record = new BoardRecord({ clock });
    this.#board = new SimulatedBoard(site.board, { clock, record: this.record, twins: site.twins });
    this.#operations = operationsOf(this.#board);
  }

  get operations(): Operations {
    return this.#operations;
  }

  /** When the power went, in the world's time. */
  get cuts(): readonly number[] {
    return this.#falls;
  }

  /** Pins fall to low, and its parts are whole when it comes back. */
  cutPower(nowMs: number): void {
    this.#falls.push(nowMs);
    this.#board.close();
    this.#heal(this.#broken);
    this.#board = new SimulatedBoard(this.#site.board, {
      clock: this.#clock,
      record: this.record,
      twins: this.#site.twins,
    });
    for (const { target, value } of this.#holds) this.#board.bench.hold(target, value);
    this.#operations = operationsOf(this.#board);
  }

  /** Somebody holds an input at a value, across power cuts, until the returned function is called. */
  hold(target: string, value: number): () => void {
    const hold = { target, value };
    this.#holds.add(hold);
    this.#board.bench.hold(target, value);
    return () => {
      this.#holds.delete(hold);
      const other = [...this.#holds].findLast((one) => one.target === target);
      this.#board.bench.hold(target, other?.value ?? null);
    };
  }

  /**
   * A part of the board fails, until the returned function is called or the power is cut; of two faults the later one shows, and both end with
   * either. @param onWhole called when it has ended.
   */
  breakPart(target: string, fault: BoardFault, onWhole?: () => void): () => void {
    const one = { target, onWhole };
    this.#board.bench.fault(target, fault);
    this.#broken.add(one);
    return () => {
      if (!this.#broken.has(one)) return;
      this.#heal([...this.#broken].filter((other) => other.target === target));
      this.#board.bench.fault(target, null);
    };
  }

  #heal(broken: Iterable<Broken>): void {
    for (const one of broken) {
      this.#broken.delete(one);
      one.onWhole?.();
    }
  }

  /** Delays the data of a serial port until the returned function is called. */
  delay(port: string, ms: number): () => void {
    this.#late.set(port, ms);
    return () => {
      if (this.#late.get(port) === ms) this.#late.delete(port);
    };
  }

  /** Delivers what a serial port says, when it is due. */
  later(port: string | undefined, deliver: () => void): void {
    const ms = this.#late.get(port ?? '') ?? 0;
    if (ms === 0) deliver();
    else this.#clock.after(ms, deliver);
  }

  /** Every movement of a line, oldest first; with the power outputs fall, and an input is as whoever holds it has it. */
  movesOf(line: string): readonly { readonly atMs: number; readonly on: boolean }[] {
    const { outputs, attached } = this.#site;
    const output =
      outputs.find((one) => one.line === line) ?? attached.find(({ relay }) => relay?.line === line)?.relay;
    const onValue = output?.activeLow === true ? 0 : 1;
    const moves = this.record
      .movesOf(line)
      .map(({ atMs, value }) => ({ atMs: atMs - Boot.MONOTONIC_BEGINS_MS, on: value === onValue }));
    if (output === undefined) return moves;
    const falls = this.#falls.map((atMs) => ({ atMs, on: false }));
    return [...moves, ...falls].sort((a, b) => a.atMs - b.atMs);
  }
}
