#!/usr/bin/env bash
# dalybms 0.5.0 (PyPI), battery management system of Daly: its answer has the current in tenths of an ampere with 30000 added, and temperatures in degrees with 40 added,
# both without a sign. Expected: 300 A of discharge for 33000, and 90 degrees for 130. Seen: they are read with a sign, so that from 276.8 A on the
# discharge is told as a charge (negative) of 6276.8 A and less, and a battery that burns is at -166 degrees.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet dalybms==0.5.0 pyserial==3.5
"$folder/venv/bin/python" - <<'PYTHON'
import struct

from dalybms import DalyBMS

bms = DalyBMS()
currents = [bms.get_soc(struct.pack('>4H', 512, 0, 30000 + 10 * amperes, 800))['current'] for amperes in (-20, 200, 300)]
temperatures = [bms.get_temperature_range(bytes([40 + degrees, 1, 60, 2, 0, 0, 0, 0]))['highest_temperature'] for degrees in (-10, 80, 90)]
print('dalybms 0.5.0: -20, 200 and 300 A; -10, 80 and 90 degrees:', currents, temperatures)
assert (currents, temperatures) == ([-20.0, 200.0, -6253.6], [-10, 80, -166]), 'it behaves otherwise now'
PYTHON
