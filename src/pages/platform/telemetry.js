/** A device's telemetry, live: the last value of each key with the line of what came since the page looks, and a larger plot behind it. */
import { byId, el, keepList, setText } from '../shared/dom.js';
import { addToPlot, showPlot } from '../shared/plot.js';
import { drawSpark, makeSpark, Trace } from '../shared/spark.js';
import { reading } from '../shared/words.js';
import { series } from './rest.js';

const SEED_HOURS = 1 / 6;
let traces = new Map();

export function forgetTelemetry() {
  traces = new Map();
  byId('telemetry').replaceChildren();
}

export function renderTelemetry(deviceId, latest) {
  const rows = Object.entries(latest)
    .map(([key, [point]]) => ({ key, ...point }))
    .sort((a, b) => a.key.localeCompare(b.key));
  keepList(byId('telemetry'), rows, { keyOf: ({ key }) => key, make: ({ key }) => makeRow(deviceId, key), update });
}

function makeRow(deviceId, key) {
  const load = (ofKey, hours) => series(deviceId, ofKey, hours);
  const trace = new Trace();
  traces.set(key, trace);
  const spark = makeSpark();
  void load(key, SEED_HOURS).then(
    ([times, values]) => {
      trace.seed(times.slice(-120), values.slice(-120));
      drawSpark(spark, trace);
    },
    () => {},
  );
  return el(
    'button',
    { class: 'reading', type: 'button', onclick: () => void showPlot({ key, load }) },
    el('span', { class: 'key' }, key),
    el('span', { class: 'value' }),
    spark,
  );
}

function update(row, { key, ts, value }) {
  setText(row.querySelector('.value'), reading(value));
  const trace = traces.get(key);
  if (!trace.add(ts, value)) return;
  drawSpark(row.querySelector('svg'), trace);
  addToPlot(key, ts, value);
}
