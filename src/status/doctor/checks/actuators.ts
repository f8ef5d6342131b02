/** Whether every actuator is known to be where it should. */
import { check, fault, good } from '../checkup.ts';

export const actuators = check('actuators', 'every actuator is known to be where it should', ({ agent }) => {
  if (agent === undefined || agent.actuators.length === 0) return undefined;
  const lost = agent.actuators.find(({ fault: why }) => why !== undefined);
  if (lost === undefined) return good(`${agent.actuators.length} answer`);
  return fault(
    `${lost.name} (${lost.kind}): ${lost.fault}`,
    'check its wiring and its section in the configuration; turnstone actuate tries it',
  );
});
