#!/usr/bin/env bash
# ina228 0.1.0 (PyPI): the chip gives voltages, current, charge and temperature in two's complement, where 80000h of 20 bits is the least value, the end of the
# negative range. Expected: -6.5536 A at a shunt of 25 milliohms. Seen: +6.5536 A, so that a battery that is discharged at the end of the range is told
# as charged; one step above it is -6.5535875 A.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet ina228==0.1.0
"$folder/venv/bin/python" - <<'PYTHON'
from ina228 import INA228

CURRENT = 0x07


def amperes(*registers):
    return round(INA228(shunt_ohms=0.025, stub_regmap={CURRENT: list(registers)}).get_current(), 7)


least, next_to_least, most = amperes(0x80, 0x00, 0x00), amperes(0x80, 0x00, 0x10), amperes(0x7F, 0xFF, 0xF0)
print('ina228 0.1.0: 80000h is', least, 'A, 80001h', next_to_least, 'A, 7FFFFh', most, 'A')
assert (least, next_to_least, most) == (6.5536, -6.5535875, 6.5535875), 'it behaves otherwise now'
PYTHON
