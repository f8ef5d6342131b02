/** Elements without markup in strings: what a device or a platform says is only ever text. */
import { unmarked } from './forms.js';
import { nodesOf } from './texts.js';

/** Text of each element as it was given, with its marks. */
const given = new WeakMap();

/** Makes an element; `on…` properties are listeners, undefined ones are left out. */
export function el(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, '');
    else if (value !== false) element.setAttribute(name, unmarked(value));
  }
  element.append(
    ...children
      .filter((child) => child !== undefined)
      .flatMap((child) => (child instanceof Node ? [child] : nodesOf(child))),
  );
  return element;
}

export function byId(id) {
  return document.getElementById(id);
}

/** Changes an element's text only when it differs, so that a selection or a screen reader is not disturbed. */
export function setText(element, text) {
  const known = given.get(element);
  if (known?.text === text && element.textContent === known.shown) return;
  const shown = unmarked(text);
  given.set(element, { text, shown });
  if (shown !== String(text)) element.replaceChildren(...nodesOf(text));
  else if (element.textContent !== shown) element.textContent = shown;
}

/** Replaces the nodes of an element when what they are made of has changed. */
export function keepNodes(element, pieces, make) {
  const made = JSON.stringify(pieces);
  if (given.get(element) === made) return;
  given.set(element, made);
  element.replaceChildren(...pieces.map(make));
}

/** Brings a container's children in line with a list; an element stays as long as its item's key does, and with it the focus. */
export function keepList(container, items, { keyOf, make, update }) {
  for (const node of [...container.childNodes]) if (node.nodeType === Node.TEXT_NODE) node.remove();
  const known = new Map([...container.children].map((child) => [child.dataset.key, child]));
  const taken = new Set();
  let before;
  for (const item of items) {
    let key = keyOf(item);
    // Two items may bear one name, two alerts one text.
    while (taken.has(key)) key += ' again';
    taken.add(key);
    let element = known.get(key);
    known.delete(key);
    if (element === undefined) {
      element = make(item);
      element.dataset.key = key;
    }
    const place = before === undefined ? container.firstElementChild : before.nextElementSibling;
    if (place !== element) container.insertBefore(element, place);
    update?.(element, item);
    before = element;
  }
  for (const element of known.values()) element.remove();
}

/** Fills a `dl` with names and texts; a text may carry a class: `[name, text, class]`. */
export function keepFacts(list, facts) {
  const shown = facts.filter(([, text]) => text !== undefined);
  if (list.dataset.names !== shown.map(([name]) => name).join()) {
    list.dataset.names = shown.map(([name]) => name).join();
    list.replaceChildren(...shown.flatMap(([name]) => [el('dt', {}, name), el('dd', {})]));
  }
  const cells = list.querySelectorAll('dd');
  shown.forEach(([, text, className = ''], index) => {
    setText(cells[index], text);
    if (cells[index].className !== className) cells[index].className = className;
  });
}

/** A name in pieces that a line may end between: behind a hump, a dot, a dash. */
export function breakable(name) {
  const pieces = String(name).split(/(?<=[\p{Ll}\d])(?=\p{Lu})|(?<=[._:/ -])/u);
  return pieces.flatMap((piece, at) => (at === 0 ? [piece] : [el('wbr'), piece]));
}

/** Names that somebody gave, one after the other, each in its own direction and broken between its words. */
export function namesOf(names) {
  return names.flatMap((name, at) => [...(at === 0 ? [] : [', ']), el('bdi', {}, ...breakable(name))]);
}
