#!/usr/bin/env bash
# meter-reader 1.1.2 (PyPI), the Eagle gateway of Rainforest: readings of a time are asked for by StartTime and EndTime, in seconds since 2000 in UTC. Expected: 0x1EEA8D00 for
# 08:00 on 8 June 2016. Seen: 0x7080, which is 08:00 on 1 January 2000, as the days are left out and the seconds of the last day alone are taken, so
# that any two days are one and the same, and an end at midnight lies before its beginning.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet meter-reader==1.1.2
"$folder/venv/bin/python" - <<'PYTHON'
import re
import socket
import threading
from datetime import datetime, timezone

from meter_reader import Gateway

gateway = socket.create_server(('127.0.0.1', 0))
asked = []


def serve():
    """Takes one command a connection, and answers with the device."""
    while True:
        client, _ = gateway.accept()
        with client:
            text = ''
            while '</LocalCommand>' not in text:
                text += client.recv(4096).decode()
            asked.append(text)
            client.sendall(b'<DeviceInfo>\n<DeviceMacId>0xd8d5b90000001234</DeviceMacId>\n</DeviceInfo>\n')


threading.Thread(target=serve, daemon=True).start()
reader = Gateway('127.0.0.1', gateway.getsockname()[1])
begin = datetime(2016, 6, 8, 8, tzinfo=timezone.utc)
end = datetime(2016, 6, 9, tzinfo=timezone.utc)
reader.run_command(Name='get_summation_values', StartTime=begin, EndTime=end)
seen = re.findall(r'<(StartTime|EndTime)>(\w+)<', asked[-1])
right = [hex(int((one - datetime(2000, 1, 1, tzinfo=timezone.utc)).total_seconds())) for one in (begin, end)]
print('meter-reader 1.1.2:', seen, 'instead of', right)
assert seen == [('StartTime', '0x7080'), ('EndTime', '0x0')], 'it behaves otherwise now'
PYTHON
