/** A search field, once there are many values: it leaves the sensors and values that somebody looks for. */
import { byId, setText } from '../shared/dom.js';
import { say } from '../shared/texts.js';

/** More values than a desktop shows at once. */
const MANY_VALUES = 24;
let wanted = [];

export function prepareFinder() {
  byId('finder-search').addEventListener('input', ({ currentTarget }) => {
    wanted = currentTarget.value.toLowerCase().split(/\s+/).filter(Boolean);
    search();
  });
}

export function renderFinder() {
  const isShown = byId('sensors').querySelectorAll('.reading').length > MANY_VALUES;
  byId('finder').hidden = !isShown;
  if (!isShown) {
    wanted = [];
    byId('finder-search').value = '';
  }
  search();
}

/** A card that is called so, by its head or its sensors' names, is shown whole, another with the values that are called so. */
function search() {
  const rows = [...byId('sensors').querySelectorAll('.reading')];
  let found = 0;
  for (const card of byId('sensors').querySelectorAll('.sensor')) {
    const name = `${card.dataset.names} ${card.querySelector('.head').textContent}`.toLowerCase();
    const own = [...card.querySelectorAll('.reading')];
    for (const row of own)
      row.hidden = !hasAll(`${name} ${row.dataset.name} ${row.querySelector('.key').textContent}`.toLowerCase());
    const shown = own.filter(({ hidden }) => !hidden).length;
    found += shown;
    card.hidden = wanted.length > 0 && shown === 0 && !hasAll(name);
  }
  setText(byId('finder-found'), wanted.length === 0 ? '' : say('foundValues', { found, count: rows.length }));
}

function hasAll(text) {
  return wanted.every((word) => text.includes(word));
}
