#!/usr/bin/env bash
# nmea-simple 3.3.0 (npm): a field of NMEA 0183 that is empty has no value, which an echo sounder sends when it has lost the bottom, and a receiver before its first
# fix. Expected: undefined. Seen: 0, not to be told from a measured one: a depth of 0 m in deep water, and a heading of due north. A wind speed in
# statute miles (unit S) comes out as knots.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --no-save --ignore-scripts --prefix "$folder" nmea-simple@3.3.0 >/dev/null
cat >"$folder/read.cjs" <<'JS'
const { parseNmeaSentence } = require('nmea-simple');

const read = (body) => {
  const sum = [...body].reduce((xor, letter) => xor ^ letter.charCodeAt(0), 0);
  return parseNmeaSentence(`$${body}*${sum.toString(16).toUpperCase().padStart(2, '0')}`);
};
const depth = read('SDDBT,,f,,M,,F').depthMeters;
const { heading } = read('HEHDT,,T');
const wind = read('WIMWV,214.8,R,10.0,S,A');
console.log('nmea-simple 3.3.0: depth', depth, 'heading', heading, '- 10 miles an hour:', wind.speed, wind.units);
if (depth !== 0 || heading !== 0 || wind.units !== 'N') throw new Error('it behaves otherwise now');
JS
node "$folder/read.cjs"
