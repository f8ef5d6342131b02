/** Connections to MQTT brokers, one for each name. The client's modules are loaded with the first. */
import { isDeepStrictEqual } from 'node:util';
import { retryable } from '../errors/agent-error.ts';
import { endedWithin } from '../host/bounded-wait.ts';
import type { Clock } from '../host/clock.ts';
import { once } from '../host/shared-work.ts';
import { getOrInsert } from '../values/get-or-insert.ts';
import { KEPT_BOUNDS, KeptMessages } from './kept-messages.ts';
import type { BrokerConnection } from './mqtt-broker-connection.ts';
import type { MqttBrokerSettings, MqttConnection, MqttPort } from './mqtt-port.ts';

/** Time in which all users of a broker's old settings close them after its section has changed. */
const GIVEN_BACK_WITHIN_MS = 1_000;

interface Shared {
  readonly settings: MqttBrokerSettings;
  readonly opening: Promise<BrokerConnection>;
  /** Resolves when the last user has given it back. */
  readonly ended: Promise<void>;
  readonly end: () => void;
  users: number;
}

export class LinuxMqtt implements MqttPort {
  readonly #clock: Clock;
  readonly #shared = new Map<string, Shared>();
  readonly #kept = new Map<string, KeptMessages>();
  readonly #closing = new Map<string, Promise<void>>();
  #isClosed = false;

  constructor({ clock }: { readonly clock: Clock }) {
    this.#clock = clock;
  }

  async open(settings: MqttBrokerSettings, signal: AbortSignal): Promise<MqttConnection> {
    const { name } = settings;
    await this.#untilOthersEnded(settings, signal);
    if (this.#isClosed) throw retryable('hardware/mqtt-busy', `the connection to ${name} is closed`);
    const shared = this.#shared.get(name) ?? this.#begin(settings);
    this.#shared.set(name, shared);
    shared.users += 1;
    const close = once(async () => {
      shared.users -= 1;
      if (shared.users > 0) return;
      if (this.#shared.get(name) === shared) this.#shared.delete(name);
      shared.end();
      await this.#end(name, shared);
    });
    try {
      return (await shared.opening).share(close);
    } catch (error) {
      if (this.#shared.get(name) === shared) this.#shared.delete(name);
      shared.end();
      throw error;
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const all = [...this.#shared];
    this.#shared.clear();
    await Promise.all([...all.map(([name, shared]) => this.#end(name, shared)), ...this.#closing.values()]);
  }

  /** @throws AgentError `hardware/mqtt-busy` (retry) where others keep the broker's connection with other settings. */
  async #untilOthersEnded(settings: MqttBrokerSettings, signal: AbortSignal): Promise<void> {
    const { name } = settings;
    const other = (): Shared | undefined => {
      const shared = this.#shared.get(name);
      return shared === undefined || isDeepStrictEqual(shared.settings, settings) ? undefined : shared;
    };
    for (let one = other(); one !== undefined; one = other())
      if (!(await endedWithin(this.#clock, GIVEN_BACK_WITHIN_MS, one.ended, signal)))
        throw retryable('hardware/mqtt-busy', `the connection to ${name} is open with other settings`);
  }

  #begin(settings: MqttBrokerSettings): Shared {
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    return { settings, opening: this.#connect(settings), ended, end, users: 0 };
  }

  async #connect(settings: MqttBrokerSettings): Promise<BrokerConnection> {
    const { BrokerConnection } = await import('./mqtt-broker-connection.ts');
    // Two connections of one client id end each other.
    await this.#closing.get(settings.name);
    const kept = getOrInsert(this.#kept, settings.name, () => new KeptMessages(KEPT_BOUNDS));
    return BrokerConnection.start({ settings, clock: this.#clock, kept });
  }

  async #end(name: string, { opening }: Shared): Promise<void> {
    const closing = opening.then(
      (connection) => connection.close(),
      () => {},
    );
    this.#closing.set(name, closing);
    await closing;
    if (this.#closing.get(name) === closing) this.#closing.delete(name);
  }
}
