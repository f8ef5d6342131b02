/** A device's telemetry, live: the last value of each key with the line of what came since the page looks, and a larger plot behind it. */
import { byId, el, keepList, setText } from '../shared/dom.js';
import { addToPlot, showPlot } from '../shared/plot.js';
import { drawSpark, makeSpark, Trace } from '../shared/spark.js';
import { reading } from '../shared/words.js';
import { series } from './rest.js';

const SEED_MS = 600_000;
const HOURS = 0.25;
let newestTs = 0;
/** By the platform's clock where that is ahead of this browser's. */
const now = () => Math.max(Date.now(), newestTs);
let rows = [];
let traces = new Map();

export function forgetTelemetry() {
  traces = new Map();
  byId('telemetry').replaceChildren();
}

export function renderTelemetry(deviceId, latest) {
  rows = Object.entries(latest)
    .map(([key, [point]]) => ({ key, ...point }))
    .sort((a, b) => a.key.localeCompare(b.key));
  keepList(byId('telemetry'), rows, { keyOf: ({ key }) => key, make: ({ key }) => makeRow(deviceId, key), update });
}

function makeRow(deviceId, key) {
  const line = () => plotLine(deviceId, rows.find((one) => one.key === key) ?? { key });
  const others = () =>
    rows
      .filter(({ value }) => ['number', 'bigint', 'boolean'].includes(typeof value))
      .map((one) => plotLine(deviceId, one));
  const trace = new Trace();
  traces.set(key, trace);
  const spark = makeSpark();
  void series(deviceId, key, { fromMs: Date.now() - SEED_MS, toMs: Date.now() + 60_000 }).then(
    ([times, values]) => {
      trace.seed(times.slice(-120), values.slice(-120));
      drawSpark(spark, trace);
    },
    () => {},
  );
  return el(
    'button',
    { class: 'reading', type: 'button', onclick: () => void showPlot(line(), { others, now, hours: HOURS }) },
    el('span', { class: 'key' }, key),
    el('span', { class: 'value' }),
    spark,
  );
}

function plotLine(deviceId, { key, value }) {
  return { key, isSwitch: typeof value === 'boolean', load: (span) => series(deviceId, key, span) };
}

function update(row, { key, ts, value }) {
  setText(row.querySelector('.value'), reading(value));
  newestTs = Math.max(newestTs, ts);
  const trace = traces.get(key);
  if (!trace.add(ts, value)) return;
  drawSpark(row.querySelector('svg'), trace);
  addToPlot(key, ts, value);
}
