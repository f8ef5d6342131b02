#!/usr/bin/env bash
# p1-reader 2.0.6 (npm): a P1 telegram has local time, with W or S for winter and summer (DSMR 5, 6.4), and currents and voltages may have digits behind the point (eMUCS,
# DSMR 5). Expected: 2026-01-15T11:00:00Z for noon in January, 10:00 for noon in July, 0.98 A and 230.9 V. Seen: noon in UTC for both, so that the two
# times of the doubled hour in October are one; and 0 A and 230 V, while the power beside them keeps its digits.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --no-save --ignore-scripts --prefix "$folder" p1-reader@2.0.6 >/dev/null
cat >"$folder/read.cjs" <<'JS'
const parse = require('p1-reader/lib/parsePacket');

const read = (time) => {
  const lines = ['/FLU5\\253770234_A', '', '0-0:96.1.4(50217)', `0-0:1.0.0(${time})`, '1-0:21.7.0(00.226*kW)', '1-0:31.7.0(000.98*A)', '1-0:32.7.0(230.9*V)'];
  const { timestamp, electricity } = parse(lines.join('\r\n'));
  const { current, power, voltage } = electricity.instantaneous;
  return [timestamp, power.positive.L1.reading, current.L1.reading, voltage.L1.reading];
};
const seen = [read('260115120000W'), read('260715120000S')].map((one) => one.join(' '));
console.log('p1-reader 2.0.6:', seen);
if (seen.join() !== '2026-01-15T12:00:00.000Z 0.226 0 230,2026-07-15T12:00:00.000Z 0.226 0 230') throw new Error('it behaves otherwise now');
JS
node "$folder/read.cjs"
