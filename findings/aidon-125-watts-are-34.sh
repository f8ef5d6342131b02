#!/usr/bin/env bash
# aidon 0.0.5 (PyPI), pushed lists of the Norwegian meter Aidon: they come in frames of HDLC that say their length (format type 3, A0), in which no byte is escaped (IEC
# 62056-46). Expected: 125 W for 7Dh. Seen: 34 W, as 7D is dropped and the next byte turned over, as in a frame without a length; the check sum no
# longer fits then, and the frame is read all the same. 126 W (7E) are lost, and 124 W are right.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet aidon==0.0.5 crcmod==1.7
"$folder/venv/bin/python" - <<'PYTHON'
import contextlib
import io
import struct

from aidon.aidon_obis import aidon


def check(data):
    crc = 0xFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x8408 if crc & 1 else 0)
    return struct.pack('<H', crc ^ 0xFFFF)


def frame(watts):
    """Makes list 1: one structure of a code, the power, and its scale and unit."""
    body = bytes.fromhex('e6e7000f40000000000101020309060100010700ff06') + struct.pack('>I', watts) + bytes.fromhex('02020f00161b')
    head = struct.pack('>H', 0xA000 | len(body) + 10) + bytes.fromhex('41088313')
    head += check(head)
    return b'\x7e' + head + body + check(head + body) + b'\x7e'


def read(watts):
    seen = []
    reader = aidon(lambda fields: seen.append(fields['p_act_in']))
    with contextlib.redirect_stdout(io.StringIO()):
        for byte in frame(watts):
            reader.decode(bytes([byte]))
    return seen


seen = {watts: read(watts) for watts in (124, 125, 126, 2000)}
print('aidon 0.0.5: sent and read:', seen)
assert seen == {124: [124], 125: [34], 126: [], 2000: [2000]}, 'it behaves otherwise now'
PYTHON
