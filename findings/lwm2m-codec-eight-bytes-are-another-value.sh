#!/usr/bin/env bash
# lwm2m-codec 0.1.1 (npm): a Float of LwM2M has four or eight bytes in TLV and an Integer up to eight, by the length before it (LwM2M 1.0, appendix C). Clients that
# calculate with doubles and long integers send eight. Expected: 20.5 and -5 from either. Seen: the first four bytes of a double are read as a float of
# their own, so that a temperature of 20.5 is 2.82, and -5 in eight bytes is -8589934597; no error.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --no-save --ignore-scripts --prefix "$folder" lwm2m-codec@0.1.1 >/dev/null
cat >"$folder/read.cjs" <<'JS'
const { decode } = require('lwm2m-codec');

const read = (path, hex) => decode('tlv', path, Buffer.from(hex, 'hex'));
const temperature = (hex) => read('/3303/0/5700', hex);
const time = (hex) => read('/3/0/13', hex);
const seen = [
  temperature('e41644' + '41a40000'),
  temperature('e8164408' + '4034800000000000'),
  time('c40d' + 'fffffffb'),
  time('c80d08' + 'fffffffffffffffb'),
];
console.log('lwm2m-codec 0.1.1: 20.5 in four bytes and in eight, -5 in four and in eight:', seen);
if (seen.join() !== '20.5,2.8203125,-5,-8589934597') throw new Error('it behaves otherwise now');
JS
node "$folder/read.cjs"
