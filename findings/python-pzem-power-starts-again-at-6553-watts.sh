#!/usr/bin/env bash
# python-pzem 0.1.5 (PyPI), energy meter PZEM-016 (230 V, 100 A): current (mA), power (tenths of a watt) and energy (Wh) have two registers each, the low one first, and the power
# factor has hundredths. Expected: 85 A, 19550 W, 123456 Wh and 0.87. Seen: the low register alone is read, so that the power starts again at 6553.6 W and
# the current at 65.5 A, the energy is divided by a hundred beside that, and 0.87 is rounded to 0.9; with 6.5 kW or less the power is right.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet python-pzem==0.1.5 minimalmodbus==2.1.1
"$folder/venv/bin/python" - <<'PYTHON'
import os
import struct
import threading
import tty

from pzem import PZEM_016

meter, line = os.openpty()
tty.setraw(meter)
registers = {}


def check(frame):
    crc = 0xFFFF
    for byte in frame:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0xA001 if crc & 1 else 0)
    return frame + struct.pack('<H', crc)


def serve():
    """Answers function 04 for the input registers of the data sheet."""
    while True:
        request = b''
        while len(request) < 8:
            request += os.read(meter, 8 - len(request))
        start, count = struct.unpack('>HH', request[2:6])
        values = b''.join(struct.pack('>H', registers[one]) for one in range(start, start + count))
        os.write(meter, check(bytes([1, 4, len(values)]) + values))


def read(amperes, watts, hours):
    for first, value in ((1, round(amperes * 1000)), (3, round(watts * 10)), (5, hours)):
        registers[first], registers[first + 1] = value & 0xFFFF, value >> 16
    registers[0], registers[7], registers[8], registers[9] = 2300, 500, 87, 0
    unit = PZEM_016(os.ttyname(line))
    unit.serial.timeout = 1
    return unit.voltage, unit.current, unit.power, unit.energy, unit.power_factor


threading.Thread(target=serve, daemon=True).start()
seen = read(85, 19550, 123456), read(10, 2300, 12345)
print('python-pzem 0.1.5: V, A, W, Wh, power factor:', *seen)
assert seen == ((230, 19.5, 6442.8, 579.2, 0.9), (230, 10.0, 2300, 123.5, 0.9)), 'it behaves otherwise now'
PYTHON
