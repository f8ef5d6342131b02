/** A search field, once there are attached devices or many values: it leaves the devices, sensors and values that somebody looks for. */
import { byId, setText } from '../shared/dom.js';
import { say, told } from '../shared/texts.js';

/** So few that a search leaves are opened. */
const MAX_FOUND_OPEN = 3;
/** More values than a desktop shows at once. */
const MANY_VALUES = 24;
let wanted = [];

export function prepareFinder() {
  byId('device-search').addEventListener('input', ({ currentTarget }) => {
    wanted = currentTarget.value.toLowerCase().split(/\s+/).filter(Boolean);
    search(true);
  });
}

export function renderFinder({ devices, sensors }) {
  const values = sensors.reduce((sum, { readings }) => sum + readings.length, 0);
  byId('device-finder').hidden = devices === undefined && values <= MANY_VALUES;
  if (byId('device-finder').hidden) {
    wanted = [];
    byId('device-search').value = '';
    return search(false);
  }
  setText(byId('device-label'), devices === undefined ? say('findValue') : say('findDevice'));
  if (devices !== undefined) {
    const { total, list, words } = devices;
    setText(
      byId('device-words'),
      say('attached', { words: told(words), listed: list.length < total ? list.length : undefined }),
    );
  }
  search(false);
}

function search(isNew) {
  const groups = [...document.querySelectorAll('.group')];
  if (groups.length > 0) searchGroups(groups, isNew);
  else searchSensors();
}

function searchGroups(groups, isNew) {
  for (const group of groups) group.hidden = !hasAll(group.dataset.text);
  const listed = groups.filter((group) => byId('sensors').contains(group) && group.dataset.key !== 'gateway');
  const found = listed.filter(({ hidden }) => !hidden);
  setText(
    byId('device-found'),
    wanted.length === 0 ? '' : say('foundDevices', { found: found.length, count: listed.length }),
  );
  if (isNew && wanted.length > 0 && found.length <= MAX_FOUND_OPEN) for (const group of found) group.open = true;
}

/** A sensor that is called so, by label or name, is shown whole, another with the values that are called so. */
function searchSensors() {
  const rows = [...byId('sensors').querySelectorAll('.reading')];
  let found = 0;
  for (const sensor of byId('sensors').querySelectorAll('.sensor')) {
    const name = `${sensor.dataset.name} ${sensor.querySelector('.head').textContent}`.toLowerCase();
    const own = [...sensor.querySelectorAll('.reading')];
    for (const row of own)
      row.hidden = !hasAll(`${name} ${row.dataset.name} ${row.querySelector('.key').textContent}`.toLowerCase());
    const shown = own.filter(({ hidden }) => !hidden).length;
    found += shown;
    sensor.hidden = wanted.length > 0 && shown === 0 && !hasAll(name);
  }
  setText(byId('device-found'), wanted.length === 0 ? '' : say('foundValues', { found, count: rows.length }));
}

function hasAll(text) {
  return wanted.every((word) => text.includes(word));
}
