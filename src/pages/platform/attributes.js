/** Attributes: the device's own to read, the shared and the server-side ones to change. A field that somebody types in is left alone. */
import { byId, el, keepFacts, keepList, setText } from '../shared/dom.js';
import { watchJson } from '../shared/json-field.js';
import { attributes, removeAttribute, setAttribute, write } from './rest.js';

/** Attributes of a Turnstone agent that hold several values, as people call them. */
const NAMES = { effectiveSettings: 'Effective settings', sharedRefused: 'Refused shared attributes', units: 'Units' };
const EDITABLE = { shared: 'SHARED_SCOPE', server: 'SERVER_SCOPE' };

/** `current()` is the device that is shown; `attempt` runs what may fail and says so. */
export function prepareAttributes(current, attempt) {
  for (const [name, scope] of Object.entries(EDITABLE)) {
    const [key, field] = [byId(`${name}-key`), byId(`${name}-value`)];
    const read = watchJson(field);
    byId(`${name}-form`).addEventListener('submit', (event) => {
      event.preventDefault();
      const written = read();
      if (written === undefined) return;
      void attempt(async () => {
        await setAttribute(current(), scope, key.value, written.value);
        event.target.reset();
        await refreshAttributes(current, attempt);
      });
    });
  }
}

/** Resolves with the client attributes, in which a device says what it can do. */
export async function refreshAttributes(current, attempt) {
  const id = current();
  const [client, ...editable] = await Promise.all(
    ['CLIENT_SCOPE', ...Object.values(EDITABLE)].map((scope) => attributes(id, scope)),
  );
  if (current() !== id) return client;
  const byKey = (a, b) => a.key.localeCompare(b.key);
  renderClient(client.toSorted(byKey));
  Object.keys(EDITABLE).forEach((name, index) => {
    keepList(byId(name), editable[index].toSorted(byKey), {
      keyOf: ({ key }) => key,
      make: ({ key }) => makeRow(key, EDITABLE[name], current, attempt),
      update: (row, { value }) => {
        const input = row.querySelector('input');
        if (document.activeElement !== input && input.dataset.stored !== write(value))
          input.value = input.dataset.stored = write(value);
      },
    });
  });
  return client;
}

/** Plain values as facts; each one that holds several is folded, so that it does not push the others away. */
function renderClient(client) {
  const isWide = ({ value }) => typeof value === 'object' && value !== null;
  keepFacts(
    byId('client'),
    client
      .filter((one) => !isWide(one))
      .map(({ key, value }) => [key, typeof value === 'string' ? value : write(value)]),
  );
  keepList(byId('client-wide'), client.filter(isWide), {
    keyOf: ({ key }) => key,
    make: ({ key }) =>
      el('details', {}, el('summary', {}, NAMES[key] ?? key, ' ', el('span', { class: 'quiet' })), el('dl', {})),
    update: (fold, { value }) => {
      const members = Object.entries(value);
      setText(fold.querySelector('span'), members.length === 0 ? 'none' : String(members.length));
      keepFacts(
        fold.querySelector('dl'),
        members.map(([name, one]) => [name, typeof one === 'string' ? one : write(one)]),
      );
    },
  });
}

function makeRow(key, scope, current, attempt) {
  const input = el('input', { class: 'mono', 'aria-label': `Value of ${key}` });
  const refresh = () => refreshAttributes(current, attempt);
  const cell = el('td', {}, input);
  const read = watchJson(input);
  const set = () => {
    const written = read();
    return written === undefined
      ? undefined
      : attempt(() => setAttribute(current(), scope, key, written.value).then(refresh));
  };
  const remove = () => attempt(() => removeAttribute(current(), scope, key).then(refresh));
  return el(
    'tr',
    {},
    el('th', { scope: 'row' }, key),
    cell,
    el(
      'td',
      {},
      el(
        'div',
        { class: 'row' },
        el('button', { type: 'button', onclick: set, 'aria-label': `Set ${key}` }, 'Set'),
        el('button', { type: 'button', onclick: remove, 'aria-label': `Remove ${key}` }, 'Remove'),
      ),
    ),
  );
}
