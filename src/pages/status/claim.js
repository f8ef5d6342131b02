/** An open claim: behind a PIN its secret as text and as a QR code, for the person who takes this device. It is opened at the command line. */
import { byId, el } from '../shared/dom.js';
import { say } from '../shared/texts.js';
import { duration } from '../shared/words.js';

const SVG = 'http://www.w3.org/2000/svg';
const LOOK_EVERY_MS = 15_000;
let shown;

export function watchClaim() {
  void look();
  setInterval(() => void look(), LOOK_EVERY_MS);
}

async function look() {
  if (document.visibilityState === 'hidden') return;
  const answer = await fetch('/api/claim').catch(() => undefined);
  if (answer?.ok !== true) return;
  const claim = await answer.json();
  const text = claim.secretKey ?? claim.untilMs ?? 'none';
  if (text === shown) return;
  shown = text;
  byId('claim').replaceChildren(
    ...(claim.untilMs === undefined ? [el('p', { class: 'quiet' }, say('claimClosed'))] : show(claim)),
  );
}

function show({ secretKey, untilMs, code }) {
  const time = duration((untilMs - Date.now()) / 1000);
  return [
    el('h3', {}, say('claimOpen')),
    ...(secretKey === undefined
      ? [el('p', {}, say('claimHidden'))]
      : [el('p', {}, say('claimSecret', { secret: secretKey })), el('p', {}, say('claimHow')), drawCode(code)]),
    el('p', { class: 'quiet' }, say('claimFor', { time })),
  ];
}

function drawCode(rows) {
  const svg = document.createElementNS(SVG, 'svg');
  svg.setAttribute('viewBox', `0 0 ${rows.length} ${rows.length}`);
  svg.setAttribute('class', 'code');
  svg.setAttribute('role', 'img');
  svg.setAttribute('aria-label', say('claimCode'));
  const path = document.createElementNS(SVG, 'path');
  path.setAttribute(
    'd',
    rows.flatMap((row, y) => [...row].map((cell, x) => (cell === '1' ? `M${x} ${y}h1v1h-1z` : ''))).join(''),
  );
  svg.append(path);
  return svg;
}
