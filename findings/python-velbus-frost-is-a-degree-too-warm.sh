#!/usr/bin/env bash
# python-velbus 2.1.14 (PyPI), temperature of the Velbus (message E6): eleven bits in two's complement, in sixteenths of a degree, at the upper end of two bytes, so that -0.0625 is
# FFE0. Expected: -0.5 degrees for FF00, and -10 for EC00. Seen: 0.5 and -9, as 127 is taken away where 128 belongs, so that all frost is a degree too warm and
# the first degree of it is none; from zero on the numbers are right.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet python-velbus==2.1.14
"$folder/venv/bin/python" - <<'PYTHON'
from velbus.messages.sensor_temperature import SensorTemperatureMessage


def read(celsius):
    message = SensorTemperatureMessage()
    sixteenths = round(celsius * 16)
    message.populate(0xFB, 1, False, (sixteenths << 5 & 0xFFFF).to_bytes(2, 'big') * 3)
    return message.cur


seen = {celsius: read(celsius) for celsius in (21.5, 0, -0.0625, -0.5, -10)}
print('python-velbus 2.1.14: sent and read:', seen)
assert seen == {21.5: 21.5, 0: 0, -0.0625: 0.9375, -0.5: 0.5, -10: -9}, 'it behaves otherwise now'
PYTHON
