/** Attached devices from ten on: a line each, worst first, with search and sort; a line that is opened shows the device's readings and outputs. */
import { byId, el, keepList, setText } from '../shared/dom.js';
import { named } from '../shared/forms.js';
import { say, told } from '../shared/texts.js';
import { ago, count, duration, shown } from '../shared/words.js';
import { devicesOf, isTable, thingsOf, titleOf } from './cards.js';
import { keepOutputs } from './outputs.js';
import { keepCards } from './readings.js';
import { MARKS } from './verdict.js';

/** So many lines are shown until somebody wants all. */
const FIRST = 15;
/** Values of a line, without their names: what is behind the line has these. */
const VALUES = 3;
const STATES = { good: 'good', waiting: 'warn', fault: 'bad' };
const WORDS = {
  blocked: say('deviceBlocked'),
  unidentified: say('deviceUnidentified'),
  provisioning: say('deviceProvisioning'),
  removed: say('deviceRemoved'),
  ready: say('deviceReady'),
};
const URGENCY = ['fault', 'waiting', 'good'];

let wanted = [];
let isAll = false;
let last;

export function prepareDevices() {
  const again = () => last && renderDevices(last);
  byId('device-search').addEventListener('input', ({ currentTarget }) => {
    wanted = currentTarget.value.toLowerCase().split(/\s+/).filter(Boolean);
    again();
  });
  byId('device-sort').addEventListener('change', again);
  byId('device-all').addEventListener('click', () => {
    isAll = !isAll;
    again();
  });
}

export function renderDevices(view) {
  last = view;
  const { devices } = view;
  byId('devices').hidden = devices === undefined;
  if (devices === undefined) return;
  const { words, list, total } = devices;
  setText(
    byId('devices-words'),
    say('attached', { words: told(words), listed: list.length < total ? list.length : undefined }),
  );
  const isShown = isTable(view);
  byId('device-tools').hidden = !isShown;
  byId('device-table').hidden = !isShown;
  byId('device-all').hidden = true;
  if (!isShown) return;
  const all = devicesOf(view);
  const found = sorted(all.filter(isFound), byId('device-sort').value);
  const lines = isAll ? found : found.slice(0, FIRST);
  setText(
    byId('device-found'),
    wanted.length === 0 ? '' : say('foundDevices', { found: found.length, count: all.length }),
  );
  byId('device-all').hidden = found.length <= FIRST;
  setText(byId('device-all'), isAll ? say('showFewer') : say('showAll', { count: found.length }));
  const table = byId('device-table');
  // Bodies beside the head: each device has one, with its line and what is behind it.
  keepList(bodiesOf(table), lines, {
    keyOf: ({ key }) => key,
    make: makeLine,
    update: (body, one) => updateLine(body, one, view),
  });
}

/** Returns what `keepList` needs of the table, without its head. */
function bodiesOf(table) {
  return {
    childNodes: [],
    get children() {
      return table.tBodies;
    },
    get firstElementChild() {
      return table.tBodies[0] ?? null;
    },
    insertBefore: (body, place) => table.insertBefore(body, place),
  };
}

function isFound({ name, device, sensors }) {
  const { id, label, slots = [], state, words } = device ?? {};
  const text = [name, id, label, ...slots, state, words, ...sensors.map((one) => one.label ?? one.name)]
    .filter(Boolean)
    .join(' ')
    .toLowerCase();
  return wanted.every((word) => text.includes(word));
}

/** The order by name stays among those that are equal. */
function sorted(list, by) {
  const of = {
    state: ({ device }) => URGENCY.indexOf(device?.verdict ?? 'good'),
    contact: ({ device }) => device?.lastAcceptedAtMs ?? 0,
    waiting: ({ device }) => -(device?.heldEntries ?? 0),
  }[by];
  return of === undefined ? list : [...list].sort((one, other) => of(one) - of(other));
}

function makeLine(one) {
  const title = titleOf(one);
  const more = el('tr', { class: 'more', hidden: true }, el('td', { colspan: 5 }));
  const toggle = ({ currentTarget }) => {
    more.hidden = !more.hidden;
    currentTarget.setAttribute('aria-expanded', String(!more.hidden));
    renderDevices(last);
  };
  more.firstChild.append(
    el('p', { class: 'words' }),
    el('p', { class: 'remedy quiet' }),
    el('div', { class: 'outputs' }),
    el('div', { class: 'cards' }),
  );
  return el(
    'tbody',
    { class: 'device' },
    el(
      'tr',
      {},
      el(
        'th',
        { scope: 'row' },
        el(
          'button',
          { type: 'button', class: 'opens', 'aria-expanded': 'false', onclick: toggle },
          el('span', { class: 'mark-of-state', 'aria-hidden': 'true' }),
          el('bdi', {}, title),
        ),
      ),
      el('td', { class: 'state' }),
      el('td', { class: 'contact' }),
      el('td', { class: 'waiting' }),
      el('td', { class: 'values' }),
    ),
    more,
  );
}

function updateLine(body, one, view) {
  const { device, sensors, outputs, name } = one;
  const { nowMs } = view;
  const title = titleOf(one);
  const verdict = device?.verdict;
  const cell = (part) => body.querySelector(`td.${part}`);
  const mark = { good: MARKS.good, waiting: MARKS.warn, fault: MARKS.bad }[verdict] ?? '';
  setText(body.querySelector('.mark-of-state'), mark);
  body.querySelector('.mark-of-state').className = `mark-of-state ${STATES[verdict] ?? 'quiet'}`;
  setText(cell('state'), device === undefined ? '' : stateWords(device));
  cell('state').className = `state ${STATES[verdict] ?? 'quiet'}`;
  const { lastAcceptedAtMs, heldEntries = 0 } = device ?? {};
  setText(cell('contact'), lastAcceptedAtMs === undefined ? '–' : ago((nowMs - lastAcceptedAtMs) / 1000));
  setText(cell('waiting'), heldEntries === 0 ? '–' : count(heldEntries));
  setText(cell('values'), firstValues(sensors));
  const more = body.querySelector('.more');
  if (more.hidden) return;
  const since =
    device === undefined || verdict === 'good'
      ? ''
      : `, ${say('forTime', { time: duration((nowMs - device.sinceMs) / 1000) })}`;
  const prefix = title === name ? '' : `${named(name)}: `;
  const contact =
    lastAcceptedAtMs === undefined ? '' : ` ${say('lastContactWas', { ago: ago((nowMs - lastAcceptedAtMs) / 1000) })}`;
  setText(
    more.querySelector('.words'),
    device === undefined ? '' : `${prefix}${told(device.words)}${since}.${contact}`,
  );
  setText(more.querySelector('.remedy'), told(device?.remedy) ?? '');
  keepOutputs(more.querySelector('.outputs'), outputs, view);
  keepCards(more.querySelector('.cards'), thingsOf(sensors), view);
}

/** A device that is ready and behind is late. */
function stateWords({ state, verdict }) {
  return state === 'ready' && verdict !== 'good' ? say('deviceLate') : (WORDS[state] ?? state);
}

function firstValues(sensors) {
  return sensors
    .flatMap(({ state, readings }) => (state === 'failing' ? [say('givesNothing')] : readings))
    .slice(0, VALUES)
    .map((one) => (typeof one === 'string' ? one : shown(one.value, one)))
    .join(' · ');
}
