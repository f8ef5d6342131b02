#!/usr/bin/env bash
# cantools 45.1.0 (PyPI): `cantools decode` reads what candump prints, by default, with -L and with timestamps. candump -x (can-utils) adds RX or TX and two
# flags behind the bus. Expected: the same frame decoded, or words that the line is not known. Seen: the line comes out as it went in, and the exit
# code is 0.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet cantools==45.1.0
cat >"$folder/engine.dbc" <<'DBC'
VERSION ""
BU_: ECU
BO_ 291 Engine: 4 ECU
 SG_ Speed : 23|16@0+ (0.25,0) [0|8000] "rpm" ECU
DBC
decode() { "$folder/venv/bin/cantools" decode -s "$folder/engine.dbc"; }
plain=$(echo '  can0  123   [4]  00 EA 01 02' | decode)
[[ $plain == *'Speed: 64.5 rpm'* ]]
line=' can0  RX - -  123   [4]  00 EA 01 02'
extra=$(echo "$line" | decode)
[[ $extra == "$line" ]] || { echo "it behaves otherwise now: $extra"; exit 1; }
echo "cantools 45.1.0: candump's line is decoded ($plain), that of candump -x is not ($extra)"
