/**
 * Sensors of `kind: mqtt` that stand for several devices, each with its name at one level of the topic:
 *
 *   { name: zigbee, topic: zigbee2mqtt/+, deviceLevel: 2 }   →   { name: zigbee-kitchen, topic: zigbee2mqtt/kitchen, device: kitchen }, …
 */
import { isMapping, type Mapping } from './template-words.ts';

const LEVEL = /^[^/+#\0]{1,255}$/;

/** Tells a section that stands for several devices, or means to. */
export function isForDevices(section: unknown): section is Mapping {
  return isMapping(section) && Object.hasOwn(section, 'deviceLevel');
}

/**
 * One section for each device; undefined where none can be made, which the kind's checks put into words.
 * @param slots names of all devices, for a section that names none.
 */
export function sectionsOfDevices(section: Mapping, slots: readonly string[]): readonly Mapping[] | undefined {
  const { deviceLevel, devices, ...rest } = section as Readonly<Record<string, unknown>>;
  const levelOf = isMapping(devices) ? devices : Object.fromEntries(slots.map((slot) => [slot, slot]));
  const { name, topic, availability } = rest;
  const isWhole =
    (devices === undefined || isMapping(devices)) &&
    Object.values(levelOf).every((level) => typeof level === 'string' && LEVEL.test(level));
  if (!isWhole || Object.keys(levelOf).length === 0 || Object.hasOwn(rest, 'device')) return undefined;
  if (!hasPlaceAt(topic, deviceLevel)) return undefined;
  return Object.entries(levelOf).map(([slot, level]) => {
    const fill = (text: unknown): unknown =>
      hasPlaceAt(text, deviceLevel)
        ? text
            .split('/')
            .with(Number(deviceLevel) - 1, String(level))
            .join('/')
        : text;
    const made: Record<string, unknown> = {
      ...rest,
      name: `${String(name)}-${slot}`,
      device: slot,
      topic: fill(topic),
    };
    if (isMapping(availability)) made.availability = { ...availability, topic: fill(availability.topic) };
    return made;
  });
}

function hasPlaceAt(topic: unknown, level: unknown): topic is string {
  return typeof topic === 'string' && typeof level === 'number' && topic.split('/')[level - 1] === '+';
}
