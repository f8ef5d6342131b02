/** Outputs: the state of each, the reason, and who else has a say, the highest first. */
import { breakable, byId, el, keepList, setText } from '../shared/dom.js';
import { named } from '../shared/forms.js';
import { agentLanguage, say, told } from '../shared/texts.js';
import { duration, shown } from '../shared/words.js';
import { loadFacts, mayControl, outputWords } from './facts.js';
import { keepGroups } from './groups.js';
import { makeSwitch } from './switching.js';

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
/** They are taken back by a release. */
const RELEASED = new Set(['operator', 'pulse']);

export function renderOutputs(view) {
  const { actuators } = view;
  byId('outputs').hidden = actuators.length === 0;
  keepGroups(byId('actuators'), actuators, view, { keep: keepOutputs });
}

function keepOutputs(list, actuators) {
  keepList(list, actuators, {
    keyOf: ({ name, label = '' }) => `${name} ${label}`,
    make: ({ name, label = name, kind }) =>
      el(
        'details',
        {
          class: 'actuator',
          'data-name': name,
          ontoggle: ({ currentTarget }) => currentTarget.open && void explain(currentTarget, name, kind),
        },
        el(
          'summary',
          {},
          el('bdi', { class: 'name' }, ...breakable(label)),
          el('span', { class: 'state' }),
          el('span', { class: 'fault bad', lang: agentLanguage }),
          el('span', { class: 'why quiet', lang: agentLanguage }),
        ),
        el('p', { class: 'facts quiet' }),
        el('table', {}, el('tbody', {})),
        el('p', { class: 'released' }),
      ),
    update: updateOutput,
  });
}

/** Once it is opened: where the output is, its limits, and its buttons where there may be some. */
async function explain(row, name, kind) {
  await loadFacts();
  setText(row.querySelector('.facts'), outputWords(name, kind));
  const known = row.querySelector('.switching');
  if (mayControl() && known === null) {
    const controls = makeSwitch(name);
    if (controls !== undefined) row.querySelector('summary').after(controls);
  } else if (!mayControl()) known?.remove();
}

function updateOutput(row, output) {
  const { value, why, fault, slots = [] } = output;
  const words = (one) => shown(one, { class: output.class });
  setText(row.querySelector('.state'), words(value));
  row.querySelector('.state').classList.toggle('on', value === true);
  setText(row.querySelector('.fault'), fault ?? '');
  setText(row.querySelector('.why'), why ?? '');
  keepList(row.querySelector('tbody'), slots, {
    keyOf: ({ slot, rule = '', label = '' }) => `${slot} ${rule} ${label}`,
    make: ({ slot, rule, label = rule }) =>
      el(
        'tr',
        {},
        el('th', { scope: 'row' }, rule === undefined ? SLOTS[slot] : `${SLOTS[slot]} ${named(label)}`),
        el('td', {}),
        el('td', { class: 'quiet' }),
      ),
    update: (line, { value: wanted, by, sinceS }) => {
      const [state, since] = line.querySelectorAll('td');
      setText(state, words(wanted));
      setText(
        since,
        [
          by === undefined ? undefined : told(by),
          sinceS === undefined ? undefined : say('forTime', { time: duration(sinceS) }),
        ]
          .filter((part) => part !== undefined)
          .join(', '),
      );
    },
  });
  const next = slots.find(({ slot }) => !RELEASED.has(slot));
  const isHeld = slots.length > 0 && RELEASED.has(slots[0].slot);
  const then = next === undefined ? say('releasedStays') : say('released', { state: words(next.value) });
  setText(row.querySelector('.released'), isHeld ? then : '');
}
