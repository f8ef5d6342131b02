#!/usr/bin/env bash
# smeterd 2.9.2 (PyPI): a Dutch gas meter may be on any of the four M-Bus channels (DSMR 5: 0-n:24.2.1), and a telegram has no line for a meter that is not
# there. Expected: the reading of channel 2, or none, as for other lines that are missing. Seen: a gas reading of 0 m³ in both cases, which a
# counter's history takes for a new meter; the time of a missing reading is None.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet smeterd==2.9.2
"$folder/venv/bin/python" - <<'PYTHON'
from smeterd.meter import P1Packet, crc16


def gas(*lines):
    body = ''.join(line + '\r\n' for line in ('/ISK5\\2M550T-1012', '', '1-3:0.2.8(50)', '1-0:1.8.1(000123.456*kWh)', *lines)) + '!'
    packet = P1Packet((body + '%04X\r\n' % crc16(body.encode())).encode())
    return packet['gas']['total'], packet['gas']['measured_at'] is None, packet['kwh']['high']['consumed']


first = gas('0-1:24.1.0(003)', '0-1:24.2.1(231115115500W)(02559.077*m3)')
second = gas('0-2:24.1.0(003)', '0-2:24.2.1(231115115500W)(02559.077*m3)')
none = gas()
print('smeterd 2.9.2: gas on channel 1, on channel 2, and no gas meter:', first[0], second[0], none[0], '- a missing line of electricity:', none[2])
assert first == (2559.077, False, None), 'it behaves otherwise now'
assert second == none == (0.0, True, None), 'it behaves otherwise now'
PYTHON
