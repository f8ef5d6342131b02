/** The last minutes of one key as a line beside its value. The value itself is text; the line is for those who see it. */

const SVG = 'http://www.w3.org/2000/svg';
const WIDTH = 100;
const HEIGHT = 24;
const MAX_POINTS = 150;

/** One key's recent points, oldest first. */
export class Trace {
  /** True for a state, which holds until the next one. */
  isState = false;
  times = [];
  values = [];

  /** Takes what was measured before the page was opened. */
  seed(times, values) {
    const first = this.times[0] ?? Number.POSITIVE_INFINITY;
    const older = times.filter((ts) => ts < first).length;
    this.times = [...times.slice(0, older), ...this.times];
    this.values = [...values.slice(0, older), ...this.values];
  }

  /** False when the point is known already, or no number. */
  add(ts, value) {
    this.isState = typeof value === 'boolean';
    const number = this.isState ? Number(value) : value;
    if (typeof number !== 'number' || !(ts > (this.times.at(-1) ?? 0) + 1)) return false;
    this.times.push(ts);
    this.values.push(number);
    if (this.times.length > MAX_POINTS) {
      this.times.shift();
      this.values.shift();
    }
    return true;
  }
}

export function makeSpark() {
  const svg = document.createElementNS(SVG, 'svg');
  svg.setAttribute('class', 'spark');
  svg.setAttribute('viewBox', `0 0 ${WIDTH} ${HEIGHT}`);
  svg.setAttribute('preserveAspectRatio', 'none');
  svg.setAttribute('aria-hidden', 'true');
  svg.append(document.createElementNS(SVG, 'polyline'));
  return svg;
}

export function drawSpark(svg, { times, values, isState }) {
  if (times.length < 2) return;
  const from = times[0];
  const span = Math.max(1, times.at(-1) - from);
  const least = Math.min(...values);
  const range = Math.max(...values) - least;
  const y = (value) => (range === 0 ? HEIGHT / 2 : HEIGHT - 2 - ((value - least) / range) * (HEIGHT - 4));
  const x = (ts) => (((ts - from) / span) * WIDTH).toFixed(1);
  const points = values.flatMap((value, at) => {
    const point = `${x(times[at])},${y(value).toFixed(1)}`;
    return isState && at > 0 ? [`${x(times[at])},${y(values[at - 1]).toFixed(1)}`, point] : [point];
  });
  svg.firstElementChild.setAttribute('points', points.join(' '));
}
