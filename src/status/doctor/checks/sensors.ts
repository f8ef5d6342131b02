/** Checks that every sensor answers: the running agent knows; without one, chips are asked. */
import type { AgentConfig, SensorConfig } from '../../../config/schema/agent-config.ts';
import { messageOf } from '../../../errors/agent-error.ts';
import { addressInWords } from '../../../hardware/i2c-port.ts';
import { answersAt } from '../../../kinds/identify-chip.ts';
import { definitionOf } from '../../../kinds/sensor-kinds.ts';
import type { AgentStatus } from '../../shape/agent-status.ts';
import { type CheckContext, configCheck, type Finding, fault, good, unknown } from './checkup.ts';

export const sensors = configCheck('sensors', 'every sensor answers', (config, context, signal) =>
  context.agent === undefined ? probeSensors(config, context, signal) : runningSensors(config, context.agent),
);

/** A running agent holds the buses and knows. */
function runningSensors({ sensors }: AgentConfig, agent: AgentStatus): Finding | undefined {
  if (agent.sensors.length === 0) return undefined;
  const [first, ...others] = agent.sensors.filter(({ state }) => state === 'failing');
  if (first === undefined) return good(`${agent.sensors.length} answer`);
  const more = others.length === 0 ? '' : `; also ${others.map(({ name }) => name).join(', ')}`;
  const remedy = remedyFor(sensors.find(({ name }) => name === first.name));
  return fault(`${first.name} (${first.kind}): ${first.fault ?? 'does not answer'}${more}`, remedy);
}

/** Without an agent the buses are free: chips are asked whether they are there. */
async function probeSensors(config: AgentConfig, context: CheckContext, signal: AbortSignal): Promise<Finding | undefined> {
  if (context.silentAgent !== undefined) return unknown('the agent hangs, and holds the buses');
  const onBus = config.sensors.filter((sensor) => 'bus' in sensor).filter(({ enabled }) => enabled);
  if (onBus.length === 0) return unknown('no agent runs; start it, or try one: turnstone sensors read NAME');
  const ports = context.openPorts(config);
  try {
    for (const sensor of onBus) {
      const place = `${sensor.name} (${sensor.kind}) at ${addressInWords(sensor.address)} on bus ${sensor.bus}`;
      try {
        const bus = await ports.i2c.openBus(sensor.bus, signal);
        const answers = await answersAt(bus, sensor.address, signal).finally(() => bus.close());
        if (!answers) return fault(`${place}: nobody answers`, remedyFor(sensor));
      } catch (error) {
        return fault(`${place}: ${messageOf(error)}`, remedyFor(sensor));
      }
    }
    return good(`${onBus.length} on I2C answer; the others are read by the agent`);
  } finally {
    await ports.close();
  }
}

function remedyFor(sensor: SensorConfig | undefined): string {
  if (sensor === undefined) return 'check its section in the configuration';
  const own = definitionOf(sensor.kind).remedy?.(sensor);
  if (own !== undefined) return own;
  if ('bus' in sensor) return 'check power, SDA, SCL and the address pins; turnstone scan i2c shows who answers';
  if ('line' in sensor) return 'check the line’s name and who else holds it; turnstone scan gpio shows both';
  if ('port' in sensor) return 'check the cable, the baud rate and the format; turnstone scan serial shows the ports';
  return `turnstone sensors read ${sensor.name} shows it at work`;
}
