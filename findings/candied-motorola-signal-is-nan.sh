#!/usr/bin/env bash
# candied 2.2.0 (npm): the start bit of a Motorola signal in a DBC file (@0) is its most significant bit, and the signal runs on into the next byte. Expected: 400 V and
# -10 A, as cantools reads them. Seen: the start bit is taken for the least one. The voltage, which begins in the first byte, has no value (NaN), and
# the current is told as 800 A, of the bytes before its own; the Intel signal (@1) beside them is right.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --no-save --ignore-scripts --prefix "$folder" candied@2.2.0 >/dev/null
python3 -m venv venv
venv/bin/pip install --quiet cantools==45.1.0
cat >pack.dbc <<'DBC'
VERSION ""

NS_ :

BS_:

BU_: BMS ECU

BO_ 256 Pack: 8 BMS
 SG_ Voltage : 7|16@0+ (0.1,0) [0|1000] "V" ECU
 SG_ Current : 23|16@0- (0.1,0) [-3000|3000] "A" ECU
 SG_ Cell : 32|16@1+ (0.001,0) [0|5] "V" ECU
DBC
venv/bin/cantools decode --single-line pack.dbc <<'LOG'
  can0  100   [8]  0F A0 FF 9C E4 0C 00 00
LOG
cat >read.cjs <<'JS'
const { readFileSync } = require('node:fs');
const { Can, Dbc } = require('candied');

const can = new Can();
can.database = new Dbc().load(readFileSync('pack.dbc', 'utf8'), true);
const read = can.decode(can.createFrame(256, [0x0f, 0xa0, 0xff, 0x9c, 0xe4, 0x0c, 0, 0]));
const seen = [...read.boundSignals].map(([name, signal]) => `${name} ${signal.value.toFixed(1)}`);
console.log('candied 2.2.0:', seen);
if (seen.join() !== 'Voltage NaN,Current 800.1,Cell 3.3') throw new Error('it behaves otherwise now');
JS
node read.cjs
