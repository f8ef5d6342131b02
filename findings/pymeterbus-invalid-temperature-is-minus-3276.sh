#!/usr/bin/env bash
# pyMeterBus 0.8.5 (PyPI): EN 13757-3 keeps the least number of a signed integer (8000h in 16 bits) for "invalid", which heat meters send for a sensor
# that is not there, and a date and time of zeros likewise. Expected: no value, or a mark. Seen: a flow temperature of -3276.8 °C, and a time
# "2000-00-00T00:00" with no such month or day.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet pyMeterBus==0.8.5
"$folder/venv/bin/python" - <<'PYTHON'
import json

import meterbus


def values(record):
    body = [0x08, 1, 0x72, 0x78, 0x56, 0x34, 0x12, 0x24, 0x40, 1, 4, 0x55, 0, 0, 0, *record]
    frame = bytes([0x68, len(body), len(body), 0x68, *body, sum(body) & 255, 0x16])
    return [one['value'] for one in json.loads(meterbus.load(frame).to_JSON())['body']['records']]


seen = values([0x02, 0x5A, 0x00, 0x80]) + values([0x04, 0x6D, 0, 0, 0, 0])
print('pyMeterBus 0.8.5: flow temperature and time:', seen)
assert seen == [-3276.8, '2000-00-00T00:00'], 'it behaves otherwise now'
PYTHON
