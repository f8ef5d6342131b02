#!/usr/bin/env bash
# candied 2.2.0 (npm): multiplexed signals of a DBC file share the same bytes, and the multiplexor says which of them a frame carries, as when a battery sends its
# cells in turn. Expected: cell 9 alone from a frame of group 1. Seen: every signal of the message has a value from each frame, so that the voltage of
# cell 9 is told for cell 1 too, and a low cell wanders through all of them.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --no-save --ignore-scripts --prefix "$folder" candied@2.2.0 >/dev/null
cat >"$folder/read.cjs" <<'JS'
const { Can, Dbc } = require('candied');

const can = new Can();
can.database = new Dbc().load(
  `VERSION ""

NS_ :

BS_:

BU_: BMS ECU

BO_ 257 Cells: 8 BMS
 SG_ Group M : 0|8@1+ (1,0) [0|1] "" ECU
 SG_ Cell1 m0 : 8|16@1+ (0.001,0) [0|5] "V" ECU
 SG_ Cell9 m1 : 8|16@1+ (0.001,0) [0|5] "V" ECU
`,
  true,
);
const frames = [
  [0, 0xe4, 0x0c, 0, 0, 0, 0, 0],
  [1, 0xc4, 0x09, 0, 0, 0, 0, 0],
];
const seen = frames.map((bytes) =>
  [...can.decode(can.createFrame(257, bytes)).boundSignals].map(([name, signal]) => `${name} ${signal.value.toFixed(1)}`).join(' '),
);
console.log('candied 2.2.0:', seen);
if (seen.join() !== 'Group 0.0 Cell1 3.3 Cell9 3.3,Group 1.0 Cell1 2.5 Cell9 2.5') throw new Error('it behaves otherwise now');
JS
node "$folder/read.cjs"
