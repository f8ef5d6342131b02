#!/usr/bin/env bash
# canmatrix 1.3.3 (PyPI): a signal of a DBC file may be a float (SIG_VALTYPE_ 1), and the symbol files of PCAN have a type "float" for it. Expected: that type in the
# symbol file, or a refusal. Seen: the signal is written as a signed integer of 32 bits, so that 25.6 V reads as 1103940813 V with the same library;
# the exit code is 0 and nothing is said.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet canmatrix==1.3.3
cat >battery.dbc <<'DBC'
VERSION ""
BU_: ECU
BO_ 291 Battery: 5 ECU
 SG_ Volts : 0|32@1- (1,0) [0|0] "V" ECU
 SG_ Celsius : 32|8@1- (1,0) [0|0] "C" ECU
SIG_VALTYPE_ 291 Volts : 1;
DBC
venv/bin/canconvert --silent battery.dbc battery.sym
grep --quiet '^Var=Volts signed 0,32' battery.sym || { echo 'it behaves otherwise now'; exit 1; }
venv/bin/python - <<'PYTHON'
import canmatrix
import canmatrix.formats


def volts(name):
    matrix = canmatrix.formats.loadp_flat(name)
    return float(matrix.decode(canmatrix.ArbitrationId(291), bytes.fromhex('cdcccc41f6'))['Volts'].phys_value)


seen = volts('battery.dbc'), volts('battery.sym')
print('canmatrix 1.3.3: the same frame by the DBC file', round(seen[0], 3), 'and by the symbol file', seen[1])
assert round(seen[0], 3) == 25.6 and seen[1] == 1103940813.0, 'it behaves otherwise now'
PYTHON
