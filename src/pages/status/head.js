/** The head: whose page it is, one sentence that says whether all is well, the title and the icon of the tab. */
import { byId, setText } from '../shared/dom.js';
import { named, unmarked } from '../shared/forms.js';
import { MARKS } from './verdict.js';

/** Colour of the tab's icon by state: legible on light and dark tabs. */
const COLOURS = { good: '#1a7f37', warn: '#b35900', bad: '#cf222e', starting: '#57606a' };
/** Marks of the tab's icon, as strokes. */
const STROKES = {
  good: 'M9 17l5 5 10-11',
  warn: 'M16 8v10m0 4v2',
  bad: 'M10 10l12 12m0-12L10 22',
  starting: 'M9 16h1m6 0h1m6 0h1',
};
let iconState;

/** Shows the device's name, the verdict and its second sentence. */
export function renderHead(name, { state, words, detail }) {
  setText(byId('device'), named(name));
  sayVerdict(state, words);
  setText(byId('detail'), detail);
  sayTitle(state, name);
}

/** Shows one sentence with its mark. */
export function sayVerdict(state, words) {
  const verdict = byId('verdict');
  verdict.dataset.state = state;
  setText(verdict.querySelector('.mark'), MARKS[state]);
  setText(verdict.querySelector('.words'), words);
}

/** Gives the tab its title and its icon. */
export function sayTitle(state, words) {
  document.title = unmarked(`${MARKS[state]} ${words}`);
  if (iconState === state) return;
  iconState = state;
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><circle cx="16" cy="16" r="16" fill="${COLOURS[state]}"/><path d="${STROKES[state]}" fill="none" stroke="#fff" stroke-width="4" stroke-linecap="round"/></svg>`;
  byId('favicon').href = `data:image/svg+xml,${encodeURIComponent(svg)}`;
}
