/** The gateway itself: connection, outbox, firmware, identity. Each is text about one part of the status. */
import { byId, el, keepFacts, keepList, setText } from '../shared/dom.js';
import { named } from '../shared/forms.js';
import { say, told } from '../shared/texts.js';
import { ago, bytes, count, duration, instant, tenths } from '../shared/words.js';

const CLASSES = { good: 'good', waiting: 'warn', fault: 'bad' };
const PHASES = { none: say('phaseNone'), proposed: say('phaseProposed'), 'in-use': say('phaseInUse') };

export function renderSections(view) {
  setText(byId('gateway-words'), gatewayWords(view));
  renderConnection(view);
  renderOutbox(view);
  renderFirmware(view);
  keepFacts(byId('identity'), [
    [say('device'), view.deviceName === '' ? say('notKnownYet') : named(view.deviceName)],
    [
      say('provisioning'),
      `${PHASES[view.provisioning.phase] ?? view.provisioning.phase}${view.provisioning.source === undefined ? '' : ` (${told(view.provisioning.source)})`}`,
    ],
    [say('runningFor'), duration((view.nowMs - view.startedAtMs) / 1000)],
    [
      say('clock'),
      view.timeSynchronised ? say('clockGood', { at: instant(view.wallMs) }) : say('clockBad'),
      view.timeSynchronised ? '' : 'warn',
    ],
    [say('thisConnection'), connectionText(view.page)],
  ]);
}

/** Returns what somebody opens this part for: delivery, release, an update, the link of the month. */
function gatewayWords({ platform, version, firmware, link }) {
  const { usedBytes, monthlyBytes } = link ?? {};
  return [
    say('deliveryIs', { words: platformWords(platform) }),
    `turnstone ${version}`,
    firmware.offered === undefined ? undefined : say('updateOffered', { release: firmware.offered }),
    monthlyBytes === undefined ? undefined : say('ofMonth', { used: bytes(usedBytes), budget: bytes(monthlyBytes) }),
  ]
    .filter((part) => part !== undefined)
    .join('; ');
}

/** Only what is good is always the same sentence. */
function platformWords({ verdict, words }) {
  return verdict === 'good' ? say('upToDate') : told(words);
}

/** A page of an older release has no certificate, and a proxy has another one. */
function connectionText({ fingerprint } = {}) {
  if (location.protocol !== 'https:') return say('onThisMachine');
  return fingerprint === undefined
    ? say('encrypted')
    : say('encryptedBy', { fingerprint: fingerprint.replaceAll(':', ' ') });
}

function renderConnection({ platform, connection, link, nowMs }) {
  const { verdict, lastAcknowledgedAtMs } = platform;
  const { failures, acknowledgedEntries, latencyMs, sentBytes, receivedBytes } = connection;
  keepFacts(byId('connection'), [
    [say('state'), platformWords(platform), CLASSES[verdict]],
    [
      say('lastAcknowledged'),
      lastAcknowledgedAtMs === undefined ? say('notSinceStart') : ago((nowMs - lastAcknowledgedAtMs) / 1000),
    ],
    [say('acknowledged'), say('entries', { count: acknowledgedEntries })],
    [say('failures'), count(failures), failures > 0 ? 'warn' : ''],
    [say('uploadTakes'), latencyMs === undefined ? undefined : `${count(Math.round(latencyMs))} ms`],
    [say('traffic'), say('trafficWords', { sent: bytes(sentBytes), received: bytes(receivedBytes) })],
    ...linkFacts(link),
  ]);
}

/** Traffic of the billing period, and where it is to end. An agent of an older release counts none. */
function linkFacts(link) {
  if (link === undefined) return [];
  const { usedBytes, monthlyBytes, todayBytes, dailyBytes, forecastBytes } = link;
  const of = (used, bound) =>
    bound === undefined ? bytes(used) : say('ofBudget', { used: bytes(used), budget: bytes(bound) });
  const isOver = monthlyBytes !== undefined && forecastBytes > monthlyBytes;
  return [
    [say('today'), of(todayBytes, dailyBytes)],
    [say('linkMonth'), of(usedBytes, monthlyBytes)],
    [say('linkForecast'), forecastText(forecastBytes, isOver), isOver ? 'warn' : ''],
  ];
}

function forecastText(forecastBytes, isOver) {
  if (forecastBytes === undefined) return say('notKnownYet');
  return isOver ? say('overBudget', { forecast: bytes(forecastBytes) }) : bytes(forecastBytes);
}

function writesText({ agentBytesPerDay, disk }) {
  if (agentBytesPerDay === undefined) return say('writesNotKnown');
  return say('writesADay', {
    agent: bytes(agentBytesPerDay),
    name: disk?.name,
    taken: disk === undefined ? undefined : bytes(disk.bytesPerDay),
  });
}

function renderOutbox({ outbox, writes }) {
  const {
    heldEntries,
    heldBytes,
    oldestTs,
    hoursThatFit,
    lanes,
    rejected,
    thinned,
    dropped,
    damaged,
    ratePerS,
    fault,
    untimedEntries,
  } = outbox;
  keepFacts(byId('outbox'), [
    [say('fault'), told(fault), 'bad'],
    [say('heldTitle'), `${say('entries', { count: heldEntries })}, ${bytes(heldBytes)}`],
    [say('untimed'), untimedEntries === undefined ? undefined : say('entries', { count: untimedEntries }), 'warn'],
    [
      say('oldest'),
      oldestTs === undefined ? (heldEntries === 0 ? say('nothingWaits') : say('justRead')) : instant(oldestTs),
    ],
    [say('roomFor'), hoursThatFit === undefined ? say('notKnownYet') : duration(hoursThatFit * 3600)],
    [
      say('lanes'),
      Object.entries(lanes)
        .map(([lane, entries]) => `${lane} ${count(entries)}`)
        .join(', '),
    ],
    [say('comesIn'), say('rate', { rate: tenths(ratePerS) })],
    [say('storage'), writesText(writes)],
    [say('rejected'), count(rejected), rejected > 0 ? 'warn' : ''],
    [say('thinned'), count(thinned), thinned > 0 ? 'warn' : ''],
    [say('lost'), count(dropped + damaged), dropped + damaged > 0 ? 'bad' : ''],
  ]);
}

function failureText({ title, version, reason, endedAtMs }) {
  return say('failedWhy', {
    release: `${title} ${version}`,
    at: endedAtMs === undefined ? undefined : instant(endedAtMs),
    reason,
  });
}

function renderFirmware({ firmware }) {
  const { title, version, state, offered, progressPercent, error, failed = [], history } = firmware;
  keepFacts(byId('firmware'), [
    [say('runs'), `${title ?? 'turnstone'} ${version}`],
    [say('state'), told(state)],
    [say('offered'), offered ?? say('nothing')],
    [say('fault'), told(error), 'bad'],
    [say('failed'), failed.length === 0 ? undefined : failed.map(failureText).join('; '), 'bad'],
  ]);
  const progress = byId('firmware-progress');
  progress.hidden = progressPercent === undefined;
  if (progressPercent !== undefined) progress.value = progressPercent;
  byId('firmware-history').hidden = history.length === 0;
  keepList(byId('firmware-list'), history, {
    keyOf: ({ startedAtMs }) => String(startedAtMs),
    make: ({ title: what, version: to, from, outcome, reason, endedAtMs }) => {
      const update = { at: instant(endedAtMs), title: what, from, to };
      return el(
        'li',
        {},
        outcome === 'UPDATED' ? say('updateDone', update) : say('updateFailed', { ...update, reason }),
      );
    },
  });
}
