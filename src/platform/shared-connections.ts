/**
 * Connections that many devices share: each has a client of its own, with its token in the path, and all of them take turns on the same
 * sockets. A client that is closed closes nothing; the owner does.
 */
import type { Connect, ConnectionSettings, Lane, PlatformConnections, Traffic } from './connections.ts';

const NO_TRAFFIC: Traffic = { sentBytes: 0, receivedBytes: 0 };

export class SharedConnections {
  readonly #open: Connect;
  readonly #sockets: Partial<Record<Lane, number>>;
  #shared: PlatformConnections | undefined;

  /** @param sockets Number of sockets for each lane that has more than its usual number. */
  constructor(open: Connect, sockets: Partial<Record<Lane, number>>) {
    this.#open = open;
    this.#sockets = sockets;
  }

  /** Gives the shared connections, made by the settings of the first who asks. @throws PlatformError `platform/settings` (stop). */
  readonly connect: Connect = (settings: ConnectionSettings) => {
    const shared = this.#shared ?? this.#open({ ...settings, sockets: this.#sockets });
    this.#shared = shared;
    return {
      origin: shared.origin,
      prefix: shared.prefix,
      secrets: shared.secrets,
      ...(shared.proxyHost === undefined ? {} : { proxyHost: shared.proxyHost }),
      lane: (lane) => shared.lane(lane),
      ...(shared.noteBegin === undefined ? {} : { noteBegin: shared.noteBegin }),
      ...(shared.noteExchange === undefined ? {} : { noteExchange: shared.noteExchange }),
      // All devices share it: it is nobody's own.
      traffic: NO_TRAFFIC,
      close: async () => {},
    };
  };

  /** Bytes of all devices since start. */
  get traffic(): Traffic {
    return this.#shared?.traffic ?? NO_TRAFFIC;
  }

  /** Ends every connection at once. Idempotent. */
  async close(): Promise<void> {
    await this.#shared?.close();
  }
}
