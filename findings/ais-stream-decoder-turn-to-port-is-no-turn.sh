#!/usr/bin/env bash
# ais-stream-decoder 2.1.2 (npm): the rate of turn of a ship in AIS is 4.733 times the square root of degrees per minute, with the sign of the side, so that it is squared when it
# is read (ITU-R M.1371, message 1). Expected: 17.9 degrees per minute for 20, and -17.9 for -20. Seen: 2.06 for 20, as the root is taken once more, and
# no value (null) for any turn to port, which is the root of a negative number.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --no-save --ignore-scripts --prefix "$folder" ais-stream-decoder@2.1.2 >/dev/null
cat >"$folder/read.cjs" <<'JS'
const AisDecoder = require('ais-stream-decoder').default;

/** Makes message 1 of a ship in the Channel that turns at the given rate. */
const sentence = (turn) => {
  const fields = [[1, 6], [0, 2], [244660000, 30], [0, 4], [turn, 8], [123, 10], [1, 1], [1.5 * 600000, 28], [50.5 * 600000, 27], [900, 12], [91, 9], [30, 6], [0, 25]];
  const bits = fields.map(([value, length]) => BigInt.asUintN(length, BigInt(value)).toString(2).padStart(length, '0')).join('');
  const letters = bits.match(/.{6}/g).map((six) => Number.parseInt(six, 2)).map((code) => String.fromCharCode(code + (code < 40 ? 48 : 56)));
  const body = `AIVDM,1,1,,A,${letters.join('')},0`;
  const check = [...body].reduce((sum, letter) => sum ^ letter.charCodeAt(0), 0);
  return `!${body}*${check.toString(16).toUpperCase().padStart(2, '0')}`;
};

const decoder = new AisDecoder();
const seen = [];
decoder.on('data', (text) => {
  const { rateOfTurn, speedOverGround } = JSON.parse(text);
  seen.push(`${rateOfTurn?.toFixed(2)} at ${speedOverGround}`);
});
decoder.on('end', () => {
  console.log('ais-stream-decoder 2.1.2: starboard, port, straight on:', seen);
  if (seen.join() !== '2.06 at 12.3,undefined at 12.3,0.00 at 12.3') throw new Error('it behaves otherwise now');
});
for (const turn of [20, -20, 0]) decoder.write(sentence(turn));
decoder.end();
JS
node "$folder/read.cjs"
