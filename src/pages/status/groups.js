/** Sensors and actuators by the device that they are of, once there are attached devices. */
import { el, keepList, setText } from '../shared/dom.js';
import { named } from '../shared/forms.js';
import { agentLanguage, locale, say, told } from '../shared/texts.js';
import { duration } from '../shared/words.js';

const CLASSES = { good: 'quiet', waiting: 'warn', fault: 'bad' };
/** More begin closed, but for those that need a person. */
const MAX_OPEN = 10;
const ORDER = new Intl.Collator(locale, { numeric: true });

/** Calls `keep(container, items, isGrouped)` once, or for each device's open group; `tellsAll` shows every device, and what to do for it. */
export function keepGroups(container, items, view, { keep, tellsAll = false }) {
  if (view.devices === undefined) return keep(container, items, false);
  const groups = groupsOf(items, view).filter((group) => tellsAll || group.items.length > 0);
  keepList(container, groups, {
    keyOf: ({ key }) => key,
    make: (group) => makeGroup(group, groups.length),
    update: (element, group) => {
      updateGroup(element, tellsAll ? group : { ...group, remedy: undefined }, view);
      element.fill = () => keep(element.querySelector('.items'), group.items, true);
      if (element.open) element.fill();
    },
  });
}

/** The gateway, then the devices by name: where a device stands does not change with its state. */
function groupsOf(items, { devices, deviceName }) {
  const bySlot = new Map();
  for (const item of items) bySlot.set(item.device, [...(bySlot.get(item.device) ?? []), item]);
  const told = devices.list.map((device) => ({
    ...{ key: `device ${device.id}`, name: device.name, device, remedy: device.remedy },
    items: device.slots.flatMap((slot) => bySlot.get(slot) ?? []),
  }));
  const toldSlots = new Set(devices.list.flatMap(({ slots }) => slots));
  const others = [...bySlot.keys()]
    .filter((slot) => slot !== undefined && !toldSlots.has(slot))
    .map((slot) => ({ key: `slot ${slot}`, name: slot, items: bySlot.get(slot) }));
  const own = bySlot.get(undefined) ?? [];
  const gateway =
    own.length === 0 ? [] : [{ key: 'gateway', name: deviceName === '' ? say('thisGateway') : deviceName, items: own }];
  return [...gateway, ...[...told, ...others].sort((a, b) => ORDER.compare(a.name, b.name))];
}

function makeGroup({ device, key }, count) {
  const isOpen = count <= MAX_OPEN || key === 'gateway' || (device !== undefined && device.verdict !== 'good');
  const ontoggle = ({ currentTarget }) => {
    if (currentTarget.open) currentTarget.fill?.();
  };
  return el(
    'details',
    { class: 'group', open: isOpen, ontoggle },
    el('summary', {}, el('h3', {}), ' ', el('span', { class: 'words' })),
    el('p', { class: 'remedy quiet', lang: agentLanguage }),
    el('div', { class: 'items' }),
  );
}

function updateGroup(element, { name, device, key, remedy = '' }, { nowMs }) {
  setText(
    element.querySelector('h3'),
    device?.label === undefined ? named(name) : `${named(name)} (${named(device.label)})`,
  );
  const words = element.querySelector('.words');
  const since =
    device === undefined || device.verdict === 'good'
      ? ''
      : `, ${say('forTime', { time: duration((nowMs - device.sinceMs) / 1000) })}`;
  setText(words, device === undefined ? '' : `${told(device.words)}${since}`);
  words.className = `words ${CLASSES[device?.verdict] ?? 'quiet'}`;
  setText(element.querySelector('.remedy'), remedy);
  element.querySelector('.remedy').hidden = remedy === '';
  const { id, label, slots = [], state } = device ?? {};
  element.dataset.text = [name, id, label, ...slots, state, device?.words, key === 'gateway' ? 'gateway' : '']
    .filter(Boolean)
    .join(' ')
    .toLowerCase();
}
