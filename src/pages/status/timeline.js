/** Events of the agent, the newest first: by day, by kind, with their facts behind each. Nothing is asked for while it is folded, or nothing is new. */
import { byId, el, keepFacts, keepList, setText } from '../shared/dom.js';
import { unmarked } from '../shared/forms.js';
import { csvOf, saveText } from '../shared/save.js';
import { say, told } from '../shared/texts.js';
import { dayOf, plain, timeOfDay } from '../shared/words.js';

/** Sign and name of each kind: never colour alone. */
const KINDS = {
  command: ['▸', say('kindCommand')],
  rule: ['ƒ', say('kindRule')],
  output: ['◉', say('kindOutput')],
  alarm: ['!', say('kindAlarm')],
  contact: ['⇄', say('kindContact')],
  update: ['↑', say('kindUpdate')],
  start: ['↻', say('kindStart')],
  clock: ['◷', say('kindClock')],
  lockout: ['⊘', say('kindLockout')],
  config: ['≡', say('kindConfig')],
  devices: ['+', say('kindDevices')],
};
const FACTS = {
  by: say('factBy'),
  actuator: say('factOutput'),
  sensor: say('factSensor'),
  key: say('factKey'),
  device: say('device'),
  value: say('value'),
  from: say('factFrom'),
};
const PAGE = 100;
/** Largest answer of the agent, and most that it keeps. */
const LARGEST = 500;
const MAX_EVENTS = 2_000;

let events = new Map();
let hasMore = false;
/** Number of the newest event that was asked for, and the newest that there is. */
let askedSeq = -1;
let newestSeq = 0;
let isAsking = false;

export function prepareTimeline() {
  for (const [kind, [sign, name]] of Object.entries(KINDS)) {
    const box = el('input', { type: 'checkbox', value: kind, onchange: begin });
    byId('happened-kinds').append(el('label', {}, box, el('span', { 'aria-hidden': 'true' }, sign), name));
  }
  byId('happened').addEventListener('toggle', () => void renew());
  byId('happened-search').addEventListener('input', show);
  byId('happened-more').addEventListener('click', () => void ask(Math.min(...events.keys())));
  byId('happened-csv').addEventListener('click', () => void save('csv'));
  byId('happened-json').addEventListener('click', () => void save('json'));
}

export function renderTimeline({ timelineSeq = 0 }) {
  newestSeq = timelineSeq;
  // The record was begun anew.
  if (newestSeq < askedSeq) begin();
  else void renew();
}

function begin() {
  events = new Map();
  askedSeq = -1;
  void renew();
}

function renew() {
  if (byId('happened').open && newestSeq !== askedSeq) return ask();
}

/** Events before a number, or the newest. */
async function ask(before) {
  if (isAsking) return;
  isAsking = true;
  const [upTo, kinds] = [newestSeq, chosenKinds().join()];
  try {
    const answer = await fetchEvents({ before, limit: PAGE });
    // Others were chosen meanwhile.
    if (kinds !== chosenKinds().join()) return;
    const isApart = before === undefined && answer.more && !answer.events.some(({ seq }) => events.has(seq));
    if (isApart) events = new Map();
    if (before !== undefined || events.size === 0) hasMore = answer.more;
    for (const event of answer.events) events.set(event.seq, event);
    askedSeq = before === undefined ? upTo : askedSeq;
    show();
  } catch {
    setText(byId('happened-state'), say('eventsFailed'));
  } finally {
    isAsking = false;
    if (kinds !== chosenKinds().join()) void renew();
  }
}

async function fetchEvents({ before, limit }) {
  const query = new URLSearchParams({ limit: String(limit) });
  if (before !== undefined) query.set('before', String(before));
  for (const kind of chosenKinds()) query.append('kind', kind);
  const answer = await fetch(`/api/timeline?${query}`);
  if (!answer.ok) throw new Error(String(answer.status));
  return await answer.json();
}

function chosenKinds() {
  return [...byId('happened-kinds').querySelectorAll(':checked')].map(({ value }) => value);
}

function show() {
  const found = [...events.values()].filter(isFound).sort((a, b) => b.seq - a.seq);
  const words = found.length === 0 ? (events.size === 0 ? say('eventsNone') : say('eventsNotFound')) : '';
  setText(byId('happened-state'), words);
  setText(byId('happened-words'), say('events', { count: found.length }));
  byId('happened-more').hidden = !hasMore;
  const rows = found.flatMap((event, at) => {
    const day = dayOf(event.ts);
    return at > 0 && dayOf(found[at - 1].ts) === day ? [event] : [{ day, seq: `day of ${event.seq}` }, event];
  });
  keepList(byId('happened-list'), rows, {
    keyOf: ({ day, seq }) => (day === undefined ? String(seq) : day),
    make: (row) => (row.day === undefined ? makeEvent(row) : el('li', { class: 'day' }, el('h3', {}, row.day))),
  });
}

function isFound(event) {
  const text = byId('happened-search').value.trim().toLowerCase();
  const { words, sentence, ...facts } = event;
  const shown = [words, unmarked(told(words, sentence)), ...Object.values(facts)].join(' ');
  return text === '' || shown.toLowerCase().includes(text);
}

function makeEvent(event) {
  const { ts, unsure, kind, words, sentence } = event;
  const [sign, name] = KINDS[kind] ?? ['·', kind];
  const time = `${timeOfDay(ts)}${unsure === true ? ' ~' : ''}`;
  const facts = el('dl', {});
  const row = el(
    'details',
    {},
    el(
      'summary',
      {},
      el('time', { class: 'figure', datetime: new Date(ts).toISOString() }, time),
      el('span', { class: kind === 'alarm' ? 'sign bad' : 'sign', 'aria-hidden': 'true' }, sign),
      el('span', {}, el('span', { class: 'visually-hidden' }, `${name}: `), el('bdi', {}, told(words, sentence))),
    ),
    facts,
  );
  row.addEventListener('toggle', () => row.open && fillFacts(row, facts, event), { once: true });
  return el('li', { class: 'event' }, row);
}

function fillFacts(row, facts, event) {
  const utc = new Date(event.ts).toISOString();
  keepFacts(facts, [
    [say('factTime'), event.unsure === true ? say('unsure', { at: utc }) : utc],
    [say('factKind'), KINDS[event.kind]?.[1] ?? event.kind],
    ...Object.entries(FACTS).map(([name, title]) => [
      title,
      event[name] === undefined ? undefined : plain(event[name]),
    ]),
  ]);
  const target = placeOf(event);
  if (target !== undefined) row.append(el('button', { type: 'button', onclick: () => goTo(target) }, say('showHere')));
}

/** The output or the sensor that an event is of, where it is on the page. */
function placeOf({ actuator, sensor }) {
  const find = (className, isIt) => [...document.querySelectorAll(className)].find(({ dataset }) => isIt(dataset));
  if (actuator !== undefined) return find('.actuator', ({ name }) => name === actuator);
  return sensor === undefined ? undefined : find('.sensor', ({ names }) => names.split('\n').includes(sensor));
}

function goTo(target) {
  for (let fold = target.parentElement?.closest('details'); fold; fold = fold.parentElement?.closest('details'))
    fold.open = true;
  target.scrollIntoView({ block: 'center' });
  (target.querySelector('summary, button') ?? target).focus({ preventScroll: true });
}

/** All that is kept of the chosen kinds and has the searched text in it. */
async function save(form) {
  try {
    const all = [];
    for (let before; all.length < MAX_EVENTS; before = all.at(-1).seq) {
      const answer = await fetchEvents({ before, limit: LARGEST });
      all.push(...answer.events);
      if (!answer.more) break;
    }
    const found = all.filter(isFound);
    const names = ['kind', 'words', ...Object.keys(FACTS)];
    const rows = found.map((event) => [
      event.seq,
      new Date(event.ts).toISOString(),
      event.unsure ?? false,
      ...names.map((name) => event[name]),
    ]);
    if (form === 'json') saveText('what-happened.json', 'application/json', `${JSON.stringify(found, undefined, 2)}\n`);
    else
      saveText(
        'what-happened.csv',
        'text/csv;charset=utf-8',
        `\uFEFF${csvOf([['number', 'time', 'unsure', ...names], ...rows])}`,
      );
  } catch {
    setText(byId('happened-state'), say('eventsNotSaved'));
  }
}
