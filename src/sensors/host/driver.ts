/**
 * The gateway itself as a sensor. A group that the machine has never shown is left out; the sensor fails only when none can be read. What is
 * missing of a group that it does show, a disk or an interface, is left out alone and told, and so is all that the configuration names.
 *
 * A disk of a network may hang for as long as the network is gone, and holds a thread of the pool meanwhile. Each is asked by itself, and not
 * again before it has answered; what has answered is given all the same. A read of which nothing has answered lasts as long as what it
 * asked for: the driver that is opened again asks again, and whoever opens it counts what is left so.
 */
import { withinDeadline } from '../../hardware/deadline.ts';
import type { Metric, MetricGroup } from '../../host/host-metrics.ts';
import type { Refusal, Sensor } from '../kind/sensor.ts';
import type { SensorDeps } from '../kind/sensor-deps.ts';
import { sensorFault } from '../kind/sensor-fault.ts';
import { type HostConfig, hostKeys } from './definition.ts';

/** Part of the metrics that is read by itself. */
interface Part {
  readonly group: MetricGroup;
  readonly disk?: string;
}

export async function open(
  config: HostConfig,
  { log, openHostMetrics }: SensorDeps,
  _signal: AbortSignal,
): Promise<Sensor> {
  const { name, groups, disks, interfaces } = config;
  const metrics = openHostMetrics({ disks, ...(interfaces !== undefined && { interfaces }) });
  const parts = groups.flatMap((group): readonly Part[] =>
    group === 'disk' ? [...new Set(disks)].map((disk) => ({ group, disk })) : [{ group }],
  );
  /** Named in the configuration, or shown before. */
  const expected = new Set<MetricGroup>(interfaces === undefined ? ['disk'] : ['disk', 'network']);
  const notShown = new Set<MetricGroup>();
  const underWay = new Map<Part, Promise<readonly Metric[]>>();
  let refused: readonly Refusal[] = [];

  const ask = async (part: Part, signal: AbortSignal): Promise<readonly Metric[]> => {
    const { group, disk } = part;
    const answer = underWay.get(part) ?? metrics.read(group, disk).finally(() => underWay.delete(part));
    underWay.set(part, answer);
    try {
      const given = await withinDeadline(answer, disk ?? group, signal);
      expected.add(group);
      return given;
    } catch (fault) {
      // A read that was ended before says nothing.
      if (signal.aborted) throw fault;
      if (!expected.has(group) && !notShown.has(group))
        log.info(
          { sensor: name, group, cause: String((fault as Error).cause) },
          'the machine does not show this group',
        );
      notShown.add(group);
      throw fault;
    }
  };
  return {
    name,
    read: async (signal) => {
      const results = await Promise.allSettled(parts.map((part) => ask(part, signal)));
      const readings = results.flatMap((result) => (result.status === 'fulfilled' ? result.value : []));
      if (results.length > 0 && results.every(({ status }) => status === 'rejected')) {
        await Promise.allSettled(underWay.values());
        throw sensorFault('silent', 'the machine shows none of the groups');
      }
      const given = new Set(readings.map(({ key }) => key));
      const why = underWay.size > 0 ? 'the machine has not shown it in time' : 'the machine does not show it';
      refused = hostKeys({ ...config, groups: groups.filter((group) => expected.has(group)) })
        .filter((key) => !given.has(key))
        .map((key) => ({ key, fault: sensorFault('silent', why) }));
      return readings;
    },
    refused: () => refused,
    close: async () => {},
  };
}
