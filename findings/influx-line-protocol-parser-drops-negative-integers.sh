#!/usr/bin/env bash
# influx-line-protocol-parser 0.2.0 (npm): an integer of the line protocol has an "i" behind it and may have a sign, as the power of a house that feeds in. Expected:
# -1200. Seen: the field is there without a value (undefined), which JSON leaves out; 1200i and -5.5 are read. A text with a blank in it takes the field
# after it and the time along.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --no-save --ignore-scripts --prefix "$folder" influx-line-protocol-parser@0.2.0 >/dev/null
cat >"$folder/read.cjs" <<'JS'
const parse = require('influx-line-protocol-parser');

const seen = ['power watts=1200i,volts=-5.5 17', 'power watts=-1200i,volts=-5.5 17', 'door state="half open",count=3i 17'].map((line) => {
  const { fields, timestamp } = parse(line);
  return JSON.stringify([...fields, timestamp]);
});
console.log('influx-line-protocol-parser 0.2.0:', seen);
if (seen.join() !== '[{"watts":1200},{"volts":-5.5},17],[{},{"volts":-5.5},17],[{},null]') throw new Error('it behaves otherwise now');
JS
node "$folder/read.cjs"
