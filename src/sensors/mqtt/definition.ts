/** A device that publishes to an MQTT broker: Zigbee2MQTT, Tasmota, ESPHome, a meter's gateway. It speaks by itself. */
import { z } from 'zod';
import type { ConfigPath } from '../../config/fields/config-fault.ts';
import { name, section, table, text, whole } from '../../config/fields/fields.ts';
import { type Finding, findingAtKey, noEffect } from '../../config/fields/findings.ts';
import { parseJsonPath } from '../../config/fields/json-path.ts';
import { slotName } from '../../config/fields/slot-name.ts';
import { isTopic, isTopicFilter } from '../../values/mqtt-topics.ts';
import { jsonPathFaults, jsonPaths, LINE_KEYS, lineFormatFields } from '../families/lines/definition.ts';
import { type ConfigOf, defineSensor, sensorSection } from '../kind/definition.ts';

const FILTER = 'a topic, in which + stands for one level and # at the end for all that follow';
const TOPIC = 'a topic without + and #';

const schema = sensorSection('mqtt', () => ({
  /** Name of a broker of `brokers`. */
  broker: name(),
  /** With `+` for one level and `#` for all that follow; each message gives the same keys, unless `keyLevel` tells them apart. */
  topic: z.string().max(1_024).refine(isTopicFilter, FILTER).meta({ expected: FILTER }),
  ...lineFormatFields,
  /** For `json`: key and place in the message: `battery.voltage`. Without them each member of the message is a key. */
  paths: jsonPaths().optional(),
  /** Level of the topic, from 1, whose text is the key of a number, and stands before each key of other formats: `kitchen_temperature`. */
  keyLevel: whole(1, 64).optional(),
  /**
   * Level of the topic, from 1, with `+` for the device: the section stands for one sensor for each entry of `devices:`, with the name of the entry there,
   * in `availability` as well: `zigbee` becomes `zigbee-kitchen`.
   */
  deviceLevel: whole(1, 64).optional(),
  /** For `deviceLevel`: the devices that are meant, and the text of each at the level: `{ kitchen: "Kitchen sensor" }`; default: all, by their names. */
  devices: table(slotName(), text(/^[^/+#\0]{1,255}$/, 'one level of a topic')).optional(),
  /** Topic in which a last will says that the device is gone; while it does the sensor fails. */
  availability: section({
    topic: z.string().max(1_024).refine(isTopic, TOPIC).meta({ expected: TOPIC }),
    online: z.string().min(1).max(255).default('online'),
    offline: z.string().min(1).max(255).default('offline'),
    /** Place of the word where the message is JSON: `state`. */
    path: text(/^.{1,255}$/, 'a path').optional(),
  }).optional(),
}));

export type MqttConfig = ConfigOf<typeof schema>;

export const mqtt = defineSensor({
  schema,
  driver: () => import('./driver.ts'),
  ...LINE_KEYS,
  keys,
  keepsTimes: true,
  reportsByEvent: () => true,
  faults,
  remedy: () => 'listen by hand (mosquitto_sub) from this gateway',
});

function keys(config: MqttConfig): readonly string[] | undefined {
  if (config.keyLevel !== undefined) return undefined;
  return config.paths === undefined ? LINE_KEYS.keys(config) : Object.keys(config.paths);
}

function faults(config: MqttConfig, path: ConfigPath): Finding[] {
  const { align, availability, keyLevel, topic } = config;
  const levels = topic.split('/');
  return [
    ...LINE_KEYS.faults(config, path),
    ...jsonPathFaults(config, path),
    // It would be opened at its first time alone, and messages for it would not be waited for.
    ...(align ? [noEffect(path, 'align', 'a sensor that is asked')] : []),
    ...(keyLevel !== undefined && keyLevel > levels.length && levels.at(-1) !== '#'
      ? [
          findingAtKey(
            [...path, 'keyLevel'],
            `level ${keyLevel} of a topic with ${levels.length}`,
            'a level that it has',
          ),
        ]
      : []),
    ...deviceFaults(config, path),
    ...(availability?.path !== undefined && parseJsonPath(availability.path) === undefined
      ? [findingAtKey([...path, 'availability', 'path'], 'no path', 'names and places such as state')]
      : []),
  ];
}

/** Each section with `deviceLevel` has become sensors of devices before it is judged (config/device-levels.ts), but for those of which none could be made. */
function deviceFaults({ device, deviceLevel, devices, topic }: MqttConfig, path: ConfigPath): Finding[] {
  if (deviceLevel === undefined) return devices === undefined ? [] : [noEffect(path, 'devices', 'deviceLevel')];
  const at = [...path, 'deviceLevel'];
  if (device !== undefined) return [findingAtKey(at, 'deviceLevel beside device', 'one of them')];
  if (topic.split('/')[deviceLevel - 1] !== '+')
    return [
      findingAtKey(at, `no + at level ${deviceLevel} of the topic`, 'the level at which + stands for the device'),
    ];
  return [findingAtKey(at, 'stands for no device', 'devices: with an entry for each device')];
}
