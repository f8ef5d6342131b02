/** Buttons by which an output is set and released on the page, where the configuration allows it. The state shown is always the one that the agent tells. */
import { el, setText } from '../shared/dom.js';
import { say } from '../shared/texts.js';
import { outputFacts } from './facts.js';

/** Agent's monotonic clock less this page's, ms: a press says when it was. */
let clockAheadMs;

export function followClock({ nowMs }) {
  clockAheadMs = nowMs - performance.now();
}

/** Times for which a value holds against rules; the first is until the rules say something new, or until it is released. */
const TIMES = [
  ['', ''],
  [say('minutes', { number: 10 }), '10m'],
  [say('hours', { number: 1 }), '1h'],
  [say('hours', { number: 8 }), '8h'],
];

/** Returns the controls of one output, or undefined while its facts are not here. */
export function makeSwitch(name) {
  const facts = outputFacts(name);
  if (facts === undefined) return undefined;
  const said = el('p', { class: 'said', role: 'status' });
  const until = facts.operatorUntil === 'release' ? say('untilReleased') : say('untilRules');
  const time = el(
    'select',
    { 'aria-label': say('holdFor', { name }) },
    ...TIMES.map(([words, span]) => el('option', { value: span }, words === '' ? until : words)),
  );
  const send = async (wish) => {
    setText(said, say('sent'));
    said.className = 'said';
    const { ok, words } =
      wish.release === true
        ? await ask('releaseActuator', { name }, say('isReleased'))
        : await ask('setActuator', { name, ...wish, for: time.value || undefined }, say('done'));
    setText(said, words);
    said.className = `said ${ok ? 'quiet' : 'bad'}`;
  };
  const release = el('button', { type: 'button', onclick: () => void send({ release: true }) }, say('release'));
  return el(
    'div',
    { class: 'switching', role: 'group', 'aria-label': say('setOutput', { name }) },
    el('div', { class: 'row' }, ...valueControls(facts, send), release),
    el('div', { class: 'row' }, time),
    said,
  );
}

function valueControls({ valueType, limits: { min, max, step } }, send) {
  if (valueType === 'boolean')
    return [
      el('button', { type: 'button', onclick: () => void send({ value: true }) }, say('switchOn')),
      el('button', { type: 'button', onclick: () => void send({ value: false }) }, say('switchOff')),
    ];
  const isNumber = valueType === 'number';
  const input = el('input', {
    'aria-label': say('value'),
    type: isNumber ? 'number' : 'text',
    ...(isNumber ? { min, max, step: step ?? 'any', inputmode: 'decimal', required: true } : { maxlength: 1024 }),
  });
  const set = () => {
    if (!input.reportValidity()) return undefined;
    return void send({ value: isNumber ? input.valueAsNumber : input.value });
  };
  return [input, el('button', { type: 'button', onclick: set }, say('set'))];
}

async function ask(operation, params, done) {
  try {
    const answer = await fetch('/api/operation', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ operation, params, pressedMs: Math.round(performance.now() + clockAheadMs) }),
    });
    if (answer.ok) return { ok: true, words: done };
    if (answer.status === 401) return { ok: false, words: say('notDonePin') };
    const { reason } = await answer.json().catch(() => ({}));
    return { ok: false, words: say('notDone', { reason }) };
  } catch {
    return { ok: false, words: say('notKnown') };
  }
}
