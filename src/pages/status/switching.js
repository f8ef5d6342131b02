/**
 * Switches, values and releases of outputs on the page, where the configuration allows it. The state shown is always the one that the agent
 * tells. What may do harm when it is touched by mistake asks first.
 */
import { classOf } from '../names/classes.js';
import { byId, el, setText } from '../shared/dom.js';
import { say, told } from '../shared/texts.js';
import { numberIn } from '../shared/typed-values.js';
import { plain, shown } from '../shared/words.js';
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
  [say('hours', { number: 2 }), '2h'],
  [say('hours', { number: 8 }), '8h'],
];

/** Returns the switch of an output that is on or off; undefined for others, and while its facts are not here. `now` gives the output as it is. */
export function makeSwitch({ name, title }, { now, tell }) {
  if (outputFacts(name)?.valueType !== 'boolean') return undefined;
  const press = async ({ currentTarget }) => {
    const value = currentTarget.getAttribute('aria-checked') !== 'true';
    await move(now(), { value }, tell);
  };
  return el(
    'button',
    { type: 'button', role: 'switch', class: 'switch', 'aria-label': title, onclick: press },
    el('span', { class: 'knob' }),
  );
}

/** Returns the button that gives an output back to the rules; where that would move it, it asks first as a switch does. */
export function makeRelease({ name, title }, { now, tell }) {
  const release = async () => {
    const output = now();
    const mayMove = classOf(output.class)?.asksFirst === true && output.released !== output.value;
    if (mayMove && (await agree(output, { value: output.released }, { isRelease: true })) === undefined) return;
    tell({ words: say('sent'), ok: true });
    tell(await ask('releaseActuator', { name }, say('isReleased')));
  };
  const label = say('releaseOf', { name: title });
  return el('button', { type: 'button', 'aria-label': label, onclick: () => void release() }, say('release'));
}

/** Returns the controls behind "more": a value, and for how long it holds; undefined while the facts are not here. */
export function makeControls(output, { now, tell }) {
  const facts = outputFacts(output.name);
  if (facts === undefined) return undefined;
  const time = timeChoice(facts, output.title);
  const send = (wish) => move(now(), { ...wish, for: time.value || undefined }, tell);
  return el(
    'div',
    { class: 'switching', role: 'group', 'aria-label': say('setOutput', { name: output.title }) },
    el('div', { class: 'row' }, ...valueControls(facts, send)),
    el('div', { class: 'row' }, time),
  );
}

/** Shows what became of a press. */
export function sayAnswer(element, { ok, words }) {
  setText(element, words);
  element.className = `said ${ok ? 'quiet' : 'bad'}`;
}

function timeChoice({ operatorUntil }, title) {
  const until = operatorUntil === 'release' ? say('untilReleased') : say('untilRules');
  return el(
    'select',
    { 'aria-label': say('holdFor', { name: title }) },
    ...TIMES.map(([words, span]) => el('option', { value: span }, words === '' ? until : words)),
  );
}

function valueControls({ valueType, texts, limits: { min, max } }, send) {
  if (valueType === 'boolean')
    return [
      el('button', { type: 'button', onclick: () => void send({ value: true }) }, say('switchOn')),
      el('button', { type: 'button', onclick: () => void send({ value: false }) }, say('switchOff')),
    ];
  if (texts !== undefined) {
    const names = el(
      'select',
      { 'aria-label': say('value') },
      ...texts.map((text) => el('option', { value: text }, text)),
    );
    return [names, el('button', { type: 'button', onclick: () => void send({ value: names.value }) }, say('set'))];
  }
  const isNumber = valueType === 'number';
  // The pad for decimals of some phones has no minus.
  const pad = isNumber && min >= 0 ? 'decimal' : undefined;
  const input = el('input', {
    'aria-label': say('value'),
    type: 'text',
    inputmode: pad,
    required: isNumber,
    maxlength: 1024,
    autocomplete: 'off',
    oninput: () => input.setCustomValidity(''),
  });
  const set = () => {
    const number = isNumber ? numberIn(input.value) : undefined;
    if (isNumber) input.setCustomValidity(numberFault(input.value, number, { min, max }));
    if (!input.reportValidity()) return undefined;
    return void send({ value: isNumber ? number : input.value });
  };
  return [input, el('button', { type: 'button', onclick: set }, say('set'))];
}

/** Returns what is wrong with a number that was typed; empty where nothing is. Steps are the agent's to judge. */
function numberFault(text, number, { min, max }) {
  if (text.trim() === '') return '';
  if (number === undefined) return say('noNumber');
  return number < min || number > max ? say('outputRange', { min: plain(min ?? '…'), max: plain(max ?? '…') }) : '';
}

/** Asks the person where the class asks first, then the agent. */
async function move(output, wish, tell) {
  const { name } = output;
  const agreed = classOf(output.class)?.asksFirst === true ? await agree(output, wish) : wish;
  if (agreed === undefined) return;
  tell({ words: say('sent'), ok: true });
  tell(await ask('setActuator', { name, ...agreed }, say('done')));
}

/** Output of the open question, as it was when it was asked. */
let questioned;

/** Closes an open question when its output has changed meanwhile: the answer would be to another state. */
export function followQuestion({ name, value, why }, tell) {
  if (questioned?.name !== name || (questioned.value === value && questioned.why === why)) return;
  byId('ask').close('');
  tell({ ok: false, words: say('changedMeanwhile') });
}

/** Resolves with the wish and its time; with undefined when the person does not want it. */
function agree(output, wish, { isRelease = false } = {}) {
  const { name, title, class: of, why } = output;
  const dialog = byId('ask');
  const value = wish.value === undefined ? say('unknown') : shown(wish.value, { class: of });
  setText(byId('ask-title'), say('askTitle', { name: title, value }));
  const now = why === undefined ? '' : `${say('askNow', { why: told(why) })} `;
  setText(byId('ask-words'), `${now}${isRelease ? say('askRelease') : say('askWords')}`);
  setText(byId('ask-yes'), isRelease ? say('release') : say('askYes'));
  const time = timeChoice(outputFacts(name) ?? {}, title);
  time.value = wish.for ?? '';
  byId('ask-time').replaceChildren(...(isRelease ? [] : [time]));
  dialog.returnValue = '';
  questioned = output;
  dialog.showModal();
  return new Promise((resolve) => {
    const close = () => {
      questioned = undefined;
      resolve(dialog.returnValue === 'yes' ? { ...wish, for: time.value || undefined } : undefined);
    };
    dialog.addEventListener('close', close, { once: true });
  });
}

/** Asks the agent for an operation; resolves with `{ ok, words }`, and with its answer. */
export async function ask(operation, params, done) {
  try {
    const answer = await fetch('/api/operation', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ operation, params, pressedMs: Math.round(performance.now() + clockAheadMs) }),
    });
    if (answer.ok) return { ok: true, words: done, answer: await answer.json() };
    if (answer.status === 401) {
      dispatchEvent(new Event('pin-needed'));
      return { ok: false, words: say('notDonePin') };
    }
    const { reason } = await answer.json().catch(() => ({}));
    return { ok: false, words: say('notDone', { reason }) };
  } catch {
    return { ok: false, words: say('notKnown') };
  }
}
