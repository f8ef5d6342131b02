#!/usr/bin/env bash
# lwm2m-codec 0.1.1 (npm): a Float of LwM2M has four or eight bytes in TLV and an Integer up to eight, by the length before it (LwM2M 1.0, appendix C). Clients that
# calculate with doubles and long integers send eight. Expected: 20.5 degrees and -95 dBm from either. Seen: the first four bytes of a double are read as a
# float of their own, so that a temperature of 20.5 is 2.82, and a signal of -95 in eight bytes is -8589934687; no error.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --no-save --ignore-scripts --prefix "$folder" lwm2m-codec@0.1.1 >/dev/null
cat >"$folder/read.cjs" <<'JS'
const { decode } = require('lwm2m-codec');

const read = (path, hex) => decode('tlv', path, Buffer.from(hex, 'hex'));
const temperature = (hex) => read('/3303/0/5700', hex);
const signal = (hex) => read('/4/0/2', hex);
const seen = [
  temperature('e41644' + '41a40000'),
  temperature('e8164408' + '4034800000000000'),
  signal('c402' + 'ffffffa1'),
  signal('c80208' + 'ffffffffffffffa1'),
];
console.log('lwm2m-codec 0.1.1: 20.5 in four bytes and in eight, -95 in four and in eight:', seen);
if (seen.join() !== '20.5,2.8203125,-95,-8589934687') throw new Error('it behaves otherwise now');
JS
node "$folder/read.cjs"
