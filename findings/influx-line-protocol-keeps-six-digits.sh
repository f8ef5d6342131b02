#!/usr/bin/env bash
# influx-line-protocol 0.1.5 (PyPI): a float of the line protocol is a 64-bit one, with some sixteen digits. Expected: a meter reading of 123456.789 kWh in the line
# as it was given. Seen: 123457, as only six digits are written, without a word; so a counter that has passed 100,000 stands still and jumps by one,
# and one past 1,000,000 jumps by ten.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet influx-line-protocol==0.1.5
"$folder/venv/bin/python" - <<'PYTHON'
from influx_line_protocol import Metric


def line(value):
    metric = Metric('meter')
    metric.add_value('kWh', value)
    return str(metric)


seen = [line(value) for value in (123456.789, 1234567.891, 1234571.0)]
print('influx-line-protocol 0.1.5:', seen)
assert seen == ['meter kWh=123457', 'meter kWh=1.23457e+06', 'meter kWh=1.23457e+06'], 'it behaves otherwise now'
PYTHON
