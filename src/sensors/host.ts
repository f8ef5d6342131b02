/**
 * The gateway itself as a sensor. A group the machine does not show is left out; the sensor fails only when none can be read. What is missing
 * of a group that it does show, a disk or an interface, is left out alone.
 */
import type { SensorConfigOf } from '../config/agent-config.ts';
import { sensorKeys } from '../config/sensor-keys.ts';
import type { MetricGroup } from '../host/host-metrics.ts';
import type { Refusal, Sensor } from './sensor.ts';
import type { SensorDeps } from './sensor-deps.ts';
import { sensorFault } from './sensor-fault.ts';

export async function openHost(
  config: SensorConfigOf<'host'>,
  { log, openHostMetrics }: SensorDeps,
  _signal: AbortSignal,
): Promise<Sensor> {
  const { name, groups, disks, interfaces } = config;
  const metrics = openHostMetrics({ disks, ...(interfaces !== undefined && { interfaces }) });
  const missing = new Set<MetricGroup>();
  let refused: readonly Refusal[] = [];
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
      const readings = results.flatMap((result) => (result.status === 'fulfilled' ? result.value : []));
      const given = new Set(readings.map(({ key }) => key));
      const expected = sensorKeys({ ...config, groups: groups.filter((group) => !missing.has(group)) }) ?? [];
      refused = expected
        .filter((key) => !given.has(key))
        .map((key) => ({ key, fault: sensorFault('silent', 'the machine does not show it') }));
      return readings;
    },
    refused: () => refused,
    close: async () => {},
  };
}
