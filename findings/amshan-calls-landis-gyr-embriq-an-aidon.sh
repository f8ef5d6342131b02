#!/usr/bin/env bash
# amshan 2.1.1 (PyPI), pushed list 2 of a Norwegian Landis+Gyr E350: the list says its own version, EMBRIQ_V1_1, and its meter type. Expected: a reading whose
# maker is Landis+Gyr, or none. Seen: the numbers are read, and the maker of the meter is told as Aidon.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet amshan==2.1.1
"$folder/venv/bin/python" - <<'PYTHON'
from han.autodecoder import AutoDecoder
from han.hdlc import HdlcFrameReader

EMBRIQ = bytes.fromhex(
    '7ea11e41088313eeeee6e7000f4000000000010d020209060101000281ff0a0b454d425249515f56315f31020209060000600100ff0a103031323334'
    '3536373839303132333435020209060000600107ff0a045a464631020309060100010700ff06000024f402020f00161b020309060100020700ff0600'
    '00000002020f00161b020309060100030700ff060000003102020f00161d020309060100040700ff060000000002020f00161d0203090601001f0700'
    'ff100c6c02020ffe1621020309060100330700ff10000002020ffe1621020309060100470700ff100d6802020ffe1621020309060100200700ff1209'
    '2e02020fff1623020309060100340700ff12000002020fff1623020309060100480700ff12091002020fff162326807e'
)
(frame,) = HdlcFrameReader(False).read(EMBRIQ + b'\x7e')
decoded = AutoDecoder().decode_message(frame)
seen = {name: decoded[name] for name in ('list_ver_id', 'meter_manufacturer', 'active_power_import')}
print('amshan 2.1.1:', seen)
assert seen == {'list_ver_id': 'EMBRIQ_V1_1', 'meter_manufacturer': 'Aidon', 'active_power_import': 9460}, 'it behaves otherwise now'
PYTHON
