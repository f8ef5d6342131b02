/** Attributes: the device's own to read, the shared and the server-side ones to change. A field that somebody types in is left alone. */
import { byId, el, keepFacts, keepList } from '../shared/dom.js';
import { parse } from '../shared/words.js';
import { attributes, removeAttribute, setAttribute, write } from './rest.js';

const EDITABLE = { shared: 'SHARED_SCOPE', server: 'SERVER_SCOPE' };

/** `current()` is the device that is shown; `attempt` runs what may fail and says so. */
export function prepareAttributes(current, attempt) {
  for (const [name, scope] of Object.entries(EDITABLE)) {
    byId(`${name}-form`).addEventListener('submit', (event) => {
      event.preventDefault();
      const [key, value] = [byId(`${name}-key`), byId(`${name}-value`)];
      void attempt(async () => {
        await setAttribute(current(), scope, key.value, parse(value.value));
        event.target.reset();
        await refreshAttributes(current, attempt);
      });
    });
  }
}

/** Resolves with the client attributes, in which a device says what it can do. */
export async function refreshAttributes(current, attempt) {
  const id = current();
  const [client, ...editable] = await Promise.all(['CLIENT_SCOPE', ...Object.values(EDITABLE)].map((scope) => attributes(id, scope)));
  if (current() !== id) return client;
  const byKey = (a, b) => a.key.localeCompare(b.key);
  keepFacts(
    byId('client'),
    client.toSorted(byKey).map(({ key, value }) => [key, typeof value === 'string' ? value : write(value)]),
  );
  Object.keys(EDITABLE).forEach((name, index) => {
    keepList(byId(name), editable[index].toSorted(byKey), {
      keyOf: ({ key }) => key,
      make: ({ key }) => makeRow(key, EDITABLE[name], current, attempt),
      update: (row, { value }) => {
        const input = row.querySelector('input');
        if (document.activeElement !== input && input.dataset.stored !== write(value)) input.value = input.dataset.stored = write(value);
      },
    });
  });
  return client;
}

function makeRow(key, scope, current, attempt) {
  const input = el('input', { class: 'mono', 'aria-label': `Value of ${key}` });
  const refresh = () => refreshAttributes(current, attempt);
  const set = () => attempt(() => setAttribute(current(), scope, key, parse(input.value)).then(refresh));
  const remove = () => attempt(() => removeAttribute(current(), scope, key).then(refresh));
  return el(
    'tr',
    {},
    el('th', { scope: 'row' }, key),
    el('td', {}, input),
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
