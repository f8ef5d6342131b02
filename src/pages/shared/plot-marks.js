/** Marks in a chart beside its lines: limits, the time beyond them, switches, units. */
import { unmarked } from './forms.js';
import { extremes, periodsBeyond, periodsOfSwitch } from './plot-data.js';
import { colourOf, lineColour } from './plot-look.js';
import { limitWords } from './plot-words.js';
import { plain } from './words.js';

const SWITCH_HEIGHT = 26;
const SWITCH_GAP = 6;
/** Room for the axis of time and for the units. */
const AXIS_HEIGHT = 72;
const MOST_FOR_SWITCHES = 0.6;
const FONT = '12px system-ui, sans-serif';

const limitOf = ({ above, below }) => above ?? below;

/** Limits no further from the values than these are from each other. */
export function limitsNear({ thresholds }, min, max) {
  const reach = max - min || Math.abs(max) * 0.2 || 1;
  return thresholds.map(limitOf).filter((limit) => limit >= min - reach && limit <= max + reach);
}

/** Share of the height that strips of switches take away from the lines. */
export function shareOfSwitches(lines, height) {
  const count = lines.filter(({ isSwitch }) => isSwitch).length;
  return Math.min(MOST_FOR_SWITCHES, (count * (SWITCH_HEIGHT + SWITCH_GAP)) / (height - AXIS_HEIGHT));
}

/** Height of a chart that has nothing but switches. */
export function heightOfSwitches(lines) {
  return AXIS_HEIGHT + SWITCH_GAP + lines.length * (SWITCH_HEIGHT + SWITCH_GAP);
}

/** Shades the time that a value was beyond a limit. */
export function drawBeyond(chart, lines) {
  within(chart, ({ ctx, left, top, width, height, x }) => {
    ctx.fillStyle = `${colourOf('--bad')}2b`;
    for (const line of lines)
      for (const threshold of line.thresholds)
        for (const { fromMs, toMs } of periodsBeyond(line.columns, threshold, line.limitMs)) {
          const [from, to] = [Math.max(left, x(fromMs)), Math.min(left + width, x(toMs))];
          if (to >= left && from <= left + width) ctx.fillRect(from, top, Math.max(2, to - from), height);
        }
  });
}

export function drawLimits(chart, lines, scaleOf) {
  within(chart, ({ ctx, left, top, width, height, ratio }) => {
    for (const line of lines) {
      const found = extremes(line.columns);
      if (found === undefined || line.isSwitch) continue;
      for (const threshold of line.thresholds) {
        const y = chart.valToPos(limitOf(threshold), scaleOf(line), true);
        if (!(y >= top && y <= top + height)) continue;
        ctx.strokeStyle = colourOf('--bad');
        ctx.lineWidth = 1.5 * ratio;
        ctx.setLineDash([6 * ratio, 3 * ratio]);
        ctx.beginPath();
        ctx.moveTo(left, y);
        ctx.lineTo(left + width, y);
        ctx.stroke();
        const text = unmarked(limitWords(threshold, line.unit));
        const isAbove = y - 20 * ratio > top;
        label(ctx, text, {
          x: left + width - 4 * ratio,
          y: isAbove ? y - 10 * ratio : y + 10 * ratio,
          align: 'right',
          ratio,
          room: width,
        });
      }
    }
  });
}

/** Each switch is a strip: filled where it is on, half filled where it was both. */
export function drawSwitches(chart, lines) {
  within(chart, ({ ctx, left, top, width, height, x, ratio }) => {
    const strips = lines.filter(({ isSwitch }) => isSwitch);
    strips.forEach((line, at) => {
      const high = SWITCH_HEIGHT * ratio;
      const y = top + height - (strips.length - at) * (SWITCH_HEIGHT + SWITCH_GAP) * ratio;
      for (const { fromMs, toMs, value } of periodsOfSwitch(line.columns, line.limitMs)) {
        const [from, to] = [Math.max(left, x(fromMs)), Math.min(left + width, x(toMs))];
        if (to < left || from > left + width) continue;
        const wide = Math.max(2 * ratio, to - from);
        ctx.strokeStyle = ctx.fillStyle = lineColour(line);
        ctx.lineWidth = ratio;
        if (value > 0) ctx.fillRect(from, y + (value < 1 ? high / 2 : 0), wide, value < 1 ? high / 2 : high);
        else ctx.fillRect(from, y + high - 2 * ratio, wide, 2 * ratio);
        const word = value === 1 || value === 0 ? plain(value === 1) : '';
        if (word === '' || wide < 28 * ratio) continue;
        ctx.fillStyle = colourOf(value === 1 ? '--ground' : '--text');
        ctx.font = scaled(ratio);
        ctx.textAlign = 'center';
        ctx.fillText(word, from + wide / 2, y + high / 2);
      }
    });
  });
}

/** Units stand over their axes. */
export function drawUnits(chart, units) {
  const { ctx, bbox } = chart;
  const ratio = devicePixelRatio;
  ctx.save();
  ctx.font = scaled(ratio, 'bold ');
  ctx.fillStyle = colourOf('--text');
  ctx.textBaseline = 'middle';
  units.forEach((unit, at) => {
    ctx.textAlign = at === 0 ? 'right' : 'left';
    const text = unit === 'By' ? '' : unit;
    ctx.fillText(text, at === 0 ? bbox.left - 6 * ratio : bbox.left + bbox.width + 6 * ratio, bbox.top - 14 * ratio);
  });
  ctx.restore();
}

function within(chart, draw) {
  const { ctx, bbox } = chart;
  if (chart.scales.x.min === null || chart.scales.x.min === undefined) return;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  ctx.textBaseline = 'middle';
  draw({ ctx, ...bbox, ratio: devicePixelRatio, x: (ms) => chart.valToPos(ms / 1000, 'x', true) });
  ctx.restore();
}

/** Text with an edge of the ground's colour, so that a line beneath it shows and does not cross it out. */
function label(ctx, text, { x, y, align, ratio, room }) {
  ctx.setLineDash([]);
  ctx.font = scaled(ratio, 'bold ');
  ctx.textAlign = align;
  ctx.lineWidth = 4 * ratio;
  ctx.lineJoin = 'round';
  ctx.strokeStyle = colourOf('--ground');
  ctx.strokeText(text, x, y, room - 8 * ratio);
  ctx.fillStyle = colourOf('--bad');
  ctx.fillText(text, x, y, room - 8 * ratio);
}

function scaled(ratio, weight = '') {
  return weight + FONT.replace('12px', `${12 * ratio}px`);
}
