/** Connections to MQTT brokers, one for each name. The client's modules are loaded with the first. */
import { isDeepStrictEqual } from 'node:util';
import { retryable } from '../errors/agent-error.ts';
import type { Clock } from '../host/clock.ts';
import { once } from '../host/shared-work.ts';
import { getOrInsert } from '../values/get-or-insert.ts';
import { KEPT_BOUNDS, KeptMessages } from './kept-messages.ts';
import type { BrokerConnection } from './mqtt-broker-connection.ts';
import type { MqttBrokerSettings, MqttConnection, MqttPort } from './mqtt-port.ts';

interface Shared {
  readonly settings: MqttBrokerSettings;
  readonly opening: Promise<BrokerConnection>;
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

  async open(settings: MqttBrokerSettings, _signal: AbortSignal): Promise<MqttConnection> {
    const { name } = settings;
    if (this.#isClosed) throw retryable('hardware/mqtt-busy', `the connection to ${name} is closed`);
    const shared = this.#shared.get(name) ?? { settings, opening: this.#connect(settings), users: 0 };
    if (!isDeepStrictEqual(shared.settings, settings))
      throw retryable('hardware/mqtt-busy', `the connection to ${name} is open with other settings`);
    this.#shared.set(name, shared);
    shared.users += 1;
    const close = once(async () => {
      shared.users -= 1;
      if (shared.users > 0) return;
      if (this.#shared.get(name) === shared) this.#shared.delete(name);
      await this.#end(name, shared);
    });
    try {
      return (await shared.opening).share(close);
    } catch (error) {
      if (this.#shared.get(name) === shared) this.#shared.delete(name);
      throw error;
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const all = [...this.#shared];
    this.#shared.clear();
    await Promise.all([...all.map(([name, shared]) => this.#end(name, shared)), ...this.#closing.values()]);
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
