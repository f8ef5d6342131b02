#!/usr/bin/env bash
# pywmbus 0.0.7 (PyPI), wireless M-Bus: a binary number of EN 13757-3 (data type B) has its least byte first, as one in BCD has. Expected: 1234 litres for 13h, D2 04 00 00, as
# for 34 12 00 00 in BCD. Seen: 3523477504, as the bytes are read from the other end; the meters that send BCD are right.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet pywmbus==0.0.7 crcmod==1.7 pyserial==3.5
"$folder/venv/bin/python" - <<'PYTHON'
from pywmbus.datagram_record import DataRecord

seen = [repr(DataRecord.parse(bytearray.fromhex(record))) for record in ('0C13 34120000', '0413 D2040000')]
print('pywmbus 0.0.7: 1234 in BCD and in binary:', seen)
assert seen == ['1234', '3523477504'], 'it behaves otherwise now'
PYTHON
