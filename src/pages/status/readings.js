/** Sensors with their readings, a line of the last minutes beside each, and a larger plot behind it. */
import { byId, el, keepList, setText } from '../shared/dom.js';
import { addToPlot, showPlot } from '../shared/plot.js';
import { drawSpark, makeSpark, Trace } from '../shared/spark.js';
import { ago, reading } from '../shared/words.js';
import { keepGroups } from './groups.js';

const SEED_MINUTES = 10;
const traces = new Map();
const seeded = new Set();
/** By the agent's clock, as the readings' times are: this browser's may be another. */
let agentMs = Date.now();

export function renderReadings(view) {
  agentMs = view.wallMs;
  keepGroups(byId('sensors'), view.sensors, view, {
    tellsAll: true,
    keep: (list, sensors, isGrouped) =>
      keepList(list, sensors, {
        keyOf: ({ name }) => name,
        make: (sensor) => makeSensor(sensor, isGrouped ? 'h4' : 'h3'),
        update: (element, sensor) => updateSensor(element, sensor, view),
      }),
  });
  if (view.sensors.length === 0 && view.devices === undefined) setText(byId('sensors'), 'No sensor is configured.');
  void seed(view);
}

/** After a contact was lost what came in between is asked for. */
export function forgetTraces() {
  traces.clear();
  seeded.clear();
}

function makeSensor({ name, kind }, heading) {
  return el(
    'div',
    {},
    el(heading, {}, name, ' ', el('span', { class: 'quiet' }, kind)),
    el('p', { class: 'state' }),
    el('div', { class: 'list' }),
  );
}

function updateSensor(element, { device, state, fault, readings }, view) {
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
    make: (one) => makeReading(one, device),
    update: (row, one) => updateReading(row, one, device, view),
  });
}

/** Devices have keys of one name. */
function traceName(key, device) {
  return device === undefined ? key : `${device}: ${key}`;
}

function makeReading({ key, unit }, device) {
  const name = traceName(key, device);
  const open = () => void showPlot({ key: name, unit, load: (_name, hours) => loadSeries(key, device, hours) });
  return el(
    'button',
    { class: 'reading', type: 'button', 'data-trace': name, onclick: open },
    el('span', { class: 'key' }, key),
    el('span', { class: 'value' }),
    makeSpark(),
  );
}

function updateReading(row, { key, value, unit, atMs }, device, view) {
  setText(row.querySelector('.value'), reading(value, unit));
  const name = traceName(key, device);
  const trace = traceOf(name);
  const ts = view.wallMs - (view.nowMs - atMs);
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
    readings.map(({ key }) => ({ key, device, name: traceName(key, device) })).filter(({ name }) => traces.has(name) && !seeded.has(name)),
  );
  if (missing.length === 0) return;
  const { device } = missing[0];
  const asked = missing.filter((one) => one.device === device).slice(0, 64);
  for (const { name } of asked) seeded.add(name);
  const keys = [...new Set(asked.map(({ key }) => key))];
  const series = await fetchSeries(keys, device, { fromMs: view.wallMs - SEED_MINUTES * 60_000, points: 80 }).catch(() => undefined);
  for (const [key, [times, values]] of Object.entries(series ?? {})) {
    const name = traceName(key, device);
    const trace = traceOf(name);
    trace.seed(times, values);
    for (const row of document.querySelectorAll('button.reading'))
      if (row.dataset.trace === name) drawSpark(row.querySelector('svg'), trace);
  }
}

async function loadSeries(key, device, hours) {
  const series = await fetchSeries([key], device, { fromMs: agentMs - hours * 3_600_000, points: 1_000 });
  return series[key] ?? [[], []];
}

async function fetchSeries(keys, device, { fromMs, points }) {
  const query = new URLSearchParams([
    ...keys.map((key) => ['key', key]),
    ...(device === undefined ? [] : [['device', device]]),
    ['from', String(Math.round(fromMs))],
    ['points', String(points)],
  ]);
  const answer = await fetch(`/api/series?${query}`);
  // The agent reads for a few pages at a time.
  if (answer.status === 503) {
    await new Promise((resolve) => setTimeout(resolve, 500 + Math.random() * 1_500));
    return fetchSeries(keys, device, { fromMs, points });
  }
  if (!answer.ok) throw new Error(`answered ${answer.status}`);
  return answer.json();
}
