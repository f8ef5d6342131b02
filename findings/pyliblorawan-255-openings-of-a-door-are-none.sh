#!/usr/bin/env bash
# pyliblorawan 0.5.1 (PyPI), room sensor Vivid of Tektelic in LoRaWAN: the counts of a magnet (08 04) and of movements (0D 04) have two bytes, most significant first. Expected: 12
# openings of a door for 00 0C, and 300 for 01 2C. Seen: 0 and 1, as the first of the two bytes is taken alone, so that a door that was opened 255 times
# was never opened; the temperature behind the count is right.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet pyliblorawan==0.5.1
"$folder/venv/bin/python" - <<'PYTHON'
import asyncio

from pyliblorawan.devices.tektelic.vivid import Vivid
from pyliblorawan.models import Uplink


def read(count):
    payload = b'\x08\x04' + count.to_bytes(2, 'big') + b'\x03\x67\x00\xd7'
    sensors = asyncio.run(Vivid.parse_uplink(Uplink('647FDA0000001234', payload, 10))).sensors
    return sensors.total_event_counter, sensors.temperature


seen = {count: read(count) for count in (12, 255, 300)}
print('pyliblorawan 0.5.1: count, and 21.5 degrees:', seen)
assert seen == {12: (0, 21.5), 255: (0, 21.5), 300: (1, 21.5)}, 'it behaves otherwise now'
PYTHON
