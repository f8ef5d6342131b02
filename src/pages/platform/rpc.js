/** RPC: what is sent and what came back, newest first; and a switch for each actuator of a device that says what it has. */
import { byId, el, keepList, setText } from '../shared/dom.js';
import { instant, parse, plain } from '../shared/words.js';
import { call, Refused, write } from './rest.js';

const MAX_ANSWERS = 20;
const TIMEOUT_MS = 10_000;
/** Methods that a Turnstone agent knows; any other name can be typed. */
const METHODS = {
  getStatus: {},
  outboxStatus: {},
  getActuator: { name: '' },
  setActuator: { name: '', value: true },
  pulse: { name: '', durationMs: 1000 },
  toggle: { name: '' },
  readSensor: { name: '' },
  diagnose: {},
  setLogLevel: { level: 'debug' },
};

export function prepareRpc(current) {
  byId('rpc-methods').append(...Object.keys(METHODS).map((value) => el('option', { value })));
  byId('rpc-method').addEventListener('change', ({ target }) => {
    const example = METHODS[target.value];
    if (example !== undefined) byId('rpc-params').value = JSON.stringify(example);
  });
  byId('rpc-form').addEventListener('submit', (event) => {
    event.preventDefault();
    void send(current(), byId('rpc-method').value, byId('rpc-params').value, byId('rpc-oneway').checked);
  });
}

/** Asks a device once what it can switch; one that is away or of another make has no switches. */
export async function findSwitches(deviceId) {
  byId('switches').replaceChildren();
  byId('rpc-answers').replaceChildren();
  const status = await call(deviceId, { method: 'getStatus', params: {}, timeout: TIMEOUT_MS }, false).catch(() => undefined);
  return (status?.result?.actuators ?? []).filter(({ value }) => typeof value === 'boolean');
}

export function renderSwitches(deviceId, switches) {
  keepList(byId('switches'), switches, {
    keyOf: ({ name }) => name,
    make: ({ name }) => {
      const move = async ({ currentTarget }) => {
        const value = currentTarget.getAttribute('aria-checked') !== 'true';
        const answer = await send(deviceId, 'setActuator', JSON.stringify({ name, value }), false);
        if (typeof answer?.result?.value === 'boolean') showSwitch(byId(`switch-${name}`), name, answer.result.value);
      };
      return el('button', { type: 'button', role: 'switch', id: `switch-${name}`, onclick: move });
    },
    update: (button, { name, value }) => showSwitch(button, name, value),
  });
}

/** Shows the device's own attributes meanwhile: a local rule, a person at the device or another page may have moved it. */
export function followSwitches(clientAttributes) {
  for (const { key, value } of clientAttributes) {
    const button = key.endsWith('State') ? byId(`switch-${key.slice(0, -'State'.length)}`) : null;
    if (button !== null && typeof value === 'boolean') showSwitch(button, button.dataset.key, value);
  }
}

function showSwitch(button, name, value) {
  button.setAttribute('aria-checked', String(value));
  button.classList.toggle('main', value);
  setText(button, `${name}: ${plain(value)}`);
}

/** Shows the answer, or why there is none; resolves with it. */
async function send(deviceId, method, paramsText, isOneway) {
  const item = el(
    'li',
    {},
    el('strong', {}, `${instant(Date.now())} ${method}`),
    ` ${paramsText} `,
    el('span', { class: 'outcome quiet' }, 'waiting …'),
  );
  byId('rpc-answers').prepend(item);
  while (byId('rpc-answers').children.length > MAX_ANSWERS) byId('rpc-answers').lastElementChild.remove();
  const say = (text, className) => {
    item.querySelector('.outcome').className = `outcome ${className}`;
    setText(item.querySelector('.outcome'), text);
  };
  try {
    const answer = await call(
      deviceId,
      { method, params: parse(paramsText.trim() === '' ? '{}' : paramsText), timeout: TIMEOUT_MS },
      isOneway,
    );
    // An agent's refusal is an answer too: `{error: …}`.
    say(isOneway ? 'sent' : answer?.error === undefined ? 'answered' : 'refused', answer?.error === undefined ? 'good' : 'bad');
    if (!isOneway) item.append(el('pre', {}, pretty(answer)));
    return answer;
  } catch (error) {
    say(
      error instanceof SyntaxError
        ? 'not sent: the parameters are no JSON'
        : error instanceof Refused
          ? error.message
          : 'the platform is not reached',
      'bad',
    );
    return undefined;
  }
}

function pretty(value) {
  return value === undefined
    ? 'nothing'
    : JSON.stringify(parse(write(value)), (_key, item) => (typeof item === 'bigint' ? String(item) : item), 2);
}
