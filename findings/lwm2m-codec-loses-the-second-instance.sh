#!/usr/bin/env bash
# lwm2m-codec 0.1.1 (npm): a resource of LwM2M may have several instances, as the voltages of a device with a battery and a mains supply (/3/0/7, integers). Expected:
# 3800 and 5000 mV, in JSON ("7/0", "7/1") as in TLV. Seen: in JSON the first instance alone is kept. In TLV there are both, but as text of two odd
# letters, since the type is looked up by the number of the instance and resource 0 is the maker's name; no error for either.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --no-save --ignore-scripts --prefix "$folder" lwm2m-codec@0.1.1 >/dev/null
cat >"$folder/read.cjs" <<'JS'
const { decode } = require('lwm2m-codec');

const json = decode('json', '/3/0', { e: [{ n: '7/0', v: 3800 }, { n: '7/1', v: 5000 }] }).pwrSrcVoltage;
const tlv = decode('tlv', '/3/0', Buffer.from('880708' + '42000ed8' + '42011388', 'hex')).pwrSrcVoltage;
console.log('lwm2m-codec 0.1.1: JSON and TLV:', json, tlv);
const types = Object.values(tlv).map((value) => typeof value);
if (JSON.stringify(json) !== '{"0":3800}' || types.join() !== 'string,string') throw new Error('it behaves otherwise now');
JS
node "$folder/read.cjs"
