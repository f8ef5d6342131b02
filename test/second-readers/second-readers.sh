#!/bin/sh
# Writes the answers of second readers from PyPI beside the fixtures of meters, and what drivers from PyPI print; the tests compare the first with ours, and
# feed the second to the agent. Then runs the recipes of docs/drivers.md with these drivers themselves. Not part of CI.
set -eu
cd "$(dirname "$0")"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet gurux-dlms==1.0.203 amshan==2.1.1 dsmr-parser==1.11.2 iec62056-21==0.0.2 python-pylontech==0.3.3
"$folder/venv/bin/python" dlms.py
"$folder/venv/bin/python" p1.py
"$folder/venv/bin/python" iec62056.py
"$folder/venv/bin/python" pylontech_frames.py
"$folder/venv/bin/pip" install --quiet cantools==45.1.0 ruuvitag-sensor==4.1.0 victron-ble==0.9.3 pysnmp==7.1.30 evdev==2.0.0
"$folder/venv/bin/python" drivers.py
TURNSTONE_PYPI=$folder/venv ../../scripts/test.sh test/integration/driver-recipes
