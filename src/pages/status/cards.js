/** Cards of what stands together: a card for each thing of the gateway, by the label or name of its sensors, and one for each attached device while they are few. */
import { locale } from '../shared/texts.js';
import { called } from '../shared/words.js';

/** From so many on, attached devices are lines of a table. */
const TABLE_FROM = 10;
const ORDER = new Intl.Collator(locale, { numeric: true });

/** True where attached devices are lines of a table, and no cards. */
export function isTable({ devices }) {
  return devices !== undefined && devices.total >= TABLE_FROM;
}

/** The machine's own numbers are a card of their own. */
export const isMachine = ({ kind, device }) => kind === 'host' && device === undefined;

/** Returns cards of the gateway's own sensors, in the order of the configuration, then of the devices by name. */
export function cardsOf(view) {
  const own = view.sensors.filter((sensor) => sensor.device === undefined && !isMachine(sensor));
  return [...thingsOf(own), ...(isTable(view) ? [] : devicesOf(view).map(deviceCard))];
}

/** Returns a card for each label, or name, of some sensors. */
export function thingsOf(sensors) {
  const byTitle = groupBy(sensors, ({ name, label }) => called({ label, key: name }));
  return [...byTitle].map(([title, list]) => ({ key: `thing ${title}`, title, sensors: list }));
}

/** Returns the attached devices by name, each with its sensors and outputs; those that are not told of have their slot as a name. */
export function devicesOf({ devices, sensors, actuators }) {
  if (devices === undefined) return [];
  const [sensorsBySlot, outputsBySlot] = [sensors, actuators].map((list) => groupBy(list, ({ device }) => device));
  const of = (bySlot, slots) => slots.flatMap((slot) => bySlot.get(slot) ?? []);
  const told = devices.list.map((device) => ({
    key: `device ${device.id}`,
    name: device.name,
    device,
    sensors: of(sensorsBySlot, device.slots),
    outputs: of(outputsBySlot, device.slots),
  }));
  const toldSlots = new Set(devices.list.flatMap(({ slots }) => slots));
  const others = [...new Set([...sensorsBySlot.keys(), ...outputsBySlot.keys()])]
    .filter((slot) => slot !== undefined && !toldSlots.has(slot))
    .map((slot) => ({
      key: `slot ${slot}`,
      name: slot,
      sensors: of(sensorsBySlot, [slot]),
      outputs: of(outputsBySlot, [slot]),
    }));
  return [...told, ...others].sort((one, other) => ORDER.compare(titleOf(one), titleOf(other)));
}

/** Returns the label that somebody gave a device, else its name. */
export function titleOf({ name, label, device }) {
  return device?.label ?? label ?? name;
}

/** Stands for `Map.groupBy`, which phones of 2023 do not have. */
function groupBy(list, keyOf) {
  const groups = new Map();
  for (const item of list) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item]);
  return groups;
}

function deviceCard(one) {
  return { key: one.key, title: titleOf(one), device: one.device, sensors: one.sensors };
}
