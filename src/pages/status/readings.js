/** Sensors with their readings, a line of the last minutes beside each, and a larger plot behind it. */
import { byId, el, keepList, setText } from '../shared/dom.js';
import { addToPlot, showPlot } from '../shared/plot.js';
import { drawSpark, makeSpark, Trace } from '../shared/spark.js';
import { ago, reading } from '../shared/words.js';

const SEED_MINUTES = 10;
const traces = new Map();
const seeded = new Set();
/** By the agent's clock, as the readings' times are: this browser's may be another. */
let agentMs = Date.now();

export function renderReadings(view) {
  agentMs = view.wallMs;
  keepList(byId('sensors'), view.sensors, {
    keyOf: ({ name }) => name,
    make: makeSensor,
    update: (element, sensor) => updateSensor(element, sensor, view),
  });
  if (view.sensors.length === 0) setText(byId('sensors'), 'No sensor is configured.');
  void seed(view);
}

/** After a contact was lost what came in between is asked for. */
export function forgetTraces() {
  traces.clear();
  seeded.clear();
}

function makeSensor({ name, kind }) {
  return el(
    'div',
    {},
    el('h3', {}, name, ' ', el('span', { class: 'quiet' }, kind)),
    el('p', { class: 'state' }),
    el('div', { class: 'list' }),
  );
}

function updateSensor(element, { state, fault, readings }, view) {
  const line = element.querySelector('.state');
  const newest = Math.max(...readings.map(({ atMs }) => atMs));
  const words = {
    starting: 'starting',
    failing: `no readings: ${fault ?? 'no reason given'}`,
    ok: readings.length === 0 ? 'works; nothing was read yet' : `read ${ago((view.nowMs - newest) / 1000)}`,
  };
  setText(line, words[state]);
  line.className = `state ${state === 'failing' ? 'bad' : 'quiet'}`;
  keepList(element.querySelector('.list'), readings, {
    keyOf: ({ key }) => key,
    make: makeReading,
    update: (row, one) => updateReading(row, one, view),
  });
}

function makeReading({ key, unit }) {
  const open = () => void showPlot({ key, unit, load: loadSeries });
  return el(
    'button',
    { class: 'reading', type: 'button', onclick: open },
    el('span', { class: 'key' }, key),
    el('span', { class: 'value' }),
    makeSpark(),
  );
}

function updateReading(row, { key, value, unit, atMs }, view) {
  setText(row.querySelector('.value'), reading(value, unit));
  const trace = traceOf(key);
  const ts = view.wallMs - (view.nowMs - atMs);
  if (!trace.add(ts, value)) return;
  drawSpark(row.querySelector('svg'), trace);
  addToPlot(key, ts, value);
}

function traceOf(key) {
  if (!traces.has(key)) traces.set(key, new Trace());
  return traces.get(key);
}

/** One question for all keys that are new; the agent reads its disk once for them. */
async function seed(view) {
  const keys = view.sensors
    .flatMap(({ readings }) => readings.map(({ key }) => key))
    .filter((key) => !seeded.has(key))
    .slice(0, 64);
  if (keys.length === 0) return;
  for (const key of keys) seeded.add(key);
  const series = await fetchSeries(keys, { fromMs: view.wallMs - SEED_MINUTES * 60_000, points: 80 }).catch(() => undefined);
  for (const [key, [times, values]] of Object.entries(series ?? {})) {
    const trace = traceOf(key);
    trace.seed(times, values);
    for (const row of document.querySelectorAll('button.reading')) if (row.dataset.key === key) drawSpark(row.querySelector('svg'), trace);
  }
}

async function loadSeries(key, hours) {
  const series = await fetchSeries([key], { fromMs: agentMs - hours * 3_600_000, points: 1_000 });
  return series[key];
}

async function fetchSeries(keys, { fromMs, points }) {
  const query = new URLSearchParams([...keys.map((key) => ['key', key]), ['from', String(Math.round(fromMs))], ['points', String(points)]]);
  const answer = await fetch(`/api/series?${query}`);
  // The agent reads for a few pages at a time.
  if (answer.status === 503) {
    await new Promise((resolve) => setTimeout(resolve, 500 + Math.random() * 1_500));
    return fetchSeries(keys, { fromMs, points });
  }
  if (!answer.ok) throw new Error(`answered ${answer.status}`);
  return answer.json();
}
