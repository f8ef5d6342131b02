#!/usr/bin/env bash
# node-bacnet 0.2.4 (npm): a date of BACnet has its months from 1 for January (ASHRAE 135, 20.2.12). Expected: the same day. Seen: the month goes to
# and from JavaScript's Date as it is, which counts from 0. What a device says of 15 June is 15 July, 31 December is January of the next year, and a
# date in January is sent with month 0, which BACnet doesn't have.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --no-save --ignore-scripts --prefix "$folder" node-bacnet@0.2.4 >/dev/null
cat >"$folder/read.cjs" <<'JS'
const { bacappDecodeApplicationData, encodeApplicationDate } = require('node-bacnet/lib/asn1');
const { PropertyIdentifier } = require('node-bacnet/lib/enum');

const read = (...date) => {
  const bytes = Buffer.from([0xa4, ...date]);
  const { value } = bacappDecodeApplicationData(bytes, 0, bytes.length, 8, PropertyIdentifier.LOCAL_DATE);
  return value.toDateString();
};
const sent = { buffer: Buffer.alloc(8), offset: 0 };
encodeApplicationDate(sent, new Date(2026, 0, 31));
const seen = [read(126, 6, 15, 1), read(126, 12, 31, 4), sent.buffer.subarray(0, sent.offset).toString('hex')];
console.log('node-bacnet 0.2.4: 2026-06-15, 2026-12-31, and what is sent for 2026-01-31:', seen);
if (seen.join() !== 'Wed Jul 15 2026,Sun Jan 31 2027,a47e001f06') throw new Error('it behaves otherwise now');
JS
node "$folder/read.cjs"
