/** A plot as a table and as a picture, made in the browser. */
import { unmarked } from './forms.js';
import { colourOf, DASHES, lineColour } from './plot-look.js';
import { summaryOf } from './plot-words.js';
import { say } from './texts.js';
import { instant } from './words.js';

/** Characters by which a spreadsheet takes a text for a formula. */
const FORMULA = /^[=+\-@\t\r]/;
const QUOTED = /[",\r\n]/;
const EDGE = 16;
const LINE = 22;

function cell(text) {
  const harmless = FORMULA.test(text) ? `'${text}` : text;
  return QUOTED.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}

/** RFC 4180: UTC times, and a column for each key; two for one whose values are a least and a greatest. */
export function csvOf(lines) {
  const columns = lines.flatMap(({ key, unit, columns: { times, least, greatest, isBand } }) => {
    const inUnit = unit === undefined || unit === '' ? '' : ` (${unit})`;
    const column = (name, values) => ({
      name: `${name}${inUnit}`,
      at: new Map(times.map((ts, index) => [ts, values[index]])),
    });
    return isBand ? [column(`${key} least`, least), column(`${key} greatest`, greatest)] : [column(key, least)];
  });
  const times = [...new Set(lines.flatMap((line) => line.columns.times))].sort((a, b) => a - b);
  const rows = times.map((ts) =>
    [new Date(ts).toISOString(), ...columns.map(({ at }) => String(at.get(ts) ?? ''))].join(','),
  );
  return [['time', ...columns.map(({ name }) => cell(name))].join(','), ...rows, ''].join('\r\n');
}

/** A name that every file system takes: `roofTemperature-2026-01-01T10-00-00Z.csv`. */
export function fileNameOf(lines, { fromMs }, kind) {
  const keys = lines
    .map(({ key }) => key.replace(/[^\p{L}\p{N}_.-]+/gu, '-').replace(/^[.-]+/, ''))
    .join('-')
    .slice(0, 80);
  const start = new Date(fromMs).toISOString().replace(/\.\d+/, '').replaceAll(':', '-');
  return `${keys || 'plot'}-${start}.${kind}`;
}

/** Draws the chart's canvas with a head of its own: title and span, then a line for each key. */
function pictureOf(canvas, { title, words, lines, colours }) {
  const ratio = devicePixelRatio;
  const headHeight = EDGE + LINE * (2 + lines.length);
  const whole = document.createElement('canvas');
  whole.width = canvas.width + 2 * EDGE * ratio;
  whole.height = canvas.height + (headHeight + EDGE) * ratio;
  const context = whole.getContext('2d');
  context.fillStyle = colours.ground;
  context.fillRect(0, 0, whole.width, whole.height);
  context.drawImage(canvas, EDGE * ratio, headHeight * ratio);
  context.scale(ratio, ratio);
  const room = whole.width / ratio - 2 * EDGE;
  const write = (text, row, font, left = 0) => {
    context.font = font;
    context.fillStyle = colours.text;
    context.fillText(text, EDGE + left, EDGE + LINE * (row + 0.5), room - left);
  };
  write(title, 0, 'bold 17px system-ui, sans-serif');
  write(words, 1, '14px system-ui, sans-serif');
  lines.forEach(({ text, colour, dash }, at) => {
    const y = EDGE + LINE * (at + 2.25);
    context.strokeStyle = colour;
    context.lineWidth = 2;
    context.setLineDash(dash);
    context.beginPath();
    context.moveTo(EDGE, y);
    context.lineTo(EDGE + 36, y);
    context.stroke();
    write(text, at + 2, '14px system-ui, sans-serif', 44);
  });
  return new Promise((resolve) => whole.toBlob(resolve, 'image/png'));
}

/** Zone of the times of this browser, as those on the axis are: `GMT+05:30`. */
function zoneAt(ms) {
  const parts = new Intl.DateTimeFormat('en', { timeZoneName: 'longOffset' }).formatToParts(ms);
  return parts.find(({ type }) => type === 'timeZoneName')?.value ?? '';
}

function saveFile(name, blob) {
  const address = URL.createObjectURL(blob);
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

export function saveCsv({ lines, span }) {
  // Spreadsheets take a text for UTF-8 when it says so.
  saveFile(fileNameOf(lines, span, 'csv'), new Blob(['\uFEFF', csvOf(lines)], { type: 'text/csv;charset=utf-8' }));
}

export async function savePng({ lines, span, chart }) {
  const title = lines.map(({ name, unit = '' }) => (unit === '' ? name : `${name} (${unit})`)).join(', ');
  const colours = { ground: colourOf('--ground'), text: colourOf('--text') };
  const drawn = lines.map((line) => ({
    text: unmarked(`${line.name}: ${summaryOf([line])}`),
    colour: lineColour(line),
    dash: DASHES[line.slot],
  }));
  const name = fileNameOf(lines, span, 'png');
  saveFile(
    name,
    await pictureOf(chart.ctx.canvas, {
      title,
      words: `${say('spanWords', { from: instant(span.fromMs), to: instant(span.toMs) })} (${zoneAt(span.toMs)})`,
      lines: drawn,
      colours,
    }),
  );
}
