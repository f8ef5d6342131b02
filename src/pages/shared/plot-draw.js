/** The chart itself: lines with their bands, two axes of values, one of time. uPlot is loaded when the first is drawn. */
import { alignLines } from './plot-data.js';
import { colourOf, DASHES, lineColour } from './plot-look.js';
import {
  drawBeyond,
  drawLimits,
  drawSwitches,
  drawUnits,
  heightOfSwitches,
  limitsNear,
  shareOfSwitches,
} from './plot-marks.js';
import { timeTicks, valueTicks } from './plot-ticks.js';

const HEIGHT = 300;
const TOP = 24;
const RIGHT = 12;
const TICK_WIDTH = 7.5;
/** Narrower is a press, not a selection. */
const SELECTS_FROM_PX = 8;
let loading;

export function loadUplot() {
  loading ??= new Promise((resolve, reject) => {
    const sheet = Object.assign(document.createElement('link'), {
      rel: 'stylesheet',
      href: '/page/uplot/uPlot.min.css',
    });
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

/** Units of the lines that have an axis, at most two. */
export function unitsOf(lines) {
  return [...new Set(lines.filter(({ isSwitch }) => !isSwitch).map(({ unit = '' }) => unit))];
}

export function chartSize(area, lines) {
  const height = lines.every(({ isSwitch }) => isSwitch) ? heightOfSwitches(lines) : HEIGHT;
  return { width: Math.max(200, area.clientWidth), height };
}

/** @param span gives the time that is shown, each time that the chart asks. */
export function makeChart(area, { lines, span, onCursor, onSelect }) {
  const units = unitsOf(lines);
  const look = {
    stroke: colourOf('--text'),
    grid: { stroke: colourOf('--grid'), width: 1 },
    ticks: { stroke: colourOf('--line') },
  };
  const series = [{}];
  const bands = [];
  for (const line of lines) {
    const stroke = lineColour(line);
    const scale = scaleOf(line, units);
    if (line.columns.isBand && !line.isSwitch) {
      const edge = { scale, stroke: `${stroke}66`, width: 1, points: { show: false } };
      bands.push({ series: [series.length, series.length + 1], fill: `${stroke}33` });
      series.push(edge, { ...edge });
    }
    series.push(
      line.isSwitch
        ? { scale, paths: () => null, points: { show: false } }
        : { scale, stroke, width: 2, dash: DASHES[line.slot], points: { filter: lonely } },
    );
  }
  const chart = new globalThis.uPlot(
    {
      ...chartSize(area, lines),
      padding: [TOP, RIGHT, 0, units.length === 0 ? RIGHT : 0],
      legend: { show: false },
      cursor: {
        y: false,
        drag: { x: true, y: false, setScale: false },
        points: { show: false },
        bind: { dblclick: () => null },
      },
      scales: {
        x: { range: () => [span().fromMs / 1000, span().toMs / 1000] },
        switches: { range: () => [0, 1] },
        ...Object.fromEntries(
          units.map((unit, at) => [`y${at}`, { range: (_chart, min, max) => rangeOf(min, max, lines, unit) }]),
        ),
      },
      axes: [
        { ...look, space: 64, size: 48, values: (_chart, marks, _axis, _space, stepS) => timeTicks(marks, stepS) },
        ...units.map((unit, at) => valueAxis(look, unit, at)),
      ],
      bands,
      series,
      hooks: {
        drawAxes: [(drawn) => drawBeyond(drawn, lines)],
        draw: [
          (drawn) => {
            drawLimits(drawn, lines, (line) => scaleOf(line, units));
            drawSwitches(drawn, lines);
            drawUnits(drawn, units);
          },
        ],
        setCursor: [
          ({ cursor, posToVal }) =>
            onCursor(cursor.left >= 0 ? posToVal(cursor.left, 'x') * 1000 : undefined, cursor.left),
        ],
        setSelect: [
          (drawn) => {
            const { left, width } = drawn.select;
            if (width === 0) return;
            drawn.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
            if (width >= SELECTS_FROM_PX)
              onSelect(drawn.posToVal(left, 'x') * 1000, drawn.posToVal(left + width, 'x') * 1000);
          },
        ],
      },
    },
    chartData(lines, span()),
    area,
  );
  area.querySelector('canvas')?.setAttribute('aria-hidden', 'true');
  return chart;
}

/** The ends of the span are in it, so that an empty one has its axis of time. */
export function chartData(lines, { fromMs, toMs }) {
  const { times, rows } = alignLines(lines);
  const isFirst = !(times[0] <= fromMs);
  const isLast = !(times.at(-1) >= toMs);
  const edged = (list) => [...(isFirst ? [undefined] : []), ...list, ...(isLast ? [undefined] : [])];
  const seconds = [...(isFirst ? [fromMs] : []), ...times, ...(isLast ? [toMs] : [])].map((ms) => ms / 1000);
  return [
    seconds,
    ...rows.flatMap(({ middle, least, greatest }, at) =>
      (least === undefined || lines[at].isSwitch ? [middle] : [greatest, least, middle]).map(edged),
    ),
  ];
}

function scaleOf({ isSwitch, unit = '' }, units) {
  return isSwitch ? 'switches' : `y${units.indexOf(unit)}`;
}

function valueAxis(look, unit, at) {
  return {
    ...look,
    scale: `y${at}`,
    side: at === 0 ? 3 : 1,
    grid: at === 0 ? look.grid : { show: false },
    size: (_chart, texts) => 16 + TICK_WIDTH * Math.max(2, ...(texts ?? []).map((text) => text.length)),
    values: (_chart, marks, _axis, _space, step) => valueTicks(marks, step, unit),
  };
}

/** Room for limits that are near, and beneath the line for switches. */
function rangeOf(min, max, lines, unit) {
  if (min === null || min === undefined) return [null, null];
  const limits = lines
    .filter((line) => !line.isSwitch && (line.unit ?? '') === unit)
    .flatMap((line) => limitsNear(line, min, max));
  const [least, greatest] = [Math.min(min, ...limits), Math.max(max, ...limits)];
  const height = greatest - least || Math.abs(greatest) * 0.1 || 1;
  const top = greatest + height * 0.08;
  const bottom = least - height * 0.08;
  return [top - (top - bottom) / (1 - shareOfSwitches(lines, HEIGHT)), top];
}

/** Values between two gaps, which no line shows; undefined where all are shown as points anyway. */
function lonely(chart, at, isShown) {
  if (isShown) return null;
  const places = [];
  let [last, isOpen] = [undefined, true];
  chart.data[at].forEach((value, place) => {
    if (value === undefined) return;
    if (value === null) {
      if (last !== undefined && isOpen) places.push(last);
      [last, isOpen] = [undefined, true];
    } else {
      isOpen = last === undefined;
      last = place;
    }
  });
  if (last !== undefined && isOpen) places.push(last);
  return places;
}
