#!/usr/bin/env bash
# hart-protocol 2023.6.0 (PyPI), HART of field devices: command 2 gives the current of the loop and the per cent of the range, command 1 the measured value, and the
# answer to command 19 has the assembly number in three bytes. Expected: names that tell value and per cent apart, and 1234567 for 12 D6 87. Seen: both
# are "primary_variable", so that a tank at 2.5 bar is at 62.5 after the next answer; the number is 4822, of its first two bytes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet hart-protocol==2023.6.0
"$folder/venv/bin/python" - <<'PYTHON'
import io
import struct

import hart_protocol


class Line(io.BytesIO):
    """A serial line, which tells how many bytes wait."""

    @property
    def in_waiting(self):
        return len(self.getbuffer()) - self.tell()


def answer(command, data):
    frame = b'\x86' + bytes.fromhex('a606123456') + bytes([command, len(data) + 2, 0, 0]) + data
    check = 0
    for byte in frame:
        check ^= byte
    return next(hart_protocol.Unpacker(Line(b'\xff\xff\xff' + frame + bytes([check]))))


value = answer(1, struct.pack('>Bf', 7, 2.5))
percent = answer(2, struct.pack('>ff', 14.0, 62.5))
number = answer(19, (1234567).to_bytes(3, 'big'))
again = answer(16, (1234567).to_bytes(3, 'big'))
seen = value.primary_variable, percent.primary_variable, number.final_assembly_no, again.final_assembly_no
print('hart-protocol 2023.6.0: 2.5 bar, 62.5 per cent, and 1234567 by commands 19 and 16:', seen)
assert seen == (2.5, 62.5, 4822, 1234567), 'it behaves otherwise now'
PYTHON
