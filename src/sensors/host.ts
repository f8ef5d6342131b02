/** The gateway itself as a sensor. A group the machine does not show is left out; the sensor fails only when none can be read. */
import type { SensorConfigOf } from '../config/agent-config.ts';
import { HostMetrics, type MetricGroup } from '../host/host-metrics.ts';
import type { Sensor } from './sensor.ts';
import type { SensorDeps } from './sensor-deps.ts';
import { sensorFault } from './sensor-fault.ts';

export async function openHost(config: SensorConfigOf<'host'>, { log }: SensorDeps, _signal: AbortSignal): Promise<Sensor> {
  const { name, groups, disks, interfaces } = config;
  const metrics = new HostMetrics({ disks, ...(interfaces !== undefined && { interfaces }) });
  const missing = new Set<MetricGroup>();
  return {
    name,
    read: async () => {
      const results = await Promise.allSettled(groups.map((group) => metrics.read(group)));
      for (const [at, result] of results.entries()) {
        const group = groups[at];
        if (group === undefined || (result.status === 'rejected') === missing.has(group)) continue;
        if (result.status === 'fulfilled') missing.delete(group);
        else {
          missing.add(group);
          log.info({ sensor: name, group, cause: String((result.reason as Error).cause) }, 'the machine does not show this group');
        }
      }
      if (results.every(({ status }) => status === 'rejected')) throw sensorFault('silent', 'the machine shows none of the groups');
      return results.flatMap((result) => (result.status === 'fulfilled' ? result.value : []));
    },
    close: async () => {},
  };
}
