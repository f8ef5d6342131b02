/** Content of the part "Configuration": the last ten that were tried, and what is connected, each part with its sensor or with a way to add it. */
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

export function makeFold(place) {
  place.replaceChildren(
    el(
      'section',
      { id: 'parts', 'aria-labelledby': 'parts-title', hidden: true },
      el('h3', { id: 'parts-title' }, say('findParts')),
      el('p', { class: 'quiet' }, say('findPartsHint')),
      el('button', { id: 'find-parts', type: 'button', onclick: () => void find() }, say('findParts')),
      el('p', { id: 'parts-said', role: 'status' }),
      el('ul', { id: 'parts-list', class: 'plain' }),
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
      el('h3', { id: 'tried-title' }, say('lastTen')),
      el('p', { id: 'tried-none', class: 'quiet' }, say('noHistory')),
      el('ol', { id: 'tried', class: 'plain' }),
    ),
  );
}

export function renderFold({ history }) {
  byId('parts').hidden = mayConfigure() !== true;
  byId('tried-none').hidden = history.length > 0;
  keepList(byId('tried'), history.slice(0, 10), {
    keyOf: ({ number, outcome }) => `${number} ${outcome}`,
    make: ({ hash, reason, origin, outcome, atMs }) =>
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

/** Asks the buses; with a line, that line for Modbus devices. */
async function find(modbus) {
  const buttons = byId('parts').querySelectorAll('button');
  for (const button of buttons) button.disabled = true;
  setText(byId('parts-said'), say('looking'));
  const { answer, words } = await ask('findParts', modbus === undefined ? {} : { modbus });
  for (const button of buttons) button.disabled = false;
  if (answer === undefined) return setText(byId('parts-said'), words);
  const { found, ports, faults } = answer;
  const count = found.length;
  setText(byId('parts-said'), count === 0 ? say('foundNothing') : say('foundParts', { count }));
  byId('parts-list').replaceChildren(
    ...found.map(makePart),
    ...faults.map((fault) => el('li', { class: 'bad' }, foreign(fault))),
  );
  byId('lines').hidden = ports.length === 0;
  keepList(byId('lines-list'), ports, { keyOf: ({ port, usedBy = '' }) => `${port} ${usedBy}`, make: makeLine });
}

function sensorTitle(name) {
  return called({ label: statusNow().sensors.find((one) => one.name === name)?.label, key: name });
}

function makePart(part) {
  const { place, what, usedBy, readings = [], sensor } = part;
  const words = usedBy === undefined ? undefined : say('partUsed', { sensor: sensorTitle(usedBy) });
  const isUnknown = usedBy === undefined && sensor === undefined;
  const add = () => void openChange({ title: what, found: part });
  const isNew = usedBy === undefined && sensor !== undefined;
  return el(
    'li',
    { class: 'part-found', 'data-id': part.id },
    el('p', {}, el('strong', {}, foreign(what))),
    el('p', { class: 'quiet' }, foreign(place)),
    readings.length === 0 ? undefined : el('p', {}, say('partReads', { readings: foreign(readings.join(', ')) })),
    words === undefined ? undefined : el('p', {}, words),
    isUnknown ? el('p', {}, say('partUnknown')) : undefined,
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
    el('option', { value: rate, selected: rate === USUAL_BAUD_RATE }, String(rate)),
  );
  const rate = el('select', { 'aria-label': say('baudRateOf', { port }) }, ...options);
  const send = () => void find({ port, baudRate: Number(rate.value) });
  const button = el(
    'button',
    { type: 'button', onclick: send, 'aria-label': say('askLineOf', { port }) },
    say('askLine'),
  );
  return el('li', { class: 'part-found' }, el('p', {}, words), el('div', { class: 'row' }, rate, button));
}
