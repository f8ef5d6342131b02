/** Content of the part "Configuration": the last changes, and what is connected, each part with its sensor or with a way to add it. */
import './change-texts.js';
import { byId, el, keepList, setText } from '../shared/dom.js';
import { foreign } from '../shared/forms.js';
import { say, told } from '../shared/texts.js';
import { called } from '../shared/words.js';
import { changeWords, openChange, shortHash, statusNow } from './configuration.js';
import { mayConfigure } from './facts.js';
import { ask } from './switching.js';

const BAUD_RATES = [1_200, 2_400, 4_800, 9_600, 19_200, 38_400, 57_600, 115_200];
const USUAL_BAUD_RATE = 9_600;

/** Parts by id, as they were found last, each with the serial line that was asked for it. */
const parts = new Map();

export function makeFold(place) {
  place.replaceChildren(
    el(
      'section',
      { id: 'parts', 'aria-labelledby': 'parts-title', hidden: true },
      el('h3', { id: 'parts-title' }, say('findParts')),
      el('p', { class: 'quiet' }, say('findPartsHint')),
      makeSearch({ id: 'find-parts', words: say('findParts') }, () => undefined),
      el('ul', { id: 'parts-list', class: 'plain' }),
      el('ul', { id: 'parts-faults', class: 'plain' }),
      el(
        'div',
        { id: 'lines', hidden: true },
        el('h4', {}, say('linesTitle')),
        el('ul', { id: 'lines-list', class: 'plain' }),
      ),
    ),
    el(
      'section',
      { 'aria-labelledby': 'tried-title' },
      el('h3', { id: 'tried-title' }, say('latestChanges')),
      el('p', { id: 'tried-none', class: 'quiet' }, say('noTrial')),
      el('ol', { id: 'tried', class: 'plain' }),
    ),
  );
}

export function renderFold({ history, state }) {
  byId('parts').hidden = mayConfigure() !== true;
  byId('tried-none').hidden = history.length > 0;
  // A refusal was never on trial, and root's history has none.
  const refusal = state?.state === 'refused' ? [Object.assign({ number: state.atMs, outcome: 'refused' }, state)] : [];
  keepList(byId('tried'), [...refusal, ...history.slice(0, 10)], {
    keyOf: ({ number, outcome }) => `${number} ${outcome}`,
    make: ({ hash, reason = '', origin, outcome, atMs }) =>
      el(
        'li',
        {},
        say('historyLine', {
          hash: shortHash(hash),
          words: changeWords({ outcome, origin, atMs }),
          reason: reason === '' ? '' : told(reason),
        }),
      ),
  });
}

/** Returns the button of a search with what is said of it beside. @param modbus returns the serial line that is asked, undefined for the buses. */
function makeSearch({ id, words, label }, modbus) {
  const said = el('span', { class: 'search-said', role: 'status' });
  const search = () => void find(modbus(), said);
  const button = el('button', { id, type: 'button', class: 'search', 'aria-label': label, onclick: search }, words);
  return el('div', { class: 'row' }, button, said);
}

/** Asks the buses; with a line, that line for Modbus devices. What was found before stays. */
async function find(modbus, said) {
  const buttons = byId('parts').querySelectorAll('button.search');
  for (const button of buttons) button.disabled = true;
  for (const other of byId('parts').querySelectorAll('.search-said')) setText(other, '');
  setText(said, say(modbus === undefined ? 'looking' : 'askingLine'));
  const { answer, words } = await ask('findParts', modbus === undefined ? {} : { modbus });
  for (const button of buttons) button.disabled = false;
  if (answer === undefined) return setText(said, words);
  const { found, ports, faults } = answer;
  const count = found.length;
  setText(said, count === 0 ? say('foundNothing') : say('foundParts', { count }));
  // The buses were asked anew; what hangs on a line was asked for by itself.
  const inUse = new Set(ports.flatMap(({ port, usedBy }) => (usedBy === undefined ? [] : [port])));
  for (const [id, { line }] of parts) if (line === modbus?.port || inUse.has(line)) parts.delete(id);
  for (const part of found) parts.set(part.id, { part, line: modbus?.port });
  showParts(modbus === undefined ? [] : found);
  byId('parts-faults').replaceChildren(...faults.map((fault) => el('li', { class: 'bad' }, foreign(fault))));
  if (modbus !== undefined) return;
  byId('lines').hidden = ports.length === 0;
  keepList(byId('lines-list'), ports, { keyOf: ({ port, usedBy = '' }) => `${port} ${usedBy}`, make: makeLine });
}

/** Shows what can be added first, and what is in use last; goes to the first of the parts that were just found. */
function showParts(latest) {
  const all = [...parts.values()].map(({ part }) => part);
  const list = byId('parts-list');
  const isFree = ({ usedBy }) => usedBy === undefined;
  list.replaceChildren(...[...all.filter(isFree), ...all.filter((part) => !isFree(part))].map(makePart));
  const first = latest.find(isFree) ?? latest[0];
  const item = first && [...list.children].find(({ dataset }) => dataset.id === first.id);
  item?.scrollIntoView({ block: 'center' });
  item?.focus({ preventScroll: true });
}

function sensorTitle(name) {
  return called({ label: statusNow().sensors.find((one) => one.name === name)?.label, key: name });
}

function makePart(part) {
  const { place, what, usedBy, readings = [], sensor } = part;
  const words = usedBy === undefined ? undefined : say('partUsed', { sensor: sensorTitle(usedBy) });
  const isUnknown = usedBy === undefined && sensor === undefined;
  const onTried = () => {
    part.isTried = true;
    showParts([]);
  };
  const add = () => void openChange({ title: what, found: part, onTried });
  const isNew = usedBy === undefined && sensor !== undefined && part.isTried !== true;
  return el(
    'li',
    { class: 'part-found', 'data-id': part.id, tabindex: -1 },
    el('p', {}, el('strong', {}, foreign(what))),
    el('p', { class: 'quiet' }, foreign(place)),
    readings.length === 0 ? undefined : el('p', {}, say('partReads', { readings: foreign(readings.join(', ')) })),
    words === undefined ? undefined : el('p', {}, words),
    isUnknown ? el('p', {}, say('partUnknown')) : undefined,
    part.isTried === true ? el('p', {}, say('partTried')) : undefined,
    isNew
      ? el('button', { type: 'button', onclick: add, 'aria-label': say('addPartOf', { what, place }) }, say('addPart'))
      : undefined,
  );
}

/** A line that a sensor reads is asked by nobody else. */
function makeLine({ port, usedBy }) {
  const words =
    usedBy === undefined ? say('lineFree', { port }) : say('lineUsed', { port, sensor: sensorTitle(usedBy) });
  const options = BAUD_RATES.map((rate) =>
    el('option', { value: rate, selected: rate === USUAL_BAUD_RATE }, say('baudRate', { rate })),
  );
  const rate = el('select', { 'aria-label': say('baudRateOf', { port }) }, ...options);
  const search = makeSearch({ words: say('askLine'), label: say('askLineOf', { port }) }, () => ({
    port,
    baudRate: Number(rate.value),
  }));
  search.prepend(rate);
  return el('li', { class: 'part-found' }, el('p', {}, words), search);
}
