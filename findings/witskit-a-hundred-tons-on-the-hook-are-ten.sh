#!/usr/bin/env bash
# witskit 0.1.0 (PyPI), WITS of drilling rigs: hook load is in kilodecanewtons (KDN) or thousands of pounds (KLB), and bends are in degrees per 100 m (DGHM) or per 100 feet
# (DGHF). 100 KDN are a million newtons, and 100 feet are 30.48 m. Expected: 224.8 KLB, and 3.05 for a bend of 10. Seen: 22.5 KLB, as one kilonewton
# is taken for a kilodecanewton, so that a load of a hundred tons is told as ten; and 3.28, which is the factor of lengths.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet witskit==0.1.0
"$folder/venv/bin/python" - <<'PYTHON'
from witskit import UnitConverter, WITSUnits

load = UnitConverter.convert_value(100, WITSUnits.KDN, WITSUnits.KLB)
bend = UnitConverter.convert_value(10, WITSUnits.DGHM, WITSUnits.DGHF)
depth = UnitConverter.convert_value(30.48, WITSUnits.METERS, WITSUnits.FEET)
print(f'witskit 0.1.0: 100 KDN are {load:.2f} KLB, 10 DGHM are {bend:.2f} DGHF, 30.48 m are {depth:.2f} feet')
assert [round(one, 2) for one in (load, bend, depth)] == [22.48, 3.28, 100.0], 'it behaves otherwise now'
PYTHON
