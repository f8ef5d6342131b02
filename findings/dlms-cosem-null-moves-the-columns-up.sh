#!/usr/bin/env bash
# dlms-cosem 25.1.0 (PyPI), load profile of a meter: null-data in a column stands for a value that is as before (COSEM, Profile generic, buffer). The library counts
# the time of such a row itself. Expected: the value of the row before, or None in its place. Seen: the column is left out, so that the row is shorter
# than the others, and the second number of the row is energy out where energy in was.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet dlms-cosem==25.1.0
"$folder/venv/bin/python" - <<'PYTHON'
from dlms_cosem import cosem, enumerations
from dlms_cosem.parsers import ProfileGenericBufferParser

columns = [
    cosem.CosemAttribute(enumerations.CosemInterface.CLOCK, cosem.Obis(0, 0, 1, 0, 0), 2),
    cosem.CosemAttribute(enumerations.CosemInterface.REGISTER, cosem.Obis(1, 0, 1, 8, 0), 2),
    cosem.CosemAttribute(enumerations.CosemInterface.REGISTER, cosem.Obis(1, 0, 2, 8, 0), 2),
]
# An array of two rows: noon, 5000 in, 70 out; then no time, nothing new in, 75 out.
buffer = bytes.fromhex('0102' '0203090c07e7010f070c000000ffc400' '0600001388' '0600000046' '02030000' '060000004b')
rows = ProfileGenericBufferParser(columns, capture_period=15).parse_bytes(buffer)
seen = [[column.value for column in row][1:] for row in rows]
print('dlms-cosem 25.1.0, energy in and out:', seen)
assert seen == [[5000, 70], [75]], 'it behaves otherwise now'
PYTHON
