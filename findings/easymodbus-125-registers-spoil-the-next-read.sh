#!/usr/bin/env bash
# easymodbus 2.1.6 (PyPI), client of Modbus TCP: a read may ask for up to 125 registers, as the library says too, and its answer has 259 bytes. Expected: 125 values, and after
# them the right ones for the next read. Seen: 256 bytes at most are taken, so that 124 and 125 registers are an IndexError, and what was left is laid
# before the answer to the read of 300 and 301, which gives two other numbers or an error; 123 are read.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet easymodbus==2.1.6
"$folder/venv/bin/python" - <<'PYTHON'
import os
import socket
import struct
import threading

from easymodbus.modbus_client import ModbusClient


def serve(listener):
    """Answers every read with the addresses of its registers."""
    unit, _ = listener.accept()
    while request := unit.recv(260):
        number, _, _, address, function, start, count = struct.unpack('>HHHBBHH', request)
        body = struct.pack(f'>BBB{count}H', address, function, 2 * count, *range(start, start + count))
        unit.sendall(struct.pack('>HHH', number, 0, len(body)) + body)


listener = socket.create_server(('127.0.0.1', 0))
threading.Thread(target=serve, args=(listener,), daemon=True).start()
client = ModbusClient('127.0.0.1', listener.getsockname()[1])
client.connect()


def read(start, count):
    try:
        return client.read_holding_registers(start, count) == list(range(start, start + count))
    except Exception as error:
        return type(error).__name__


seen = [read(100, 2), read(200, 123), read(200, 125), read(300, 2)]
print('easymodbus 2.1.6: 2 registers, 123, 125 and 2 again, each as it should be:', seen, flush=True)
as_said = seen[:3] == [True, True, 'IndexError'] and seen[3] is not True
if not as_said:
    print('it behaves otherwise now', flush=True)
os._exit(0 if as_said else 1)
PYTHON
