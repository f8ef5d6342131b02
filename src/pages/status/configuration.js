/**
 * Configuration of the gateway: what became of the last change, a trial that is on, and the ways to change it. The agent is asked when the page opens, when
 * the timeline has something new, and while a trial is on, so that a reload or a restart loses nothing. What changes it is loaded on first use.
 */
import { byId, el, keepFacts, setText } from '../shared/dom.js';
import { say, told } from '../shared/texts.js';
import { duration, instant } from '../shared/words.js';
import { forgetFacts, loadFacts, mayConfigure, mayControl } from './facts.js';
import { ask } from './switching.js';

/** Digits of a hash that are read out. */
const DIGITS = 12;
const ASK_AGAIN_MS = 2_000;
/** Time for which an end is shown above everything else, ms. */
const END_SHOWN_MS = 600_000;
const STATES = {
  waiting: 'trialWaiting',
  received: 'trialReceived',
  trying: 'trialTrying',
  kept: 'trialKept',
  returned: 'trialReturned',
  refused: 'trialRefused',
};
const SENTENCES = {
  waiting: 'changeWaiting',
  received: 'changeReceived',
  trying: 'changeTrying',
  kept: 'changeKept',
  returned: 'changeReturned',
  refused: 'changeRefused',
};
const ORIGINS = { package: 'byPackage', patch: 'byPatch', page: 'byPage', local: 'byLocal', site: 'bySite' };
/** Where a browser keeps which end it has been told to hide. */
const DISMISSED = 'turnstone-dismissed-change';

let viewNow;
/** Newest answer, and the agent's clock at it. */
let newest;
let askedMs = Number.NEGATIVE_INFINITY;
let askedSeq;
let isAsking = false;
let fold;
const listeners = new Set();
let dismissed = keptDismissal();

export function prepareConfiguration() {
  byId('configuration').addEventListener('toggle', () => void openFold());
  byId('trial-dismiss').addEventListener('click', dismiss);
}

/** True for an alert that tells of a change of the configuration. */
export function isChangeAlert({ sentences = {} }, text) {
  return sentences[text]?.id.startsWith('change') === true;
}

/** Returns a status without the alert of a change whose end was dismissed here. */
export function withoutDismissed(view) {
  if (mayConfigure() !== true || !isDismissed(newest?.answer)) return view;
  return Object.assign({}, view, { alerts: view.alerts.filter((text) => !isChangeAlert(view, text)) });
}

export function renderConfiguration(view) {
  viewNow = view;
  const may = mayConfigure();
  byId('configuration').hidden = may === undefined;
  byId('configuration-off').hidden = may !== false;
  if (may === undefined) return;
  // Where nothing is changed from afar, only whoever opens the part wants to know.
  if ((may || (mayControl() && byId('configuration').open)) && isDue(view)) void learn();
  show();
}

/** Asks the agent at once what became of a change. */
export async function learn() {
  if (isAsking) return;
  isAsking = true;
  [askedMs, askedSeq] = [viewNow.nowMs, viewNow.timelineSeq];
  const { answer } = await ask('configurationStatus', {});
  isAsking = false;
  if (answer === undefined) return;
  const before = newest?.answer.fileHash;
  newest = { answer, atMs: viewNow.nowMs };
  // Limits and periods are those of the file that runs.
  if (before !== undefined && before !== answer.fileHash) {
    forgetFacts();
    void loadFacts();
  }
  show();
}

/** Calls a listener with each answer on the state of changes, until it returns false. */
export function followChanges(listener) {
  if (newest === undefined || listener(newest.answer) !== false) listeners.add(listener);
}

/** The newest status of the agent, for parts that are loaded later. */
export function statusNow() {
  return viewNow;
}

export function shortHash(hash) {
  return hash.slice(0, DIGITS);
}

/** Returns state, origin and time of a change in words. */
export function changeWords({ state, outcome = state, origin, atMs }) {
  const [word, by] = [STATES[outcome], ORIGINS[origin]];
  return say('changeBy', {
    state: word === undefined ? told(outcome) : say(word),
    by: by === undefined ? told(origin) : say(by),
    at: instant(atMs),
  });
}

/** Returns a sentence on a change and, while it is on trial, one on what it waits for. */
export function trialWords({ state, trial }) {
  const isOn = trial !== undefined && trial !== null;
  const name = isOn ? 'trying' : state.state;
  return [say(SENTENCES[name], { reason: told(state?.reason) }), isOn ? leftWords(trial) : ''];
}

/** Returns the button that opens the dialog in which a thing is changed; hidden until it may be. @param subject returns the thing as it is now. */
export function changeButton(title, subject) {
  const open = () => void openChange({ title, ...subject() });
  const properties = { type: 'button', class: 'change', hidden: true, 'aria-label': say('changeOf', { name: title }) };
  return el('button', Object.assign(properties, { onclick: open }), say('change'));
}

/** Opens the dialog of a change: `{ title, sensors }`, `{ title, output }` or `{ title, found }`. */
export async function openChange(subject) {
  try {
    const { showChange } = await import('./change-dialog.js');
    showChange(subject);
  } catch {
    byId('trial').hidden = false;
    setText(byId('trial-words'), say('changeFailed'));
  }
}

function isDue({ nowMs, timelineSeq }) {
  if (isAsking) return false;
  const isQuiet = newest !== undefined && !isOn(newest.answer) && askedSeq === timelineSeq;
  return !isQuiet && Math.abs(nowMs - askedMs) >= ASK_AGAIN_MS;
}

function isOn({ state, trial }) {
  return (trial ?? undefined) !== undefined || state?.state === 'received' || state?.state === 'trying';
}

function leftWords({ secondsLeft, waitsFor }) {
  const passedS = (viewNow.nowMs - newest.atMs) / 1_000;
  const time = duration(Math.max(0, secondsLeft - passedS));
  const names = waitsFor.map(({ words, sentence }) => told(words, sentence));
  return `${say('trialLeft', { time })} ${names.length === 0 ? say('trialLooks') : say('trialWaits', { names })}`;
}

function show() {
  if (newest === undefined) return;
  const { answer } = newest;
  const { state, fileHash } = answer;
  showTrial(answer);
  const last = state === undefined ? say('noChange') : changeWords(state);
  const to = mayConfigure() === true ? `${say('configurationTo')}; ` : '';
  setText(byId('configuration-words'), `${to}${shortHash(fileHash)}; ${last}`);
  keepFacts(byId('configuration-facts'), [
    [say('reason'), state?.reason === undefined ? undefined : told(state.reason)],
  ]);
  fold?.renderFold(answer);
  for (const listener of [...listeners]) if (listener(answer) === false) listeners.delete(listener);
}

function showTrial(answer) {
  const { state } = answer;
  const isRecent = state !== undefined && viewNow.wallMs - state.atMs < END_SHOWN_MS;
  const isStanding = state !== undefined && viewNow.alerts.some((text) => isChangeAlert(viewNow, text));
  byId('trial').hidden = !isOn(answer) && (isDismissed(answer) || !(isRecent || isStanding));
  byId('trial-dismiss').hidden = isOn(answer);
  if (byId('trial').hidden) return;
  const [words, left] = trialWords(answer);
  setText(byId('trial-words'), words);
  setText(byId('trial-left'), left);
}

function endOf({ state }) {
  return state === undefined ? undefined : `${state.state} ${state.atMs}`;
}

function isDismissed(answer) {
  return answer !== undefined && dismissed !== undefined && endOf(answer) === dismissed;
}

function dismiss() {
  if (newest === undefined) return;
  dismissed = endOf(newest.answer);
  try {
    localStorage.setItem(DISMISSED, dismissed);
  } catch {
    // A browser may keep nothing for anybody.
  }
  show();
}

function keptDismissal() {
  try {
    return localStorage.getItem(DISMISSED) ?? undefined;
  } catch {
    return undefined;
  }
}

/** Loads the rest of the part when it is opened. */
async function openFold() {
  if (!byId('configuration').open || fold !== undefined) return;
  try {
    fold = await import('./configuration-fold.js');
    fold.makeFold(byId('configuration-more'));
    if (newest !== undefined) fold.renderFold(newest.answer);
  } catch {
    fold = undefined;
    setText(byId('configuration-more'), say('changeFailed'));
  }
}
