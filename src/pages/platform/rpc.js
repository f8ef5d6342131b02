/** RPC: what is sent and what came back, newest first. */
import { byId, el, setText } from '../shared/dom.js';
import { watchJson } from '../shared/json-field.js';
import { instant, parse } from '../shared/words.js';
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
  const read = watchJson(byId('rpc-params'), { isEmptyFine: true });
  byId('rpc-form').addEventListener('submit', (event) => {
    event.preventDefault();
    const written = read();
    if (written !== undefined)
      void send(current(), byId('rpc-method').value, written.value, byId('rpc-oneway').checked);
  });
}

export function clearAnswers() {
  byId('rpc-answers').replaceChildren();
}

/** Shows the answer, or why there is none; resolves with it. */
export async function send(deviceId, method, params, isOneway) {
  const item = el(
    'li',
    {},
    el('strong', {}, `${instant(Date.now())} ${method}`),
    ` ${write(params)} `,
    el('span', { class: 'outcome quiet' }, 'waiting …'),
  );
  byId('rpc-answers').prepend(item);
  while (byId('rpc-answers').children.length > MAX_ANSWERS) byId('rpc-answers').lastElementChild.remove();
  const say = (text, className) => {
    item.querySelector('.outcome').className = `outcome ${className}`;
    setText(item.querySelector('.outcome'), text);
  };
  try {
    const answer = await call(deviceId, { method, params, timeout: TIMEOUT_MS }, isOneway);
    // An agent's refusal is an answer too: `{error: …}`.
    say(
      isOneway ? 'sent' : answer?.error === undefined ? 'answered' : 'refused',
      answer?.error === undefined ? 'good' : 'bad',
    );
    if (!isOneway) item.append(el('pre', {}, pretty(answer)));
    return answer;
  } catch (error) {
    say(error instanceof Refused ? error.message : 'the platform is not reached', 'bad');
    return undefined;
  }
}

function pretty(value) {
  return value === undefined
    ? 'nothing'
    : JSON.stringify(parse(write(value)), (_key, item) => (typeof item === 'bigint' ? String(item) : item), 2);
}
