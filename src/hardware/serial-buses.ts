/**
 * Serial ports with several users that ask. Each request with its answer has a turn, and no user hears the bytes of another's turn.
 *
 *   bytes of the port ─► the user whose turn it is; the only user at any time; one that listens at all times
 *
 * Only its time tells to which request a late answer belongs. So a user that waits for an answer after another user's turn first waits until the
 * line is quiet.
 */
import { retryable } from '../errors/agent-error.ts';
import type { Clock } from '../host/clock.ts';
import { nextTurn } from '../host/next-turn.ts';
import { once } from '../host/shared-work.ts';
import { getOrInsert } from '../values/get-or-insert.ts';
import { deadlineError } from './deadline.ts';
import { OwedAnswers } from './owed-answers.ts';
import type { SerialPort, SerialPorts, SerialSettings } from './serial-port.ts';
import { TurnQueue, type TurnRank } from './turn-queue.ts';

/** Silence after a turn whose answer came: the end of its line may still be on its way. */
const AFTER_ANSWER_MS = 20;
/** Silence after a command whose answer nobody waits for: its echo and prompt have come by then, at 1200 baud too. */
const AFTER_WORDS_MS = 100;
/** Silence after a turn without the answer that was waited for. */
const AFTER_MISSING_MS = 300;
/** The longest wait for a quiet line; some lines are never quiet. */
const MAX_QUIET_MS = 2_000;

export interface SerialTurn {
  /** Verb and object, for messages. */
  readonly what: string;
  readonly rank?: TurnRank;
  /** True when an answer is waited for. */
  readonly hears: boolean;
}

/** One user's share of a port. */
export interface SerialBus {
  readonly port: SerialPort;
  readonly turns: TurnQueue;
  /** True while there are other users. */
  readonly isShared: boolean;
  /** True from the share's turn until another share is heard in its own. */
  readonly spokeLast: boolean;
  /** Runs the work in its turn, in which this share alone hears. @throws AgentError `hardware/deadline` (retry), or whatever the work throws. */
  run<T>(work: () => Promise<T>, turn: SerialTurn, signal: AbortSignal): Promise<T>;
  /** Resolves when nothing has come for a while, such as the echo of words whose answer nobody needs. */
  settle(signal: AbortSignal): Promise<void>;
  /** Calls back with what comes in the share's turns, and at any time while it is the only one, until the returned function is called. */
  onBytes(listener: (bytes: Uint8Array) => void, options?: { readonly always: boolean }): () => void;
  /** Commands whose answers may still come, the same list for all that expect the same answer on this port, however often it is opened. */
  owed(answer: string): OwedAnswers;
  /** Gives the share back; the last one closes the port. Idempotent. */
  close(): Promise<void>;
}

interface Shared {
  readonly opening: Promise<SerialPort>;
  readonly settings: SerialSettings;
  readonly turns: TurnQueue;
  users: number;
  /** User whose turn it is; this object itself while the line comes to rest, so that no user hears it. */
  speaker: object | undefined;
  last: object | undefined;
  quietMs: number;
}

export class SerialBuses {
  readonly #serial: SerialPorts;
  readonly #clock: Pick<Clock, 'sleep' | 'monotonicMs'>;
  readonly #shared = new Map<string, Shared>();
  readonly #owed = new Map<string, OwedAnswers>();
  readonly #closing = new Map<string, Promise<void>>();

  constructor(serial: SerialPorts, clock: Pick<Clock, 'sleep' | 'monotonicMs'>) {
    this.#serial = serial;
    this.#clock = clock;
  }

  /** Opens the port, or joins its users. @throws AgentError as SerialPorts.open; `hardware/serial-busy` (retry) while others have other settings. */
  async open(settings: SerialSettings, signal: AbortSignal): Promise<SerialBus> {
    const { port: path } = settings;
    const shared = this.#shared.get(path) ?? this.#opened(settings, signal);
    if (!isSame(shared.settings, settings))
      throw retryable('hardware/serial-busy', `${path} is open with other settings`);
    this.#shared.set(path, shared);
    shared.users += 1;
    const close = once(async () => {
      shared.users -= 1;
      if (shared.users > 0) return;
      if (this.#shared.get(path) === shared) this.#shared.delete(path);
      const closing = shared.opening.then(
        (port) => port.close(),
        () => {},
      );
      this.#closing.set(path, closing);
      await closing.finally(() => {
        if (this.#closing.get(path) === closing) this.#closing.delete(path);
      });
    });
    try {
      const port = await shared.opening;
      return this.#share(port, shared, close);
    } catch (error) {
      if (this.#shared.get(path) === shared) this.#shared.delete(path);
      throw error;
    }
  }

  #opened(settings: SerialSettings, signal: AbortSignal): Shared {
    const closing = this.#closing.get(settings.port);
    const open = (): Promise<SerialPort> => this.#serial.open(settings, signal);
    return {
      opening: closing === undefined ? open() : closing.then(open, open),
      settings,
      turns: new TurnQueue(),
      users: 0,
      speaker: undefined,
      last: undefined,
      quietMs: 0,
    };
  }

  #share(port: SerialPort, shared: Shared, close: () => Promise<void>): SerialBus {
    const share = {};
    const inTurn = async <T>(work: () => Promise<T>, { what, hears }: SerialTurn, signal: AbortSignal): Promise<T> => {
      const isAfterOthers = shared.last !== undefined && shared.last !== share;
      shared.speaker = shared;
      try {
        if (hears && isAfterOthers) await this.#rest(port, shared.quietMs, signal);
        if (signal.aborted) throw deadlineError(what, signal);
        shared.speaker = share;
        shared.last = share;
        shared.quietMs = AFTER_MISSING_MS;
        const result = await work();
        shared.quietMs = hears ? AFTER_ANSWER_MS : AFTER_WORDS_MS;
        return result;
      } finally {
        shared.speaker = undefined;
      }
    };
    return {
      port,
      turns: shared.turns,
      get isShared() {
        return shared.users > 1;
      },
      get spokeLast() {
        return shared.last === share;
      },
      run: async <T>(work: () => Promise<T>, { what, rank = 'reading', hears }: SerialTurn, signal: AbortSignal) => {
        let own: Promise<T> | undefined;
        const begin = (): Promise<T> => {
          own = inTurn(work, { what, hears }, signal);
          return own;
        };
        // Work that has begun tells itself how it ended.
        return await shared.turns.run(begin, { what, rank }, signal).catch(async (error: unknown) => {
          if (own === undefined) throw error;
          return await own;
        });
      },
      settle: (signal) => this.#rest(port, AFTER_WORDS_MS, signal),
      onBytes: (listener, { always } = { always: false }) =>
        port.onBytes((bytes) => {
          if (always || shared.users === 1 || shared.speaker === share) listener(bytes);
        }),
      owed: (answer) => getOrInsert(this.#owed, `${port.path}\n${answer}`, () => new OwedAnswers(this.#clock)),
      close,
    };
  }

  async #rest(port: SerialPort, quietMs: number, signal: AbortSignal): Promise<void> {
    let isQuiet = true;
    const stop = port.onBytes(() => {
      isQuiet = false;
    });
    try {
      for (let restedMs = 0; restedMs < MAX_QUIET_MS && !signal.aborted; restedMs += quietMs) {
        isQuiet = true;
        await this.#clock.sleep(quietMs, signal);
        // Bytes that came while this process stood still are delivered in the turn after the timer.
        await nextTurn();
        if (isQuiet) return;
      }
    } finally {
      stop();
    }
  }
}

function isSame(one: SerialSettings, other: SerialSettings): boolean {
  const words = ({
    baudRate,
    dataBits = 8,
    stopBits = 1,
    parity = 'none',
    flowControl = 'none',
    rs485,
  }: SerialSettings) => JSON.stringify([baudRate, dataBits, stopBits, parity, flowControl, rs485]);
  return words(one) === words(other);
}
