#!/usr/bin/env bash
# mqtt-pattern 2.1.1 (npm): by MQTT (4.7.1 and 4.7.2) "+" stands for one level, also an empty one, so "+/+" takes "/finance"; and "#" does not take topics that begin with
# "$". Expected: that. Seen: a level without letters is taken by no "+", so meters that publish below "/" are not seen; and "#" takes "$SYS/…", which
# mixes the broker's own numbers with those of devices.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --no-save --ignore-scripts --prefix "$folder" mqtt-pattern@2.1.1 >/dev/null
cat >"$folder/match.cjs" <<'JS'
const { matches } = require('mqtt-pattern');

const seen = [
  ['meter/+/power', 'meter/7/power'], ['meter/+/power', 'meter//power'], ['+/+', '/finance'], ['#', '$SYS/broker/uptime'],
].map(([filter, topic]) => [filter, topic, matches(filter, topic)]);
console.log('mqtt-pattern 2.1.1:', JSON.stringify(seen));
if (seen.map(([, , taken]) => taken).join() !== 'true,false,false,true') throw new Error('it behaves otherwise now');
JS
node "$folder/match.cjs"
