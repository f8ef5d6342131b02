#!/usr/bin/env bash
# easymodbus 2.1.6 (PyPI): it turns a number of 32 bits into two registers and back, as meters have them for power, which is negative while a house feeds in. Expected:
# -1200 back, or a refusal of the first step. Seen: 4294966096, as there is no way back with a sign. A float comes back in a tuple of one.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet easymodbus==2.1.6
"$folder/venv/bin/python" - <<'PYTHON'
from easymodbus import modbus_client as modbus

order = modbus.RegisterOrder.highLow
registers = modbus.convert_double_to_two_registers(-1200, order)
seen = [
    registers,
    modbus.convert_registers_to_double(registers, order),
    modbus.convert_registers_to_float(modbus.convert_float_to_two_registers(-1.5, order), order),
]
print('easymodbus 2.1.6: -1200 as registers and back, -1.5 as a float and back:', seen)
assert seen == [[0xFFFF, 0xFB50], 4294966096, (-1.5,)], 'it behaves otherwise now'
PYTHON
