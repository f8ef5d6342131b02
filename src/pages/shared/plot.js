/** The larger plot of one key, in a dialog: uPlot is loaded when the first is opened. What the line shows is said in words beside it. */
import { byId, setText } from './dom.js';
import { instant, plain, reading } from './words.js';

/** Plot in the dialog: set while it is open. */
let open;
let loading;

const SAY_EVERY_MS = 30_000;

function loadUplot() {
  loading ??= new Promise((resolve, reject) => {
    const sheet = Object.assign(document.createElement('link'), { rel: 'stylesheet', href: '/page/uplot/uPlot.min.css' });
    const script = Object.assign(document.createElement('script'), { src: '/page/uplot/uPlot.iife.min.js' });
    script.onload = () => resolve(globalThis.uPlot);
    script.onerror = () => {
      loading = undefined;
      reject(new Error('uPlot could not be loaded'));
    };
    document.head.append(sheet, script);
  });
  return loading;
}

/** Joins the dialog's parts: `#plot` with a heading, a `select` of spans in hours, the plot, its summary and a button to close. */
export function preparePlot() {
  const dialog = byId('plot');
  byId('plot-close').addEventListener('click', () => dialog.close());
  byId('plot-span').addEventListener('change', () => void reload());
  dialog.addEventListener('close', () => {
    open?.chart?.destroy();
    open = undefined;
  });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => draw());
  byId('plot-area').addEventListener('keydown', moveCursor);
  addEventListener('resize', () => open?.chart?.setSize(size()));
}

/** `load(key, hours)` resolves with times (ms) and values; `facts` stand above the plot. */
export function showPlot({ key, unit, facts = '', load }) {
  open = { key, unit, load, times: [], values: [] };
  setText(byId('plot-facts'), facts);
  setText(byId('plot-at'), '');
  setText(byId('plot-title'), key);
  setText(byId('plot-summary'), 'Loading …');
  byId('plot-area').replaceChildren();
  byId('plot').showModal();
  return reload();
}

/** A reading that arrived while the plot is open. */
export function addToPlot(key, ts, value) {
  if (open?.key !== key || open.chart === undefined || !(ts > (open.times.at(-1) ?? 0))) return;
  open.times.push(ts);
  open.values.push(Number(value));
  open.chart.setData([open.times.map((ms) => ms / 1000), open.values]);
  // It is read out each time: not every second.
  if (ts - open.saidAtTs > SAY_EVERY_MS) summarise();
}

async function reload() {
  const mine = open;
  if (mine === undefined) return;
  try {
    const [[times, values]] = await Promise.all([mine.load(mine.key, Number(byId('plot-span').value)), loadUplot()]);
    if (open !== mine) return;
    Object.assign(mine, { times, values });
    draw();
  } catch {
    if (open === mine) setText(byId('plot-summary'), 'The readings could not be loaded. Choose a span to try again.');
  }
}

function draw() {
  if (open === undefined || globalThis.uPlot === undefined) return;
  open.chart?.destroy();
  byId('plot-area').replaceChildren();
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const axis = { stroke: colour('--text'), grid: { stroke: colour('--raised') }, ticks: { stroke: colour('--line') } };
  const { unit } = open;
  open.chart = new globalThis.uPlot(
    {
      ...size(),
      legend: { show: false },
      axes: [
        { ...axis, values: (_plot, marks, _axis, _space, stepS) => marks.map((mark) => markAt(mark, stepS)) },
        { ...axis, size: 70, values: (_plot, marks) => marks.map((mark) => plain(mark)) },
      ],
      hooks: { setCursor: [sayCursor] },
      series: [{}, { label: open.key, stroke: colour('--accent'), width: 2, value: (_plot, value) => reading(value, unit) }],
    },
    [open.times.map((ms) => ms / 1000), open.values],
    byId('plot-area'),
  );
  byId('plot-area').querySelector('canvas')?.setAttribute('aria-hidden', 'true');
  summarise();
}

/** The value that the pointer, the finger or the keyboard is at. */
function sayCursor({ cursor: { idx } }) {
  const ts = open?.times[idx ?? -1];
  setText(byId('plot-at'), ts === undefined ? '' : `${instant(ts)}: ${reading(open.values[idx], open.unit)}`);
}

const STEPS_BY_KEY = {
  ArrowLeft: -1,
  ArrowRight: 1,
  PageUp: -10,
  PageDown: 10,
  Home: Number.NEGATIVE_INFINITY,
  End: Number.POSITIVE_INFINITY,
};

function moveCursor(event) {
  const step = STEPS_BY_KEY[event.key];
  const last = (open?.times.length ?? 0) - 1;
  if (step === undefined || last < 0 || open.chart === undefined) return;
  event.preventDefault();
  const at = Math.min(last, Math.max(0, (open.chart.cursor.idx ?? (step > 0 ? -1 : last + 1)) + step));
  open.chart.setCursor({ left: open.chart.valToPos(open.times[at] / 1000, 'x'), top: open.chart.valToPos(open.values[at], 'y') });
}

function markAt(seconds, stepS) {
  const at = new Date(seconds * 1000);
  if (stepS >= 86_400) return at.toLocaleDateString('en-CA');
  return at.toLocaleTimeString('en-GB', stepS < 60 ? {} : { hour: '2-digit', minute: '2-digit' });
}

function summarise() {
  const { values, unit } = open;
  open.saidAtTs = open.times.at(-1) ?? 0;
  const text =
    values.length === 0
      ? 'No readings are kept for this span.'
      : `Least ${reading(Math.min(...values), unit)}, greatest ${reading(Math.max(...values), unit)}, last ${reading(values.at(-1), unit)}.`;
  setText(byId('plot-summary'), text);
}

function size() {
  return { width: Math.max(200, byId('plot-area').clientWidth), height: 300 };
}
