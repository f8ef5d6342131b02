/** Readings as tiles in cards: the value, a line of the last minutes beneath it, and a larger plot behind it. */
import { classOf, measuredClass } from '../names/classes.js';
import { breakable, byId, el, keepList, keepNodes, setText } from '../shared/dom.js';
import { named } from '../shared/forms.js';
import { drawIcon } from '../shared/icon.js';
import { addToPlot, showPlot } from '../shared/plot.js';
import { drawSpark, makeSpark, Trace } from '../shared/spark.js';
import { say, told } from '../shared/texts.js';
import { ago, called, duration, instant, shownPieces } from '../shared/words.js';
import { hasAlarm } from './attention.js';
import { cardsOf, isMachine, titleOf } from './cards.js';
import { changeButton } from './configuration.js';
import { loadFacts, mayConfigure, readingFacts, readingWords, settingWords } from './facts.js';

const SEED_MINUTES = 10;
/** Sizes of cards by the number of their values: a tile, two columns, four, and the whole width. */
const SIZES = [
  [1, 'one'],
  [4, 'two'],
  [12, 'four'],
];
/** Text that a tile shows in large letters. */
const MAX_LARGE = 9;
const CLASSES = { good: 'quiet', waiting: 'warn', fault: 'bad' };
const traces = new Map();
const seeded = new Set();
/** UTC ms, by the agent's clock. */
const lastReadMs = new Map();
/** By the agent's clock, as the readings' times are: this browser's may be another. */
let agentMs = Date.now();
let shown = [];
/** Attached devices as the status tells them. */
let devices = [];

export function renderReadings(view) {
  agentMs = view.wallMs;
  shown = view.sensors;
  devices = view.devices?.list ?? [];
  const cards = cardsOf(view);
  const machine = view.sensors.filter(isMachine);
  keepCards(byId('sensors'), cards, view);
  const isEmpty = cards.length === 0 && view.devices === undefined;
  byId('no-sensors').hidden = !isEmpty;
  if (isEmpty) setText(byId('no-sensors'), view.sensors.length === 0 ? say('noSensor') : say('onlyMachine'));
  const fold = byId('machine');
  // Where there is nothing else, it is what one came for.
  if (fold.hidden && machine.length > 0 && isEmpty) fold.open = true;
  fold.hidden = machine.length === 0;
  setText(byId('machine-words'), machineWords(machine));
  keepCards(byId('machine-sensors'), [{ key: 'machine', sensors: machine }], view);
  void seed(view);
}

function machineWords(machine) {
  if (machine.some(({ state }) => state === 'failing')) return say('givesNothing');
  const readings = machine.flatMap((sensor) => sensor.readings);
  return say('values', { count: readings.length });
}

/** After a contact was lost what came in between is asked for. */
export function forgetTraces() {
  traces.clear();
  seeded.clear();
}

/** Brings a grid in line with cards: `{ key, title, sensors, device }`; without a title a card has no head. */
export function keepCards(grid, cards, view) {
  keepList(grid, cards, {
    keyOf: ({ key }) => key,
    make: makeCard,
    update: (card, one) => updateCard(card, one, view),
  });
}

function makeCard({ title }) {
  const card = el(
    'div',
    { class: 'sensor' },
    el('div', { class: 'head', hidden: title === undefined }, el('h3', {}), el('p', { class: 'state' })),
    el('p', { class: 'remedy quiet', hidden: true }),
    el('ul', { class: 'faults plain' }),
    el('div', { class: 'list' }),
    el('p', { class: 'settings quiet' }),
    changeButton(title ?? say('machine'), () => ({ sensors: card.dataset.names.split('\n') })),
  );
  return card;
}

function updateCard(card, { title, sensors, device }, view) {
  const rows = sensors.flatMap((sensor) => sensor.readings.map((reading) => ({ sensor, reading })));
  const failing = sensors.filter(({ state }) => state === 'failing');
  card.dataset.names = sensors.map(({ name }) => name).join('\n');
  card.querySelector('.change').hidden = mayConfigure() !== true || sensors.length === 0;
  card.dataset.size = SIZES.find(([most]) => rows.length + 2 * failing.length <= most)?.[1] ?? 'all';
  card.classList.toggle('failing', failing.length > 0 || device?.verdict === 'fault');
  setText(card.querySelector('h3'), named(title ?? ''));
  const [words, className] = stateOf({ sensors, rows, device }, view);
  const state = card.querySelector('.state');
  setText(state, words);
  state.className = `state ${className}`;
  setText(card.querySelector('.settings'), title === undefined || sensors.length !== 1 ? '' : settingWords(sensors[0]));
  const remedy = card.querySelector('.remedy');
  setText(remedy, told(device?.remedy) ?? '');
  remedy.hidden = device?.remedy === undefined;
  keepList(card.querySelector('.faults'), failing, {
    keyOf: ({ name }) => name,
    make: () => el('li', { class: 'bad' }),
    update: (item, sensor) => setText(item, faultOf(sensor, { isAlone: sensors.length === 1 }, view)),
  });
  keepList(card.querySelector('.list'), rows, {
    keyOf: ({ sensor, reading }) => `${sensor.name} ${reading.key} ${reading.label ?? ''}`,
    make: ({ sensor, reading }) => makeReading(reading, sensor, title),
    update: (row, { sensor, reading }) => {
      row.classList.toggle('alarmed', hasAlarm(view, sensor.name, reading.key));
      updateReading(row, reading, sensor.device, view);
    },
  });
}

/** Words about a card as a whole, and their class. A device that is well says when it was read. */
function stateOf({ sensors, rows, device }, { nowMs }) {
  if (device !== undefined && device.verdict !== 'good')
    return [
      `${told(device.words)}, ${say('forTime', { time: duration((nowMs - device.sinceMs) / 1000) })}`,
      CLASSES[device.verdict],
    ];
  if (rows.length > 0) return [ago((nowMs - Math.max(...rows.map(({ reading }) => reading.atMs))) / 1000), 'quiet'];
  if (sensors.some(({ state }) => state === 'failing')) return ['', 'quiet'];
  if (sensors.length === 0) return [device === undefined ? '' : told(device.words), 'quiet'];
  return [sensors.some(({ state }) => state === 'ok') ? say('sensorEmpty') : say('sensorStarting'), 'quiet'];
}

function faultOf({ name, label, fault, failingSinceMs }, { isAlone }, { nowMs, wallMs }) {
  const since = failingSinceMs === undefined ? undefined : instant(wallMs - (nowMs - failingSinceMs));
  const words = say('sensorFailing', { fault: fault === undefined ? undefined : told(fault), since });
  return isAlone ? words : `${named(called({ label, key: name }))}: ${words}`;
}

function deviceTitle(slot) {
  const device = devices.find(({ slots }) => slots.includes(slot));
  return device === undefined ? slot : titleOf(device);
}

/** Devices have keys of one name. */
function traceName(key, device) {
  return device === undefined ? key : `${device}: ${key}`;
}

function makeReading(reading, { name: sensor, device }, title) {
  const { key, unit } = reading;
  const name = traceName(key, device);
  const open = async () => {
    await loadFacts();
    const line = plotLines().find((one) => one.key === name) ?? plotLine(reading, { name: sensor, device });
    await showPlot(line, { others: plotLines, now: () => agentMs });
  };
  const [hidden, visible] = keyParts(reading, title);
  return el(
    'button',
    { class: 'reading', type: 'button', 'data-trace': name, 'data-name': key, onclick: () => void open() },
    drawIcon(classOf(reading.class ?? measuredClass(key, unit))?.icon),
    el(
      'bdi',
      { class: 'key' },
      hidden === '' ? undefined : el('span', { class: 'visually-hidden' }, `${hidden} `),
      ...breakable(visible),
    ),
    el('bdi', { class: 'value' }),
    makeSpark(),
  );
}

/** Name of a value in two parts: what its card says already, and the rest. A label is shown whole. */
function keyParts({ key, label }, title = '') {
  const name = called({ label, key });
  if (name === title) return [name, ''];
  if (label !== undefined || !name.toLowerCase().startsWith(`${title.toLowerCase()} `)) return ['', name];
  const rest = name.slice(title.length + 1);
  return [name.slice(0, title.length), rest.charAt(0).toUpperCase() + rest.slice(1)];
}

/** Readings of the page that a plot can show. */
function plotLines() {
  return shown.flatMap((sensor) =>
    sensor.readings
      .filter(({ value }) => ['number', 'bigint', 'boolean'].includes(typeof value))
      .map((one) => plotLine(one, sensor)),
  );
}

function plotLine(reading, { name: sensor, device }) {
  const { key, unit, value } = reading;
  const name = traceName(key, device);
  const { alarms = [], maxGapMs = Number.POSITIVE_INFINITY } = readingFacts(sensor, key) ?? { maxGapMs: null };
  return {
    key: name,
    name: traceName(called(reading), deviceTitle(device)),
    unit,
    class: reading.class,
    thresholds: alarms.filter(({ above, below }) => (above ?? below) !== undefined),
    maxGapMs: maxGapMs ?? undefined,
    isSwitch: typeof value === 'boolean',
    facts: readingWords({ sensor, key, unit, device, atMs: lastReadMs.get(name) }),
    load: (span) => loadSeries(key, device, span),
  };
}

function updateReading(row, one, device, view) {
  const { key, value, atMs } = one;
  const pieces = shownPieces(value, one);
  const cell = row.querySelector('.value');
  keepNodes(cell, pieces, ({ text, isUnit }) => (isUnit ? el('small', {}, ` ${text}`) : text));
  cell.classList.toggle('long', pieces.map(({ text }) => text).join(' ').length > MAX_LARGE);
  row.classList.toggle('on', value === true);
  row.classList.toggle('is-state', typeof value === 'boolean');
  const name = traceName(key, device);
  const trace = traceOf(name);
  const ts = view.wallMs - (view.nowMs - atMs);
  lastReadMs.set(name, ts);
  if (!trace.add(ts, value)) return;
  drawSpark(row.querySelector('.spark'), trace);
  addToPlot(name, ts, value);
}

function traceOf(name) {
  if (!traces.has(name)) traces.set(name, new Trace());
  return traces.get(name);
}

/** One question for all keys of one device that are new and shown; the agent reads its disk once for them. */
async function seed(view) {
  const missing = view.sensors.flatMap(({ device, readings }) =>
    readings
      .map(({ key }) => ({ key, device, name: traceName(key, device) }))
      .filter(({ name }) => traces.has(name) && !seeded.has(name)),
  );
  if (missing.length === 0) return;
  const { device } = missing[0];
  const asked = missing.filter((one) => one.device === device).slice(0, 64);
  for (const { name } of asked) seeded.add(name);
  const keys = [...new Set(asked.map(({ key }) => key))];
  const series = await fetchSeries(keys, device, { fromMs: view.wallMs - SEED_MINUTES * 60_000, points: 80 }).catch(
    () => undefined,
  );
  for (const [key, [times, values]] of Object.entries(series ?? {})) {
    const name = traceName(key, device);
    const trace = traceOf(name);
    trace.seed(times, values);
    for (const row of document.querySelectorAll('button.reading'))
      if (row.dataset.trace === name) drawSpark(row.querySelector('.spark'), trace);
  }
}

async function loadSeries(key, device, span) {
  const series = await fetchSeries([key], device, span);
  return series[key] ?? [[], []];
}

async function fetchSeries(keys, device, { fromMs, toMs, points, signal }) {
  const query = new URLSearchParams([
    ...keys.map((key) => ['key', key]),
    ...(device === undefined ? [] : [['device', device]]),
    ['from', String(Math.round(fromMs))],
    // The end is not in the span itself.
    ...(toMs === undefined ? [] : [['to', String(Math.ceil(toMs) + 1)]]),
    ['points', String(points)],
  ]);
  const answer = await fetch(`/api/series?${query}`, { signal });
  // The agent reads for a few pages at a time.
  if (answer.status === 503) {
    await new Promise((resolve) => setTimeout(resolve, 500 + Math.random() * 1_500));
    return fetchSeries(keys, device, { fromMs, toMs, points, signal });
  }
  if (!answer.ok) throw new Error(`answered ${answer.status}`);
  return answer.json();
}
