/** Outputs: the state of each, the switch beside its name, the reason beneath, and behind "more" who else has a say, the highest first. */
import { classOf } from '../names/classes.js';
import { breakable, byId, el, keepList, setText } from '../shared/dom.js';
import { named } from '../shared/forms.js';
import { drawIcon } from '../shared/icon.js';
import { say, told } from '../shared/texts.js';
import { called, duration, instant, shown } from '../shared/words.js';
import { devicesOf, isTable, titleOf } from './cards.js';
import { changeButton } from './configuration.js';
import { loadFacts, mayConfigure, mayControl, outputWords } from './facts.js';
import { followQuestion, makeControls, makeRelease, makeSwitch, sayAnswer } from './switching.js';

/** Slots of the array of priorities, as people call them. */
const SLOTS = {
  limit: say('slotLimit'),
  protect: say('slotProtect'),
  pulse: say('slotPulse'),
  operator: say('slotOperator'),
  rule: say('slotRule'),
  noContact: say('slotNoContact'),
  base: say('slotBase'),
  none: say('slotNone'),
};
/** Outputs as the newest status tells them. */
const outputsNow = new Map();
/** They are taken back by a release. */
const RELEASED = new Set(['operator', 'pulse']);

/** Outputs of devices that are lines of a table stand behind these. */
export function renderOutputs(view) {
  const outputs = view.actuators.filter(({ device }) => device === undefined || !isTable(view));
  byId('outputs').hidden = outputs.length === 0;
  keepOutputs(byId('actuators'), outputs, view);
}

/** Brings a grid in line with outputs. */
export function keepOutputs(grid, outputs, view) {
  const titles = new Map(devicesOf(view).flatMap((one) => one.outputs.map(({ name }) => [name, titleOf(one)])));
  keepList(grid, outputs, {
    keyOf: ({ name, label = '', class: kind = '' }) => `${name} ${label} ${kind}`,
    make: (output) => makeOutput(output),
    update: (tile, output) =>
      updateOutput(tile, output, { view, device: isTable(view) ? undefined : titles.get(output.name) }),
  });
}

function makeOutput({ name, label, kind, class: of }) {
  const title = called({ label, key: name });
  return el(
    'div',
    { class: 'actuator', 'data-name': name },
    el(
      'div',
      { class: 'head' },
      drawIcon(classOf(of)?.icon ?? 'switch'),
      el('h3', { class: 'name' }, el('bdi', {}, ...breakable(title))),
      el('span', { class: 'state' }),
      el('span', { class: 'control' }),
    ),
    el('p', { class: 'of quiet' }),
    el('p', { class: 'fault bad' }),
    el('p', { class: 'why quiet' }),
    el('div', { class: 'row held', hidden: true }),
    el('p', { class: 'said', role: 'status' }),
    el(
      'details',
      { ontoggle: ({ currentTarget }) => currentTarget.open && void explain(currentTarget, name, kind) },
      el('summary', { 'aria-label': say('moreOf', { name: title }) }, say('more')),
      el('p', { class: 'facts quiet' }),
      el('table', {}, el('tbody', {})),
      el('p', { class: 'released' }),
      changeButton(title, () => ({ output: outputsNow.get(name) })),
    ),
  );
}

/** Once it is opened: where the output is and its limits. */
async function explain(details, name, kind) {
  await loadFacts();
  setText(details.querySelector('.facts'), outputWords(name, kind));
}

function updateOutput(tile, output, { view, device }) {
  const { value, why, fault, slots = [] } = output;
  const words = (one) => shown(one, { class: output.class });
  setText(tile.querySelector('.state'), words(value));
  tile.classList.toggle('on', value === true);
  setText(tile.querySelector('.of'), device === undefined ? '' : named(device));
  setText(tile.querySelector('.fault'), told(fault) ?? '');
  setText(tile.querySelector('.why'), told(why) ?? '');
  const next = slots.find(({ slot }) => !RELEASED.has(slot));
  updateControls(tile, { ...output, title: questionTitle(output, device), released: next?.value });
  keepList(tile.querySelector('tbody'), slots, {
    keyOf: ({ slot, rule = '', label: ruleLabel = '' }) => `${slot} ${rule} ${ruleLabel}`,
    make: ({ slot, rule, label: ruleLabel }) =>
      el(
        'tr',
        {},
        el(
          'th',
          { scope: 'row' },
          rule === undefined ? SLOTS[slot] : `${SLOTS[slot]} ${named(called({ label: ruleLabel, key: rule }))}`,
        ),
        el('td', {}),
        el('td', { class: 'quiet' }),
      ),
    update: (line, { value: wanted, by, sinceS }) => {
      const [state, since] = line.querySelectorAll('td');
      setText(state, words(wanted));
      setText(
        since,
        [by === undefined ? undefined : told(by), sinceS === undefined ? undefined : sinceWords(sinceS, view)]
          .filter((part) => part !== undefined)
          .join(', '),
      );
    },
  });
  const then = next === undefined ? say('releasedStays') : say('released', { state: words(next.value) });
  setText(tile.querySelector('.released'), isHeld(output) ? then : '');
}

/** Name of an output where a person is asked or reads it out: with its device, and with its own name behind a label that another may have. */
function questionTitle({ name, label }, device) {
  const title = label === undefined ? called({ key: name }) : `${label} (${name})`;
  return device === undefined ? title : `${device}: ${title}`;
}

function sinceWords(sinceS, { wallMs }) {
  return say('sinceFor', { at: instant(wallMs - sinceS * 1000), time: duration(sinceS) });
}

const isHeld = ({ slots = [] }) => slots.length > 0 && RELEASED.has(slots[0].slot);

/** Puts switch, release and the controls behind "more" where the page may move outputs. */
function updateControls(tile, output) {
  const place = tile.querySelector('.control');
  const held = tile.querySelector('.held');
  const tell = (answer) => sayAnswer(tile.querySelector('.said'), answer);
  outputsNow.set(output.name, output);
  tile.querySelector('.change').hidden = mayConfigure() !== true;
  const door = { now: () => outputsNow.get(output.name), tell };
  followQuestion(output, tell);
  if (!mayControl()) {
    place.replaceChildren();
    held.replaceChildren();
    tile.querySelector('.switching')?.remove();
    held.hidden = true;
    return;
  }
  if (place.firstChild === null) {
    const control = makeSwitch(output, door);
    if (control !== undefined) place.append(control);
  }
  place.firstChild?.setAttribute('aria-checked', String(output.value === true));
  if (held.firstChild === null) held.append(makeRelease(output, door));
  held.hidden = !isHeld(output);
  if (tile.querySelector('.switching') === null) {
    const controls = makeControls(output, door);
    if (controls !== undefined) tile.querySelector('.facts').after(controls);
  }
}
