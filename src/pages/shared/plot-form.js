/** Controls around a chart, made once in the dialog that each page has. */
import { byId, el } from './dom.js';
import { say } from './texts.js';

/** Hours of a span, and its words. */
const SPANS = [
  [0.25, say('spanMinutes', { count: 15 })],
  ...[1, 6, 24].map((hours) => [hours, say('spanHours', { count: hours })]),
  ...[3, 7].map((days) => [24 * days, say('spanDays', { count: days })]),
];
/** Hours of the spans that one press shows. */
const QUICK = [
  [1, say('lastHour')],
  [24, say('lastDay')],
  [168, say('lastWeek')],
];
/** So many values to choose from are searched. */
const SEARCHED_FROM = 12;

const button = (id, text, name) => el('button', { id, type: 'button', 'aria-label': name, title: name }, text);

export function makeForm(body) {
  const spans = SPANS.map(([hours, words]) => el('option', { value: hours }, words));
  const quick = QUICK.map(([hours, words]) =>
    el('button', { type: 'button', 'data-hours': hours, 'aria-pressed': 'false' }, words),
  );
  body.replaceChildren(
    el('div', { id: 'plot-quick', class: 'row' }, ...quick),
    el(
      'div',
      { class: 'row plot-tools' },
      el('label', { for: 'plot-span' }, say('span')),
      el('select', { id: 'plot-span' }, ...spans, el('option', { id: 'plot-other', value: '', hidden: true })),
      el('label', { for: 'plot-from' }, say('spanFrom')),
      el('input', { id: 'plot-from', type: 'datetime-local' }),
    ),
    el('div', {
      ...{ id: 'plot-area', class: 'plot', role: 'application', tabindex: 0, 'aria-describedby': 'plot-keys' },
      'aria-label': say('plotLabel'),
    }),
    el('p', { id: 'plot-at', class: 'plot-at', role: 'status' }),
    el(
      'div',
      { class: 'plot-moves', role: 'group', 'aria-label': say('moveAndZoom') },
      button('plot-earlier', '←', say('earlier')),
      button('plot-out', '−', say('zoomOut')),
      button('plot-in', '+', say('zoomIn')),
      button('plot-later', '→', say('later')),
      button('plot-now', say('now'), say('backToNow')),
    ),
    el('ul', { id: 'plot-lines', class: 'plain', 'aria-label': say('plotLines') }),
    el('ul', { id: 'plot-limits', class: 'plain', 'aria-label': say('limits') }),
    el(
      'form',
      { id: 'plot-adding', class: 'row' },
      el('label', { for: 'plot-find', class: 'visually-hidden' }, say('findToAdd')),
      el('input', { id: 'plot-find', type: 'search', placeholder: say('findShort'), autocomplete: 'off' }),
      el('label', { for: 'plot-add' }, say('anotherValue')),
      el('select', { id: 'plot-add' }),
      el('button', { type: 'submit' }, say('add')),
      el('button', { id: 'plot-alike', type: 'button' }),
    ),
    el(
      'div',
      { class: 'row' },
      el('button', { id: 'plot-csv', type: 'button' }, say('saveCsv')),
      el('button', { id: 'plot-png', type: 'button' }, say('savePng')),
    ),
    el('p', { id: 'plot-facts', class: 'quiet' }),
    el('p', { id: 'plot-keys', class: 'quiet' }, say('plotKeys')),
  );
}

/** Shows the span in the controls. A span that is none of the usual gets a line of its own. */
export function saySpan({ fromMs, toMs }, words) {
  const select = byId('plot-span');
  const hours = (toMs - fromMs) / 3_600_000;
  const usual = SPANS.find(([one]) => Math.abs(one - hours) < 0.001);
  for (const one of byId('plot-quick').children)
    one.setAttribute('aria-pressed', String(Math.abs(one.dataset.hours - hours) < 0.001));
  const other = byId('plot-other');
  other.hidden = usual !== undefined;
  other.textContent = words;
  select.value = usual === undefined ? '' : String(usual[0]);
  const from = byId('plot-from');
  // It is not written over while somebody types.
  if (document.activeElement !== from) from.value = localInput(fromMs);
}

/** Offers the lines that can be added, by their names. */
export function offerLines(lines) {
  byId('plot-adding').hidden = lines.length === 0;
  const find = byId('plot-find');
  find.hidden = lines.length < SEARCHED_FROM;
  const sought = find.hidden ? '' : find.value.trim().toLowerCase();
  const found = lines.filter(({ key, name = key }) => `${name} ${key}`.toLowerCase().includes(sought));
  const select = byId('plot-add');
  const chosen = select.value;
  select.replaceChildren(...found.map(({ key, name = key }) => el('option', { value: key }, name)));
  if (found.some(({ key }) => key === chosen)) select.value = chosen;
}

/** Offers to add all lines that are like the first one. */
export function offerAlike(lines, { unit = '', isSwitch }) {
  const button = byId('plot-alike');
  button.hidden = lines.length < 2;
  button.textContent =
    isSwitch || unit === ''
      ? say('addAlike', { count: lines.length })
      : say('addInUnit', { count: lines.length, unit });
}

/** A swatch with the line's dashes; a switch is a strip. */
export function swatch({ slot, isSwitch }, dash) {
  const SVG = 'http://www.w3.org/2000/svg';
  const svg = document.createElementNS(SVG, 'svg');
  const line = document.createElementNS(SVG, 'line');
  for (const [name, value] of Object.entries({
    class: `swatch line-${slot + 1}${isSwitch ? ' strip' : ''}`,
    viewBox: '0 0 40 8',
    'aria-hidden': 'true',
  }))
    svg.setAttribute(name, value);
  for (const [name, value] of Object.entries({
    x1: 0,
    x2: 40,
    y1: 4,
    y2: 4,
    'stroke-dasharray': dash.join(' ') || 'none',
  }))
    line.setAttribute(name, value);
  svg.append(line);
  return svg;
}

/** A local time as the input wants it. */
export function localInput(ms) {
  const at = new Date(ms);
  return `${at.toLocaleDateString('en-CA')}T${at.toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' })}`;
}
