/** Sensors with their readings, a line of the last minutes beside each, and a larger plot behind it. */
import { breakable, byId, el, keepList, setText } from '../shared/dom.js';
import { addToPlot, showPlot } from '../shared/plot.js';
import { drawSpark, makeSpark, Trace } from '../shared/spark.js';
import { say } from '../shared/texts.js';
import { ago, called, shown as shownValue } from '../shared/words.js';
import { hasAlarm } from './attention.js';
import { loadFacts, readingFacts, readingWords } from './facts.js';
import { keepGroups } from './groups.js';

const SEED_MINUTES = 10;
/** So long a value stays on one line. */
const MAX_SHORT = 12;
const traces = new Map();
const seeded = new Set();
/** UTC ms, by the agent's clock. */
const lastReadMs = new Map();
/** By the agent's clock, as the readings' times are: this browser's may be another. */
let agentMs = Date.now();
let shown = [];

/** The machine's own numbers come last. */
const isMachine = ({ kind, device }) => kind === 'host' && device === undefined;

export function renderReadings(view) {
  agentMs = view.wallMs;
  shown = view.sensors;
  const site = view.sensors.filter((sensor) => !isMachine(sensor));
  const machine = view.sensors.filter(isMachine);
  const keep = (list, sensors, isGrouped) =>
    keepList(list, sensors, {
      keyOf: ({ name, label = '' }) => `${name} ${label}`,
      make: (sensor) => makeSensor(sensor, isGrouped ? 'h4' : 'h3'),
      update: (element, sensor) => updateSensor(element, sensor, view),
    });
  keepGroups(byId('sensors'), site, view, { tellsAll: true, keep });
  if (site.length === 0 && view.devices === undefined)
    setText(byId('sensors'), view.sensors.length === 0 ? say('noSensor') : say('onlyMachine'));
  const fold = byId('machine');
  // Where there is nothing else, it is what one came for.
  if (fold.hidden && machine.length > 0 && site.length === 0) fold.open = true;
  fold.hidden = machine.length === 0;
  setText(byId('machine-words'), machineWords(machine));
  keep(byId('machine-sensors'), machine, false);
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

function makeSensor({ name, label = name, kind }, heading) {
  return el(
    'div',
    { class: 'sensor', 'data-name': name },
    el(
      'div',
      { class: 'head' },
      el(heading, {}, el('bdi', {}, ...breakable(label)), ' ', el('span', { class: 'kind quiet' }, kind)),
      el('p', { class: 'state' }),
    ),
    el('div', { class: 'list' }),
  );
}

function updateSensor(element, { name, device, state, fault, readings }, view) {
  const line = element.querySelector('.state');
  const newest = Math.max(...readings.map(({ atMs }) => atMs));
  const words = {
    starting: say('sensorStarting'),
    failing: say('sensorFailing', { fault }),
    ok: readings.length === 0 ? say('sensorEmpty') : ago((view.nowMs - newest) / 1000),
  };
  setText(line, words[state]);
  line.className = `state ${state === 'failing' ? 'bad' : 'quiet'}`;
  element.classList.toggle('failing', state === 'failing');
  keepList(element.querySelector('.list'), readings, {
    keyOf: ({ key, label = '' }) => `${key} ${label}`,
    make: (one) => makeReading(one, name, device),
    update: (row, one) => {
      row.classList.toggle('alarmed', hasAlarm(view, name, one.key));
      updateReading(row, one, device, view);
    },
  });
}

/** Devices have keys of one name. */
function traceName(key, device) {
  return device === undefined ? key : `${device}: ${key}`;
}

function makeReading({ key, label, unit }, sensor, device) {
  const name = traceName(key, device);
  const open = async () => {
    await loadFacts();
    const line = plotLines().find((one) => one.key === name) ?? plotLine({ key, unit }, sensor, device);
    await showPlot(line, { others: plotLines, now: () => agentMs });
  };
  return el(
    'button',
    { class: 'reading', type: 'button', 'data-trace': name, 'data-name': key, onclick: () => void open() },
    el('bdi', { class: 'key' }, ...breakable(called({ label, key }))),
    el('bdi', { class: 'value' }),
    makeSpark(),
  );
}

/** Readings of the page that a plot can show. */
function plotLines() {
  return shown.flatMap(({ name, device, readings }) =>
    readings
      .filter(({ value }) => ['number', 'bigint', 'boolean'].includes(typeof value))
      .map((one) => plotLine(one, name, device)),
  );
}

function plotLine({ key, unit, value }, sensor, device) {
  const name = traceName(key, device);
  const { alarms = [], maxGapMs = Number.POSITIVE_INFINITY } = readingFacts(sensor, key) ?? { maxGapMs: null };
  return {
    ...{
      key: name,
      unit,
      thresholds: alarms.filter(({ above, below }) => (above ?? below) !== undefined),
      maxGapMs: maxGapMs ?? undefined,
      isSwitch: typeof value === 'boolean',
    },
    facts: readingWords({ sensor, key, unit, device, atMs: lastReadMs.get(name) }),
    load: (span) => loadSeries(key, device, span),
  };
}

function updateReading(row, one, device, view) {
  const { key, value, atMs } = one;
  const text = shownValue(value, one);
  setText(row.querySelector('.value'), text);
  row.classList.toggle('short', text.length <= MAX_SHORT);
  const name = traceName(key, device);
  const trace = traceOf(name);
  const ts = view.wallMs - (view.nowMs - atMs);
  lastReadMs.set(name, ts);
  if (!trace.add(ts, value)) return;
  drawSpark(row.querySelector('svg'), trace);
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
      if (row.dataset.trace === name) drawSpark(row.querySelector('svg'), trace);
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
