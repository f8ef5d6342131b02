#!/usr/bin/env bash
# mbpoll 1.4.11 (Debian), which writes Modbus registers from the command line: it refuses what is not a number (FF) or too large (70000). Expected: that too for 21.5 and
# 1e3, which aren't whole decimal numbers, and 100 for 0100. Seen: 21, 1 and 64 are written, since reading stops at the first sign that doesn't fit and a
# zero in front means octal; "Written 1 references." and exit code 0 each time.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq update
apt-get -qq -o APT::Sandbox::User=root download mbpoll=1.4.11+dfsg-2 libmodbus5=3.1.6-2.1+deb12u1
dpkg -x mbpoll_*.deb root
dpkg -x libmodbus5_*.deb root
cat >unit.py <<'PYTHON'
import os
import socket
import struct
import subprocess
import threading

written = []


def serve(listener):
    """Takes every write and gives it back, as function 06 does."""
    while True:
        unit, _ = listener.accept()
        while request := unit.recv(260):
            written.append(struct.unpack('>H', request[10:12])[0])
            unit.sendall(request)


def write(value):
    written.clear()
    command = ['root/usr/bin/mbpoll', '-m', 'tcp', '-p', port, '-t', '4', '127.0.0.1', value]
    libraries = {**os.environ, 'LD_LIBRARY_PATH': 'root/usr/lib/x86_64-linux-gnu'}
    code = subprocess.run(command, env=libraries, capture_output=True, check=False, timeout=20).returncode
    return f'{value}: {written[0] if written else "refused"}, code {code}'


listener = socket.create_server(('127.0.0.1', 0))
port = str(listener.getsockname()[1])
threading.Thread(target=serve, args=(listener,), daemon=True).start()
seen = [write(value) for value in ('100', 'FF', '21.5', '1e3', '0100')]
print('mbpoll 1.4.11:', seen)
before = ['100: 100, code 0', 'FF: refused, code 1', '21.5: 21, code 0', '1e3: 1, code 0', '0100: 64, code 0']
assert seen == before, 'it behaves otherwise now'
PYTHON
python3 unit.py
