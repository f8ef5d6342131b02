/** The larger plot of one key, in the page's dialog. Its parts are loaded when the first is opened: a page that nobody plots on is lighter. */
import { byId, namesOf, setText } from './dom.js';
import { say } from './texts.js';

/** Module of the dialog, once it is there. */
let parts;

/** Joins the dialog `#plot`, which holds a heading, a summary, a button to close, and room for the rest. */
export function preparePlot() {
  const dialog = byId('plot');
  byId('plot-close').addEventListener('click', () => dialog.close());
  dialog.addEventListener('close', () => parts?.closePlot());
}

/**
 * Opens the plot of a line: `{ key, name, unit, class, facts, isSwitch, thresholds, maxGapMs, load }`, where `load({ fromMs, toMs, points, signal })` resolves
 * with times (ms) and values, or times, least and greatest ones. `others` gives lines that can be added; `now` the time of who dates them.
 */
export async function showPlot(line, options = {}) {
  byId('plot-title').replaceChildren(...namesOf([line.name ?? line.key]));
  setText(byId('plot-summary'), say('loading'));
  byId('plot').showModal();
  try {
    parts ??= await import('./plot-dialog.js');
    await parts.openPlot(line, options);
  } catch {
    setText(byId('plot-summary'), say('plotFailed'));
  }
}

/** A reading that arrived while the plot is open. */
export function addToPlot(key, ts, value) {
  parts?.addValue(key, ts, Number(value));
}
