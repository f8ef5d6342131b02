/** Outputs of a device that says what it has: the state and the reason of each, and buttons that send the RPC for it. */
import { byId, el, keepList, setText } from '../shared/dom.js';
import { plain } from '../shared/words.js';
import { call } from './rest.js';
import { send } from './rpc.js';

const TIMEOUT_MS = 10_000;
const PULSE_MS = 1_000;

/** Asks a device once what it can move; one that is away or of another make has no outputs. */
export async function findOutputs(deviceId) {
  byId('switches').replaceChildren();
  byId('outputs').hidden = true;
  const status = await call(deviceId, { method: 'getStatus', params: {}, timeout: TIMEOUT_MS }, false).catch(
    () => undefined,
  );
  return status?.result?.actuators ?? [];
}

export function renderOutputs(deviceId, outputs) {
  byId('outputs').hidden = outputs.length === 0;
  keepList(byId('switches'), outputs, {
    keyOf: ({ name }) => name,
    make: (output) => makeOutput(deviceId, output),
    update: (card, { value, why }) => {
      showValue(card, value);
      setText(card.querySelector('.why'), why ?? '');
    },
  });
}

/** Shows the device's own attributes meanwhile: a local rule, a person at the device or another page may have moved it. */
export function followOutputs(clientAttributes) {
  const cards = new Map([...byId('switches').children].map((card) => [card.dataset.key, card]));
  for (const { key, value } of clientAttributes) {
    const card = key.endsWith('State') ? cards.get(key.slice(0, -'State'.length)) : undefined;
    if (card !== undefined && card.dataset.type === typeof value) showValue(card, value);
  }
}

function makeOutput(deviceId, { name, value, kind }) {
  const card = el('div', { class: 'output', role: 'group', 'aria-label': name, 'data-type': typeof value });
  const ask = async (method, params) => {
    const answer = await send(deviceId, method, params, false);
    const state = answer?.result;
    if (state?.value !== undefined) showValue(card, state.value);
    const reason = await call(deviceId, { method: 'getActuator', params: { name }, timeout: TIMEOUT_MS }, false).catch(
      () => undefined,
    );
    if (reason?.result?.why !== undefined) setText(card.querySelector('.why'), reason.result.why);
  };
  const button = (words, method, params) =>
    el(
      'button',
      { type: 'button', 'aria-label': `${words} ${name}`, onclick: () => void ask(method, { name, ...params?.() }) },
      words,
    );
  const buttons =
    typeof value === 'boolean' ? switchButtons(card, name, { ask, button }) : setButtons(name, value, button);
  card.append(
    el(
      'p',
      {},
      el('strong', {}, name),
      ' ',
      el('span', { class: 'quiet' }, kind ?? ''),
      ' ',
      el('strong', { class: 'value figure' }),
    ),
    el('div', { class: 'row' }, ...buttons, button('Release', 'releaseActuator')),
    el('p', { class: 'why quiet' }),
  );
  return card;
}

function switchButtons(card, name, { ask, button }) {
  const move = () => void ask('setActuator', { name, value: card.dataset.value !== 'true' });
  return [
    el('button', { type: 'button', role: 'switch', onclick: move }),
    button(`Pulse ${PULSE_MS / 1_000} s`, 'pulse', () => ({ durationMs: PULSE_MS })),
  ];
}

function setButtons(name, value, button) {
  const isText = typeof value === 'string';
  const input = el('input', { 'aria-label': `Value of ${name}`, type: isText ? 'text' : 'number', step: 'any' });
  return [input, button('Set', 'setActuator', () => ({ value: isText ? input.value : input.valueAsNumber }))];
}

function showValue(card, value) {
  card.dataset.value = String(value);
  setText(card.querySelector('.value'), plain(value));
  const button = card.querySelector('[role=switch]');
  if (button === null) return;
  button.setAttribute('aria-checked', String(value === true));
  button.classList.toggle('main', value === true);
  setText(button, `${card.dataset.key ?? card.getAttribute('aria-label')}: ${plain(value)}`);
}
