/**
 * Clients that wait for a device's next message, as on the real server: each poll gets one message, all that are open get the same one, a
 * client that is gone is noticed late, and no request waits longer than the server's own limit.
 */
import type { Clock } from '../../host/clock.ts';
import { getOrInsert } from '../../values/get-or-insert.ts';

export type PollEnd<Message> =
  | { readonly kind: 'message'; readonly message: Message }
  /** The poll's own time is over. */
  | { readonly kind: 'timeout' }
  /** The server's limit was reached first. */
  | { readonly kind: 'cut' }
  | { readonly kind: 'deleted' };

export interface LongPollsOptions {
  readonly clock: Clock;
  readonly asyncLimitMs: number;
  /** How long a poll whose client is gone still takes messages. */
  readonly stalePollMs: number;
}

/** Wait of `timeout=0`, or of none. */
const DEFAULT_POLL_MS = 60_000;

export class LongPolls<Message> {
  readonly #options: LongPollsOptions;
  /** By device: what ends each of its polls. */
  readonly #polls = new Map<string, Set<(end: PollEnd<Message>) => void>>();

  constructor(options: LongPollsOptions) {
    this.#options = options;
  }

  /** Waits for one message; `timeoutMs` as the query gave it. */
  wait(deviceId: string, timeoutMs: number, gone: AbortSignal): Promise<PollEnd<Message>> {
    const { clock, asyncLimitMs, stalePollMs } = this.#options;
    const ownMs = timeoutMs > 0 ? timeoutMs : DEFAULT_POLL_MS;
    const polls = getOrInsert(this.#polls, deviceId, () => new Set());
    return new Promise((resolve) => {
      let cancelStale: (() => void) | undefined;
      const finish = (end: PollEnd<Message>): void => {
        if (!polls.delete(finish)) return;
        cancelTimer();
        cancelStale?.();
        gone.removeEventListener('abort', clientGone);
        resolve(end);
      };
      const clientGone = (): void => {
        cancelStale = clock.after(stalePollMs, () => finish({ kind: 'timeout' }));
      };
      const cancelTimer = clock.after(Math.min(ownMs, asyncLimitMs), () =>
        finish({ kind: ownMs > asyncLimitMs ? 'cut' : 'timeout' }),
      );
      polls.add(finish);
      gone.addEventListener('abort', clientGone, { once: true });
      if (gone.aborted) clientGone();
    });
  }

  /** Gives a message to every open poll of a device, stale ones too; answers how many took it. */
  tell(deviceId: string, message: Message): number {
    return this.#end(deviceId, { kind: 'message', message });
  }

  /** Open polls of a device, stale ones included. */
  waiting(deviceId: string): number {
    return this.#polls.get(deviceId)?.size ?? 0;
  }

  /** Ends the polls of a deleted device. */
  forget(deviceId: string): void {
    this.#end(deviceId, { kind: 'deleted' });
    this.#polls.delete(deviceId);
  }

  /** Ends every poll, as a server does that stops. */
  close(): void {
    for (const deviceId of this.#polls.keys()) this.#end(deviceId, { kind: 'cut' });
    this.#polls.clear();
  }

  #end(deviceId: string, end: PollEnd<Message>): number {
    const polls = [...(this.#polls.get(deviceId) ?? [])];
    for (const finish of polls) finish(end);
    return polls.length;
  }
}
