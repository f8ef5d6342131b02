/** The gateway itself: connection, outbox, firmware, identity. Each is text about one part of the status. */
import { byId, el, keepFacts, keepList, setText } from '../shared/dom.js';
import { ago, bytes, count, counted, duration, instant } from '../shared/words.js';

const CLASSES = { good: 'good', waiting: 'warn', fault: 'bad' };
const PHASES = { none: 'no credentials yet', proposed: 'credentials offered, not used yet', 'in-use': 'credentials in use' };

export function renderSections(view) {
  setText(byId('gateway-words'), `${view.platform.words}; turnstone ${view.version}`);
  renderConnection(view);
  renderOutbox(view);
  renderFirmware(view);
  keepFacts(byId('identity'), [
    ['Device', view.deviceName === '' ? 'not known yet' : view.deviceName],
    [
      'Provisioning',
      `${PHASES[view.provisioning.phase] ?? view.provisioning.phase}${view.provisioning.source === undefined ? '' : ` (${view.provisioning.source})`}`,
    ],
    ['Running for', duration((view.nowMs - view.startedAtMs) / 1000)],
    ['Clock', view.timeSynchronised ? `synchronised, ${instant(view.wallMs)}` : 'not synchronised', view.timeSynchronised ? '' : 'warn'],
    ['This connection', connectionText(view.page)],
  ]);
}

/** A page of an older release has no certificate, and a proxy has another one. */
function connectionText({ fingerprint } = {}) {
  if (location.protocol !== 'https:') return 'on this machine alone, not encrypted';
  return fingerprint === undefined
    ? 'encrypted'
    : `encrypted; the certificate of this gateway is SHA-256 ${fingerprint.replaceAll(':', ' ')}`;
}

function renderConnection({ platform, connection, nowMs }) {
  const { words, verdict, lastAcknowledgedAtMs } = platform;
  const { failures, acknowledgedEntries, latencyMs, sentBytes, receivedBytes, sentTodayBytes, dailyBudgetBytes } = connection;
  keepFacts(byId('connection'), [
    ['State', words, CLASSES[verdict]],
    ['Last acknowledged', lastAcknowledgedAtMs === undefined ? 'not since the start' : ago((nowMs - lastAcknowledgedAtMs) / 1000)],
    ['Acknowledged', counted(acknowledgedEntries, 'entry', 'entries')],
    ['Failures in a row', count(failures), failures > 0 ? 'warn' : ''],
    ['An upload takes', latencyMs === undefined ? undefined : `${Math.round(latencyMs)} ms`],
    ['Traffic', `${bytes(sentBytes)} sent, ${bytes(receivedBytes)} received`],
    ['Today', dailyBudgetBytes === undefined ? bytes(sentTodayBytes) : `${bytes(sentTodayBytes)} of ${bytes(dailyBudgetBytes)}`],
  ]);
}

function renderOutbox({ outbox }) {
  const { heldEntries, heldBytes, oldestTs, hoursThatFit, lanes, rejected, thinned, dropped, damaged, ratePerS, fault, untimedEntries } =
    outbox;
  keepFacts(byId('outbox'), [
    ['Fault', fault, 'bad'],
    ['Held', `${counted(heldEntries, 'entry', 'entries')}, ${bytes(heldBytes)}`],
    ['Without a time', untimedEntries === undefined ? undefined : counted(untimedEntries, 'entry', 'entries'), 'warn'],
    ['Oldest', oldestTs === undefined ? (heldEntries === 0 ? 'nothing waits' : 'just read') : instant(oldestTs)],
    ['Room for', hoursThatFit === undefined ? 'not known yet' : duration(hoursThatFit * 3600)],
    [
      'Lanes',
      Object.entries(lanes)
        .map(([lane, entries]) => `${lane} ${count(entries)}`)
        .join(', '),
    ],
    ['Comes in', `${ratePerS.toFixed(1)} entries a second`],
    ['Rejected', count(rejected), rejected > 0 ? 'warn' : ''],
    ['Thinned', count(thinned), thinned > 0 ? 'warn' : ''],
    ['Lost', count(dropped + damaged), dropped + damaged > 0 ? 'bad' : ''],
  ]);
}

function failureText({ title, version, reason, endedAtMs }) {
  return `${title} ${version}${endedAtMs === undefined ? '' : `, ${instant(endedAtMs)}`}: ${reason ?? 'no reason is known'}`;
}

function renderFirmware({ firmware }) {
  const { title, version, state, offered, progressPercent, error, failed = [], history } = firmware;
  keepFacts(byId('firmware'), [
    ['Runs', `${title ?? 'turnstone'} ${version}`],
    ['State', state],
    ['Offered', offered ?? 'nothing'],
    ['Fault', error, 'bad'],
    ['Failed', failed.length === 0 ? undefined : failed.map(failureText).join('; '), 'bad'],
  ]);
  const progress = byId('firmware-progress');
  progress.hidden = progressPercent === undefined;
  if (progressPercent !== undefined) progress.value = progressPercent;
  byId('firmware-history').hidden = history.length === 0;
  keepList(byId('firmware-list'), history, {
    keyOf: ({ startedAtMs }) => String(startedAtMs),
    make: ({ title: what, version: to, from, outcome, reason, endedAtMs }) =>
      el(
        'li',
        {},
        `${instant(endedAtMs)}: ${what} ${from} to ${to}, ${outcome === 'UPDATED' ? 'done' : `failed${reason === undefined ? '' : `: ${reason}`}`}`,
      ),
  });
}
