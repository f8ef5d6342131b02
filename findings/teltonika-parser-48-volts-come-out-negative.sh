#!/usr/bin/env bash
# teltonika-parser 0.0.15 (npm), Codec 8 of vehicle trackers: the external voltage (element 66) is two bytes without a sign, in millivolts, and elements of eight bytes,
# as the number of the SIM (11), are integers. Expected: 48000 and the number. Seen: the battery of a fork lift is at -17536, while 24000 of a lorry is
# right, and eight bytes are read as a double, so that the number is 7.2e292.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --no-save --ignore-scripts --prefix "$folder" teltonika-parser@0.0.15 >/dev/null
cat >"$folder/read.cjs" <<'JS'
const TeltonikaParser = require('teltonika-parser');

const hex = (number, bytes) => BigInt(number).toString(16).padStart(2 * bytes, '0');
const read = (millivolts) => {
  const gps = hex(0, 15);
  const elements = '00' + '02' + '00' + '01' + '42' + hex(millivolts, 2) + '00' + '01' + '0b' + hex('8988303000003145000', 8);
  const record = hex(1_700_000_000_000, 8) + '00' + gps + elements;
  const data = `0801${record}01`;
  const packet = Buffer.from(hex(0, 4) + hex(data.length / 2, 4) + data + hex(0, 4), 'hex');
  return new TeltonikaParser(packet).getAvl().records[0].ioElements.map((one) => one.value);
};
const seen = [read(24_000), read(48_000)];
console.log('teltonika-parser 0.0.15:', seen);
if (seen[0][0] !== 24_000 || seen[1][0] !== -17_536 || !(seen[1][1] > 1e292)) throw new Error('it behaves otherwise now');
JS
node "$folder/read.cjs"
