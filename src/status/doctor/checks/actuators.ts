/** Checks that every actuator is known to be where it should. */
import { agentCheck, fault, good } from './checkup.ts';

export const actuators = agentCheck('actuators', 'every actuator is known to be where it should', ({ actuators: all }) => {
  const lost = all.find((actuator) => actuator.fault !== undefined);
  if (lost === undefined) return all.length === 0 ? undefined : good(`${all.length} answer`);
  const remedy = 'check its wiring and its section in the configuration; turnstone actuate tries it';
  return fault(`${lost.name} (${lost.kind}): ${lost.fault}`, remedy);
});
