/** Labels of the platform's keys, as a gateway's configuration gives them. */
import { alarmKey, sensorStateKey } from '../../config/keys/added-keys.ts';
import { namesOfReading, platformKeyOf, readingsOf } from '../../config/keys/sensor-keys.ts';
import type { AgentConfig } from '../../config/schema/agent-config.ts';

/** Labels by the key at the platform. */
export type Labels = ReadonlyMap<string, string>;

/** Returns the labels of the gateway's own sensors; attached devices have keys of the same names. */
export function labelsIn({ sensors }: Pick<AgentConfig, 'sensors'>): Labels {
  const own = sensors.filter(({ enabled, device }) => enabled && device === undefined);
  return new Map(
    own.flatMap((sensor) => {
      const sent = readingsOf(sensor, (key) => platformKeyOf(sensor, key)) ?? [];
      return (readingsOf(sensor, (key) => key) ?? []).flatMap((key, at): [string, string][] => {
        const { label } = namesOfReading(sensor, { key });
        return label === undefined ? [] : [[sent[at] ?? key, label]];
      });
    }),
  );
}

/** Returns the labels of what alarm rules are about, by the keys of its state: of `<key>_alarm` the reading's, of `<sensor>_state` the sensor's. */
export function alarmLabelsIn(config: Pick<AgentConfig, 'sensors'>): Labels {
  const ofReadings = [...labelsIn(config)].map(([key, label]): [string, string] => [alarmKey(key), label]);
  const ofSensors = config.sensors.flatMap(({ name, label, enabled, device }): [string, string][] =>
    label === undefined || !enabled || device !== undefined ? [] : [[sensorStateKey(name), label]],
  );
  return new Map([...ofReadings, ...ofSensors]);
}
