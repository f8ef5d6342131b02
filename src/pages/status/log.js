/** The log as it is written; it stays where the reader is, and follows when they are at its end. */
import { byId, el } from '../shared/dom.js';
import { instant, plain } from '../shared/words.js';

const MAX_LINES = 300;
const LEVELS = ['debug', 'info', 'warn', 'error'];
const waiting = [];

export function prepareLog() {
  byId('log-pause').addEventListener('click', ({ currentTarget }) => {
    const isPaused = currentTarget.getAttribute('aria-pressed') === 'true';
    currentTarget.setAttribute('aria-pressed', String(!isPaused));
    if (isPaused) addLines(waiting.splice(0));
  });
  byId('log-level').addEventListener('change', () => {
    for (const line of byId('log-lines').children) line.hidden = isHidden(line.dataset.level);
  });
}

export function addLines(lines) {
  if (byId('log-pause').getAttribute('aria-pressed') === 'true') {
    waiting.push(...lines);
    waiting.splice(0, waiting.length - MAX_LINES);
    return;
  }
  const box = byId('log');
  const follows = box.scrollTop + box.clientHeight >= box.scrollHeight - 20;
  const list = byId('log-lines');
  list.append(...lines.map(makeLine));
  while (list.children.length > MAX_LINES) list.firstElementChild.remove();
  if (follows) box.scrollTop = box.scrollHeight;
}

export function clearLines() {
  byId('log-lines').replaceChildren();
}

function makeLine(text) {
  const { level = 'info', time, msg, ...fields } = parsed(text);
  const facts = Object.entries(fields).map(([name, value]) => `${name}=${plain(value)}`);
  const className = level === 'error' ? 'level bad' : level === 'warn' ? 'level warn' : 'level quiet';
  const line = el(
    'li',
    { 'data-level': level },
    time === undefined ? '' : `${instant(Date.parse(time))} `,
    el('span', { class: className }, level),
    ` ${msg ?? ''} `,
    el('span', { class: 'quiet' }, facts.join(' ')),
  );
  line.hidden = isHidden(level);
  return line;
}

function isHidden(level) {
  return LEVELS.indexOf(level) < LEVELS.indexOf(byId('log-level').value);
}

/** A line that was cut is shown as it is. */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return { msg: text };
  }
}
