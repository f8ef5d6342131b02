#!/usr/bin/env bash
# Two that meet: nmea 0.1.2 (npm) writes GGA and GLL from a position in numbers, and extended-nmea 2.1.3 (npm) reads them. A latitude of NMEA 0183 is degrees and minutes in one
# (ddmm.mm). Expected: 48.1173 degrees arrive, in a sentence with 4807.038. Seen: the degrees are written as they are, 048.12, which means 48.12
# minutes, so that a place in Munich is told at 0.802 degrees, beside the equator; the check sum is right.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --no-save --ignore-scripts --prefix "$folder" nmea@0.1.2 extended-nmea@2.1.3 >/dev/null
cat >"$folder/meet.cjs" <<'JS'
const { Decoder } = require('extended-nmea');
const { encode } = require('nmea');

const position = { lat: 48.1173, latPole: 'N', lon: 11.52, lonPole: 'E', timestamp: new Date(Date.UTC(2026, 0, 1, 12, 35, 19)) };
const sentence = encode('GP', { ...position, type: 'geo-position' });
const theirs = Decoder.decode('$GPGLL,4807.038,N,01131.200,E,123519,A,A*40').latitude.decimalDegrees;
const seen = [theirs, Decoder.decode(sentence).latitude.decimalDegrees].map((degrees) => degrees.toFixed(4));
console.log('nmea 0.1.2 and extended-nmea 2.1.3: as by the standard, and as written:', sentence, seen);
if (seen.join() !== '48.1173,0.8020' || !sentence.startsWith('$GPGLL,048.12,N,011.52,E')) throw new Error('they behave otherwise now');
JS
node "$folder/meet.cjs"
