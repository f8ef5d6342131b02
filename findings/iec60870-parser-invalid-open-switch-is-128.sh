#!/usr/bin/env bash
# iec60870-parser 0.1.1 (PyPI), single point with time (type 30) of IEC 60870-5-104: bit 0 of its byte is the state, and the upper four are its quality, 80h for "invalid";
# the time has a bit of its own for "invalid" (in the minute) and for summer time (in the hour). Expected: state 0, and marks beside it. Seen: a switch
# that is open and not valid has the value 128, which is true in Python, and the three times are the same, valid or not, winter or summer.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet iec60870-parser==0.1.1
"$folder/venv/bin/python" - <<'PYTHON'
from iec60870 import parse_frame


def read(point, minute, hour):
    """Object 4000 of station 1, spontaneous, on the 15th of July 2026 at 12:30:05."""
    asdu = bytes.fromhex('1e0103000100a00f00') + bytes([point]) + (5000).to_bytes(2, 'little') + bytes([minute, hour, 15, 7, 26])
    result = parse_frame(b'\x68' + bytes([4 + len(asdu)]) + bytes(4) + asdu, protocol='t104')
    (item,) = result.fields['asdu']['information_objects']
    return item['value'], item['timestamp']


closed, opened, unknown = (read(point, 30, 12)[0] for point in (0x01, 0x00, 0x80))
times = [read(0x01, minute, hour)[1] for minute, hour in ((30, 12), (0x80 | 30, 12), (30, 0x80 | 12))]
print('iec60870-parser 0.1.1: closed', closed, 'open', opened, 'open and invalid', unknown, '- times:', *times)
assert (closed, opened, unknown) == (1, 0, 128), 'it behaves otherwise now'
assert times[0] == times[1] == times[2], 'it behaves otherwise now'
PYTHON
