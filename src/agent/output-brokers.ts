/** Brokers of the outputs. A reload changes a broker's settings, but not the outputs: a removed broker stays until the restart. */
import { sameValue } from '../config/changes/config-diff.ts';
import type { AgentConfig, BrokerConfig } from '../config/schema/agent-config.ts';
import type { BrokerOf } from '../hardware/mqtt-port.ts';
import { brokersOf } from '../sensors/mqtt/brokers.ts';

type Brokers = Pick<AgentConfig, 'brokers'>;

export class OutputBrokers {
  readonly #session: () => Promise<string>;
  /** Brokers by the names that outputs use. */
  #brokers: ReadonlyMap<string, BrokerConfig>;

  constructor({ brokers = [] }: Brokers, session: () => Promise<string>) {
    this.#session = session;
    this.#brokers = new Map(brokers.map((broker) => [broker.name, broker]));
  }

  readonly find: BrokerOf = async (wanted) => {
    const broker = this.#brokers.get(wanted);
    return broker && (await brokersOf({ brokers: [broker] }, this.#session)(broker.name));
  };

  /** Takes up the brokers of another configuration, and returns the names of those that have other settings now. */
  configure({ brokers = [] }: Brokers): ReadonlySet<string> {
    const before = this.#brokers;
    const now = new Map(brokers.map((broker) => [broker.name, broker]));
    for (const [name, broker] of before)
      if (!now.has(name)) now.set(name, brokers.find((other) => isSameSession(broker, other)) ?? broker);
    this.#brokers = now;
    return new Set([...before].filter(([name, broker]) => !sameValue(now.get(name), broker)).map(([name]) => name));
  }
}

/** True for brokers of one session, whatever their names: two connections of one session end each other. */
function isSameSession(one: BrokerConfig, other: BrokerConfig): boolean {
  return one.url === other.url && one.clientId === other.clientId;
}
