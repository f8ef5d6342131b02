#!/usr/bin/env bash
# extended-nmea 2.1.3 (npm): the seconds of a time of NMEA 0183 have a fraction of any length, 19.50 as 19.500, and many receivers send hundredths. Expected: 500 ms past the
# second for both. Seen: the digits behind the point are taken for milliseconds, so that 19.50 is 50 ms past and 19.99 is 99 ms: of ten fixes a second
# all crowd into its first tenth. With one digit (19.5) the sentence is refused.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --no-save --ignore-scripts --prefix "$folder" extended-nmea@2.1.3 >/dev/null
cat >"$folder/read.cjs" <<'JS'
const { Decoder } = require('extended-nmea');

const read = (time) => {
  const sentence = `GPGLL,4807.038,N,01131.324,E,${time},A,A`;
  let sum = 0;
  for (const letter of sentence) sum ^= letter.charCodeAt(0);
  try {
    return Decoder.decode(`$${sentence}*${sum.toString(16).toUpperCase().padStart(2, '0')}`).time.totalMilliseconds % 1000;
  } catch {
    return 'refused';
  }
};
const seen = ['123519.500', '123519.50', '123519.99', '123519.5'].map((time) => `${time}: ${read(time)}`);
console.log('extended-nmea 2.1.3: milliseconds past the second:', seen);
if (seen.join() !== '123519.500: 500,123519.50: 50,123519.99: 99,123519.5: refused') throw new Error('it behaves otherwise now');
JS
node "$folder/read.cjs"
