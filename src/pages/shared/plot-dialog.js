/** The open plot: its lines, the span that is shown, and what its controls do. */
import { breakable, byId, el, keepList, namesOf, setText } from './dom.js';
import { named } from './forms.js';
import { appendValue, columnsOf, dropBefore, gapLimit, nearestAt } from './plot-data.js';
import { chartData, chartSize, loadUplot, makeChart, unitsOf } from './plot-draw.js';
import { saveCsv, savePng } from './plot-export.js';
import { localInput, makeForm, offerAlike, offerLines, saySpan, swatch } from './plot-form.js';
import { PAN, watchGestures, ZOOM } from './plot-gestures.js';
import { DASHES } from './plot-look.js';
import { boundedSpan, followsNow, pannedSpan, zoomedSpan } from './plot-span.js';
import { limitSentences, summaryOf, valueWords } from './plot-words.js';
import { say } from './texts.js';
import { duration, instant } from './words.js';

const MAX_UNITS = 2;
const MAX_POINTS = 1_000;
const ASKS_AFTER_MS = 250;
const SAY_EVERY_MS = 30_000;
const EMPTY = { columns: columnsOf([]), limitMs: Number.POSITIVE_INFINITY };
/** Set while the dialog is open. */
let open;
let lengthMs = 3_600_000;

/** @throws when uPlot cannot be had. */
export async function openPlot(line, { others = () => [], now = Date.now, hours }) {
  if (byId('plot-area') === null) prepare(hours);
  open = { lines: [], others, now, said: 0, asking: new AbortController(), isFollowing: true };
  addLine(line);
  setText(byId('plot-at'), '');
  byId('plot-area').replaceChildren();
  show(boundedSpan(now() - lengthMs, now(), now()));
  const mine = open;
  await loadUplot();
  if (open === mine) await reload();
}

export function closePlot() {
  clearTimeout(open?.timer);
  open?.asking.abort();
  open?.chart?.destroy();
  open = undefined;
}

/** A value that came in: a span that ends now moves on with it. */
export function addValue(key, ts, value) {
  const line = open?.lines.find((one) => one.key === key);
  if (line === undefined || open.chart === undefined || !open.isFollowing) return;
  const { columns } = line;
  if (!(ts > (columns.times.at(-1) ?? 0)) || !Number.isFinite(value)) return;
  appendValue(columns, ts, value);
  const toMs = Math.max(ts, open.now());
  open.span = { fromMs: toMs - lengthMs, toMs };
  for (const one of open.lines) dropBefore(one.columns, open.span.fromMs);
  open.chart.setData(chartData(open.lines, open.span));
  sayLines();
  // It is read out each time: not every second.
  if (ts - open.said > SAY_EVERY_MS) summarise();
}

function prepare(hours) {
  if (hours !== undefined) lengthMs = hours * 3_600_000;
  makeForm(byId('plot-body'));
  const zoom = (factor, share) => go(zoomedSpan(open.span, factor, anchor(share), open.now()));
  const pan = (share) => go(pannedSpan(open.span, share, open.now()));
  const area = byId('plot-area');
  const moves = {
    earlier: () => pan(-PAN),
    later: () => pan(PAN),
    out: () => zoom(ZOOM),
    in: () => zoom(1 / ZOOM),
    now: goToNow,
  };
  for (const [name, move] of Object.entries(moves))
    byId(`plot-${name}`).addEventListener('click', () => open?.chart && move());
  const whenDrawn = (act) => (value, share) => open?.chart && act(value, share);
  watchGestures(area, { zoom: whenDrawn(zoom), pan: whenDrawn(pan), step: whenDrawn(step), point: whenDrawn(point) });
  byId('plot-span').addEventListener('change', ({ target }) => {
    const length = Number(target.value) * 3_600_000;
    if (!(length > 0)) return;
    const toMs = open.isFollowing ? open.now() : open.span.toMs;
    go(boundedSpan(toMs - length, toMs, open.now()));
  });
  byId('plot-quick').addEventListener('click', ({ target }) => {
    const length = Number(target.dataset.hours) * 3_600_000;
    if (length > 0) go(boundedSpan(open.now() - length, open.now(), open.now()));
  });
  byId('plot-from').addEventListener('change', ({ target }) => {
    const fromMs = new Date(target.value).getTime();
    if (!Number.isFinite(fromMs)) return;
    go(boundedSpan(fromMs, fromMs + lengthMs, open.now()));
    target.value = localInput(open.span.fromMs);
  });
  byId('plot-adding').addEventListener('submit', (event) => {
    event.preventDefault();
    const line = addable().find(({ key }) => key === byId('plot-add').value);
    if (line !== undefined) addLine(line);
    void reload();
  });
  byId('plot-alike').addEventListener('click', () => {
    for (const line of alike()) addLine(line);
    void reload();
  });
  byId('plot-find').addEventListener('input', () => offerLines(addable()));
  byId('plot-csv').addEventListener('click', () => open.loaded && saveCsv({ ...open, span: open.loaded }));
  byId('plot-png').addEventListener('click', () => open.chart && void savePng({ ...open, span: open.loaded }));
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => draw());
  addEventListener('resize', () => open?.chart?.setSize(chartSize(area, open.lines)));
}

/** Time at a share of the width; without one the end of a span that follows, and else the middle. */
function anchor(share) {
  const { fromMs, toMs } = open.span;
  return fromMs + (toMs - fromMs) * (share ?? (open.isFollowing ? 1 : 0.5));
}

const goToNow = () => go(boundedSpan(open.now() - lengthMs, open.now(), open.now()));

/** The old picture moves at once; the agent is asked when the hand rests. */
function go(span) {
  show(span);
  open.chart?.setScale('x', { min: span.fromMs / 1000, max: span.toMs / 1000 });
  clearTimeout(open.timer);
  open.timer = setTimeout(() => void reload(), ASKS_AFTER_MS);
}

function show(span) {
  open.span = span;
  open.isFollowing = followsNow(span, open.now());
  lengthMs = span.toMs - span.fromMs;
  saySpan(span, duration(lengthMs / 1000));
}

async function reload() {
  const mine = open;
  if (mine === undefined) return;
  mine.asking.abort();
  const asking = new AbortController();
  mine.asking = asking;
  const { span, lines } = mine;
  const points = Math.min(MAX_POINTS, 2 * chartSize(byId('plot-area'), lines).width);
  const area = byId('plot-area');
  area.setAttribute('aria-busy', 'true');
  try {
    const answers = await Promise.all(lines.map(({ load }) => load({ ...span, points, signal: asking.signal })));
    if (open !== mine || mine.asking !== asking) return;
    lines.forEach((line, at) => {
      line.columns = columnsOf(answers[at]);
      line.limitMs = gapLimit(line.columns.times, line.maxGapMs, (2 * (span.toMs - span.fromMs)) / points);
    });
    mine.loaded = span;
    draw();
  } catch {
    if (open === mine && mine.asking === asking) setText(byId('plot-summary'), say('readingsFailed'));
  } finally {
    if (mine.asking === asking) area.removeAttribute('aria-busy');
  }
}

function addLine(line) {
  const slot = DASHES.findIndex((_dash, at) => open.lines.every((one) => one.slot !== at));
  open.lines = [...open.lines, { name: line.key, thresholds: [], isSwitch: false, ...line, ...EMPTY, slot }];
  sayWhich();
}

function removeLine(key) {
  open.lines = open.lines.filter((one) => one.key !== key);
  sayWhich();
  draw();
  byId('plot-area').focus();
}

/** Lines that can be added: two units have an axis each, a third has none. */
function addable() {
  const { lines, others } = open;
  if (lines.length >= DASHES.length) return [];
  const fits = (line) => line.isSwitch || unitsOf([...lines, line]).length <= MAX_UNITS;
  return others().filter((line) => fits(line) && lines.every(({ key }) => key !== line.key));
}

/** Lines of the first one's unit, or states beside a state, that there is room for. */
function alike() {
  const [first] = open.lines;
  const isAlike = ({ unit = '', isSwitch }) => isSwitch === first.isSwitch && unit === (first.unit ?? '');
  return addable()
    .filter(isAlike)
    .slice(0, DASHES.length - open.lines.length);
}

function sayWhich() {
  byId('plot-title').replaceChildren(...namesOf(open.lines.map(({ name }) => name)));
  setText(byId('plot-facts'), open.lines.map(({ facts = '' }) => facts).join(' '));
  byId('plot-find').value = '';
  offerLines(addable());
  offerAlike(alike(), open.lines[0]);
  sayLines();
}

function draw() {
  if (open === undefined || globalThis.uPlot === undefined) return;
  const mine = open;
  mine.chart?.destroy();
  const area = byId('plot-area');
  area.replaceChildren();
  mine.chart = makeChart(area, {
    lines: mine.lines,
    span: () => mine.span,
    onCursor: (ts, left) => left !== mine.left && sayAt(ts),
    onSelect: (fromMs, toMs) => go(boundedSpan(fromMs, toMs, mine.now())),
  });
  summarise();
  sayLines();
}

function sayLines() {
  keepList(byId('plot-lines'), open.lines, {
    keyOf: ({ key }) => key,
    make: (line) =>
      el(
        'li',
        { class: 'row' },
        swatch(line, line.isSwitch ? [] : DASHES[line.slot]),
        el('bdi', { class: 'name' }, ...breakable(line.name)),
        el('span', { class: 'value' }),
        el(
          'button',
          { type: 'button', 'aria-label': say('remove', { name: line.name }), onclick: () => removeLine(line.key) },
          '✕',
        ),
      ),
    update: (item, line) => {
      const count = line.columns.times.length;
      setText(item.querySelector('.value'), count === 0 ? say('noValues') : valueWords(line, count - 1));
      item.querySelector('button').hidden = open.lines.length === 1;
    },
  });
}

function summarise() {
  open.said = Math.max(0, ...open.lines.map(({ columns }) => columns.times.at(-1) ?? 0));
  setText(byId('plot-summary'), summaryOf(open.lines));
  const sentences = open.lines.flatMap(limitSentences);
  keepList(byId('plot-limits'), sentences, { keyOf: (text) => text, make: (text) => el('li', {}, text) });
}

/** Says the values that are nearest to an instant, with the time of the first. */
function sayAt(ts) {
  if (open === undefined) return;
  open.at = ts;
  const near =
    ts === undefined ? [] : open.lines.map((line) => [line, nearestAt(line.columns.times, ts, line.limitMs)]);
  const found = near.filter(([, at]) => at !== undefined);
  const words = found.map(
    ([line, at]) => `${open.lines.length === 1 ? '' : `${named(line.name)} `}${valueWords(line, at)}`,
  );
  const [[first, place] = []] = found;
  const none = ts === undefined ? '' : say('noReadingAt', { at: instant(ts) });
  setText(byId('plot-at'), first === undefined ? none : `${instant(first.columns.times[place])}: ${words.join(', ')}`);
}

function point(share) {
  const { over } = open.chart;
  open.chart.setCursor({ left: share * over.clientWidth, top: over.clientHeight / 2 });
}

/** Goes from value to value, of whichever line. */
function step(count) {
  const { fromMs, toMs } = open.span;
  const times = [...new Set(open.lines.flatMap(({ columns }) => columns.times))].filter(
    (ts) => ts >= fromMs && ts <= toMs,
  );
  if (times.length === 0) return;
  times.sort((a, b) => a - b);
  const here = open.at === undefined ? (count > 0 ? -1 : times.length) : (nearestAt(times, open.at) ?? 0);
  const ts = times[Math.min(times.length - 1, Math.max(0, here + count))];
  // A pixel may hold several values: the hook would say another.
  open.left = open.chart.valToPos(ts / 1000, 'x');
  open.chart.setCursor({ left: open.left, top: open.chart.over.clientHeight / 2 });
  sayAt(ts);
}
