#!/usr/bin/env bash
# modbus-proxy 0.8.0 (PyPI), a gateway that lets several clients share one Modbus TCP unit: a write that waits for its turn is sent to the unit although
# the client that asked for it has hung up meanwhile and told its user that it failed. Expected: a request of a client that is gone is dropped. Seen:
# the client is gone for over a second when the unit gets its write.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet modbus-proxy==0.8.0
PATH="$folder/venv/bin:$PATH" "$folder/venv/bin/python" - <<'PYTHON'
import socket
import subprocess
import threading
import time

got = []


def serve(listener):
    """A unit that takes two seconds for each request, and answers a write by repeating it."""
    while True:
        connection, _ = listener.accept()
        while request := connection.recv(260):
            got.append((time.monotonic(), request[8:12]))
            time.sleep(2)
            connection.sendall(request[:12])


def write(transaction, value):
    return bytes([0, transaction, 0, 0, 0, 6, 1, 6, 0, 7, 0, value])


def free_port():
    with socket.create_server(('127.0.0.1', 0)) as probe:
        return probe.getsockname()[1]


unit = socket.create_server(('127.0.0.1', 0))
threading.Thread(target=serve, args=[unit], daemon=True).start()
port = free_port()
proxy = subprocess.Popen(
    ['modbus-proxy', '--modbus', f'tcp://127.0.0.1:{unit.getsockname()[1]}', '-b', f'tcp://127.0.0.1:{port}'],
    stderr=subprocess.DEVNULL,
)
try:
    for _ in range(100):
        try:
            first = socket.create_connection(('127.0.0.1', port))
            break
        except OSError:
            time.sleep(0.1)
    first.sendall(write(1, 11))
    time.sleep(0.3)
    second = socket.create_connection(('127.0.0.1', port))
    second.sendall(write(2, 22))
    time.sleep(0.5)
    second.close()
    hung_up = time.monotonic()
    time.sleep(6)
    late = [at - hung_up for at, request in got if request[3] == 22]
    print('modbus-proxy 0.8.0: the write of the client that hung up reached the unit', [f'{s:.1f} s' for s in late], 'after that')
    assert late and late[0] > 0.5, 'it behaves otherwise now'
finally:
    proxy.terminate()
PYTHON
