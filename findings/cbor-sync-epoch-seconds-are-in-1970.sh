#!/usr/bin/env bash
# cbor-sync 1.0.4 (npm): tag 1 of CBOR is a time in seconds since 1970 (RFC 8949, 3.4.2), and appendix A of the RFC has an example of it: C1 1A 514B67B0 is
# 2013-03-21T20:04:00Z. Expected: that date. Seen: the seconds are taken for milliseconds, so that it is a day of January 1970; the same time as a text
# (tag 0) is right, and what the library writes itself has tag 0.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --no-save --ignore-scripts --prefix "$folder" cbor-sync@1.0.4 >/dev/null
cat >"$folder/read.cjs" <<'JS'
const { decode, encode } = require('cbor-sync');

const seen = [
  decode(Buffer.from('c074323031332d30332d32315432303a30343a30305a', 'hex')).toISOString(),
  decode(Buffer.from('c11a514b67b0', 'hex')).toISOString(),
  encode(new Date('2013-03-21T20:04:00Z'))[0].toString(16),
];
console.log('cbor-sync 1.0.4:', seen);
if (seen.join() !== '2013-03-21T20:04:00.000Z,1970-01-16T18:51:36.240Z,c0') throw new Error('it behaves otherwise now');
JS
node "$folder/read.cjs"
