#!/usr/bin/env bash
# pymodbus 3.16.1 (PyPI), client of RTU frames over TCP, as serial servers carry them: after one answer that comes later than the time-out, every
# later read is given the answer to the read before it, without an error, for as long as the connection stands. Expected: what comes late is thrown
# away before the next request, as RTU frames have no number to tell them apart. Seen: 222 reads the value of 111, 333 that of 222, 444 that of 333.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet pymodbus==3.16.1
"$folder/venv/bin/python" - 2>/dev/null <<'PYTHON'
import socket
import struct
import threading
import time

from pymodbus import FramerType
from pymodbus.client import ModbusTcpClient


def crc16(data):
    crc = 0xFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ 0xA001 if crc & 1 else crc >> 1
    return struct.pack('<H', crc)


def serve(listener):
    """A unit whose register N holds N; its first answer takes 0.8 s, and all others 0.05 s."""
    connection, _ = listener.accept()
    answers = 0
    while request := connection.recv(8, socket.MSG_WAITALL):
        answer = request[:2] + b'\x02' + request[2:4]
        answers += 1
        threading.Timer(0.8 if answers == 1 else 0.05, connection.sendall, [answer + crc16(answer)]).start()


listener = socket.create_server(('127.0.0.1', 0))
threading.Thread(target=serve, args=[listener], daemon=True).start()
client = ModbusTcpClient(
    '127.0.0.1', port=listener.getsockname()[1], framer=FramerType.RTU, timeout=0.5, retries=0
)
client.connect()
seen = []
for register in (111, 222, 333, 444):
    try:
        answer = client.read_holding_registers(register, count=1, device_id=1)
        seen.append((register, 'no answer' if answer.isError() else answer.registers[0]))
    except Exception as error:
        seen.append((register, 'no answer'))
    time.sleep(0.45)
print('pymodbus 3.16.1, register and value read:', seen)
assert seen == [(111, 'no answer'), (222, 111), (333, 222), (444, 333)], 'it behaves otherwise now'
PYTHON
