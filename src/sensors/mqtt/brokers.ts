/** Brokers of a configuration, as their connections want them. */
import type { AgentConfig } from '../../config/schema/agent-config.ts';
import type { BrokerOf } from '../../hardware/mqtt-port.ts';

/**
 * @param sessionId id of the session where a broker has none of its own; without it connections have sessions that end with them, so that a
 * command beside the agent takes nothing of its messages.
 */
export function brokersOf({ brokers = [] }: Pick<AgentConfig, 'brokers'>, sessionId?: () => Promise<string>): BrokerOf {
  return async (wanted) => {
    const broker = brokers.find(({ name }) => name === wanted);
    if (broker === undefined) return undefined;
    const { password, clientId, ...settings } = broker;
    return {
      ...settings,
      password: password?.reveal(),
      clientId: sessionId === undefined ? undefined : (clientId ?? (await sessionId())),
    };
  };
}
