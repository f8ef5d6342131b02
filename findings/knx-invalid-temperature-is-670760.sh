#!/usr/bin/env bash
# knx 2.5.4 (npm): for a two-byte float, as for temperatures, 7FFFh always means "invalid data" (KNX 03_07_02, DPT 9), which a thermostat sends for a probe that
# is not there. Expected: no value, or an error. Seen: 670760.96, a number like any other.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --no-save --ignore-scripts --prefix "$folder" knx@2.5.4 >/dev/null
cat >"$folder/read.cjs" <<'JS'
const dptlib = require('knx/src/dptlib');

const temperature = dptlib.resolve('DPT9.001');
const seen = ['0c1a', '7fff'].map((hex) => dptlib.fromBuffer(Buffer.from(hex, 'hex'), temperature));
console.log('knx 2.5.4: 0C1A is', seen[0], 'and 7FFF is', seen[1]);
if (JSON.stringify(seen) !== '[21,670760.96]') throw new Error('it behaves otherwise now');
JS
node "$folder/read.cjs"
