/**
 * The log as it is written; it stays where the reader is, and follows when they are at its end. Lines have numbers: after a contact was lost those
 * that are known already are passed over, and it is told how many were not seen.
 */
import { byId, el } from '../shared/dom.js';
import { saveText } from '../shared/save.js';
import { agentLanguage, language, say } from '../shared/texts.js';
import { instant } from '../shared/words.js';

const MAX_LINES = 300;
const LEVELS = ['debug', 'info', 'warn', 'error'];
const waiting = [];
/** Run of the agent whose lines these are, and the number of its next line. */
let known;

export function prepareLog() {
  byId('log-pause').addEventListener('click', ({ currentTarget }) => {
    const isPaused = currentTarget.getAttribute('aria-pressed') === 'true';
    currentTarget.setAttribute('aria-pressed', String(!isPaused));
    if (isPaused) append(waiting.splice(0));
  });
  byId('log-level').addEventListener('change', () => {
    for (const line of byId('log-lines').children) line.hidden = isHidden(line.dataset.level);
  });
  byId('log-save').addEventListener('click', () => {
    const shown = [...byId('log-lines').children].filter(({ hidden }) => !hidden);
    saveText(
      'turnstone-log.txt',
      'text/plain',
      shown.map(({ dataset, textContent }) => `${dataset.text ?? textContent}\n`).join(''),
    );
  });
}

/** Takes lines from number `first` on, of one run of the agent. */
export function addLines({ run, first, lines }) {
  const before = known;
  const isSameRun = before?.run === run;
  const seen = isSameRun ? Math.max(0, before.next - first) : 0;
  known = { run, next: Math.max(first + lines.length, isSameRun ? before.next : 0) };
  const rows = lines.slice(seen).map(makeLine);
  if (before !== undefined && !isSameRun) rows.unshift(makeGap(say('startedAnew')));
  if (isSameRun && first > before.next) rows.unshift(makeGap(say('linesMissed', { count: first - before.next })));
  if (byId('log-pause').getAttribute('aria-pressed') !== 'true') append(rows);
  else waiting.splice(0, waiting.length, ...[...waiting, ...rows].slice(-MAX_LINES));
}

function append(rows) {
  const box = byId('log');
  const follows = box.scrollTop + box.clientHeight >= box.scrollHeight - 20;
  const list = byId('log-lines');
  list.append(...rows);
  while (list.children.length > MAX_LINES) list.firstElementChild.remove();
  for (const row of rows) row.hidden = isHidden(row.dataset.level);
  if (follows) box.scrollTop = box.scrollHeight;
}

/** Shown whatever level is chosen. */
function makeGap(words) {
  return el('li', { class: 'gap warn', lang: language, 'data-level': 'error' }, `… ${words}`);
}

function makeLine(text) {
  const { level = 'info', time, msg, ...fields } = parsed(text);
  const facts = Object.entries(fields).map(
    ([name, value]) => `${name}=${typeof value === 'object' ? JSON.stringify(value) : value}`,
  );
  const className = level === 'error' ? 'level bad' : level === 'warn' ? 'level warn' : 'level quiet';
  const shown = [` ${msg ?? ''} `, facts.join(' ')];
  return el(
    'li',
    // As it is saved: with its day, and in UTC.
    { lang: agentLanguage, 'data-level': level, 'data-text': `${time ?? ''} ${level}${shown.join('')}`.trim() },
    time === undefined ? '' : `${instant(Date.parse(time))} `,
    el('span', { class: className }, level),
    shown[0],
    el('span', { class: 'quiet' }, shown[1]),
  );
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
