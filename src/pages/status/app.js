/** Joins the status page: the stream on one side, the sections on the other; says when there is no contact, and asks for the PIN when one is needed. */
import { byId, setText } from '../shared/dom.js';
import { preparePlot } from '../shared/plot.js';
import { learnSentences } from '../shared/sentences.js';
import { prepareTexts, say } from '../shared/texts.js';
import { duration, parse } from '../shared/words.js';
import { renderAttention } from './attention.js';
import { watchClaim } from './claim.js';
import { prepareConfiguration, renderConfiguration, withoutDismissed } from './configuration.js';
import { prepareDevices, renderDevices } from './device-table.js';
import { prepareDoctor } from './doctor.js';
import { forgetFacts, loadFacts } from './facts.js';
import { prepareFinder, renderFinder } from './finder.js';
import { prepareFolds } from './folds.js';
import { renderHead, sayTitle, sayVerdict } from './head.js';
import { forgetStatus, keepPage, keepStatus, lastStatus } from './last-status.js';
import { addLines, prepareLog } from './log.js';
import { renderOutputs } from './outputs.js';
import { forgetTraces, renderReadings } from './readings.js';
import { renderSections } from './sections.js';
import { openStream } from './stream.js';
import { followClock } from './switching.js';
import { prepareTimeline, renderTimeline } from './timeline.js';
import { verdictOf } from './verdict.js';

prepareTexts();
let lastSeenMs;
let isLost = false;
let isWatching = false;
/** Release whose page this is. */
let release;
const stream = connect();
preparePlot();
prepareLog();
prepareTimeline();
prepareDoctor();
prepareFinder();
prepareDevices();
prepareFolds();
prepareConfiguration();
byId('pin-form').addEventListener('submit', (event) => {
  event.preventDefault();
  void enter();
});
byId('pin-letters').addEventListener('change', ({ currentTarget }) => {
  byId('pin-input').inputMode = currentTarget.checked ? 'text' : 'numeric';
});
byId('forget-pin').addEventListener('click', () => void forgetPin());
addEventListener('pin-needed', () => stream.again());
setInterval(sayLost, 1_000);

function connect() {
  if (globalThis.SharedWorker === undefined) return openStream(take);
  const { port } = new SharedWorker('/page/status/stream-worker.js', { type: 'module', name: 'turnstone' });
  port.onmessage = ({ data }) => take(data);
  addEventListener('pagehide', () => port.postMessage('bye'));
  addEventListener('pageshow', ({ persisted }) => {
    if (persisted) location.reload();
  });
  return { again: () => port.postMessage('again') };
}

function take({ kind, data }) {
  if (kind === 'status') {
    lastSeenMs = Date.now();
    followClock(parse(data));
    render(parse(data));
    keepStatus(data);
    void keepPage();
  } else if (kind === 'log') addLines(JSON.parse(data));
  else if (kind === 'pin') askPin();
  else lose();
}

function render(told) {
  const view = withoutDismissed(told);
  if (isOfAnotherRelease(view)) return location.reload();
  learnSentences(view);
  if (isLost) {
    isLost = false;
    document.body.classList.remove('offline');
    forgetTraces();
    forgetFacts();
  }
  byId('pin').hidden = true;
  byId('content').hidden = false;
  reopenDialog();
  if (!isWatching) watchClaim();
  isWatching = true;
  renderHead(view.label ?? (view.deviceName === '' ? 'Turnstone' : view.deviceName), verdictOf(view));
  renderParts(view);
  // The facts say what may be switched, acknowledged and changed here.
  void loadFacts().then((isNew) => isNew && renderParts(view));
}

/** Opens the dialog again that a session's end has closed, with what was typed in it. */
function reopenDialog() {
  const dialog = document.querySelector('dialog[data-kept]');
  if (dialog === null) return;
  delete dialog.dataset.kept;
  dialog.returnValue = '';
  dialog.showModal();
}

/** True once the agent runs another release than the one whose page this is: its files are gone. An open dialog is not taken away. */
function isOfAnotherRelease({ version }) {
  release ??= version;
  return release !== version && document.querySelector('dialog[open], dialog[data-kept]') === null;
}

function renderParts(view) {
  renderAttention(view);
  renderOutputs(view);
  renderReadings(view);
  renderDevices(view);
  renderSections(view);
  renderFinder(view);
  renderTimeline(view);
  renderConfiguration(view);
}

function lose() {
  if (lastSeenMs === undefined) showLast();
  isLost = true;
  sayLost();
}

/** Nothing has been heard since the page was opened: what an earlier one has seen. */
function showLast() {
  const last = lastStatus();
  if (last === undefined) return;
  lastSeenMs = last.atMs;
  try {
    render(parse(last.text));
  } catch {
    forgetStatus();
  }
}

function sayLost() {
  if (!isLost || !byId('pin').hidden) return;
  document.body.classList.toggle('offline', lastSeenMs !== undefined);
  sayTitle('bad', say('noContactTitle'));
  sayVerdict('bad', say('noContact'));
  if (lastSeenMs !== undefined)
    setText(byId('detail'), say('shownSince', { time: duration((Date.now() - lastSeenMs) / 1000) }));
}

function askPin() {
  // A dialog in which somebody types takes the value as the wish to be opened again.
  for (const dialog of document.querySelectorAll('dialog[open]')) dialog.close('pin');
  forgetStatus();
  byId('content').hidden = true;
  byId('pin').hidden = false;
  document.body.classList.remove('offline');
  sayVerdict('starting', say('pinNeeded'));
  setText(byId('detail'), '');
  byId('pin-input').focus();
}

async function enter() {
  const input = byId('pin-input');
  const fault = byId('pin-fault');
  setText(fault, '');
  try {
    const answer = await fetch('/api/session', { method: 'POST', body: JSON.stringify({ pin: input.value }) });
    input.value = '';
    if (answer.status === 204) return stream.again();
    const { waitS } = await answer.json();
    setText(fault, answer.status === 429 ? say('pinWait', { time: duration(waitS) }) : say('pinWrong'));
  } catch {
    setText(fault, say('noAnswer'));
  }
  input.focus();
}

/** Ends the session at the agent, too; where there is no PIN the page goes on. */
async function forgetPin() {
  forgetStatus();
  await fetch('/api/session', { method: 'DELETE' }).catch(() => {});
  stream.again();
}
