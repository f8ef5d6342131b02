#!/usr/bin/env bash
# vedirect 1.1.0 (PyPI): VE.Direct lets a device send HEX messages (":A…" and a line end) between the lines of its text frame, and chargers do so once
# somebody has asked them by HEX. Expected: they are passed over. Seen: one such line ends the whole reading with ValueError, the values before it too.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet vedirect==1.1.0 pyserial==3.5
"$folder/venv/bin/python" - <<'PYTHON'
from vedirect import VEDirect

lines = [b'PID\t0xA053\r\n', b'V\t12800\r\n', b'I\t-340\r\n']
plain, mixed = VEDirect.__new__(VEDirect), VEDirect.__new__(VEDirect)
plain._data, mixed._data = {}, {}
plain.parse_pdu(lines)
assert plain.battery_volts == 12.8
try:
    mixed.parse_pdu([lines[0], b':A0102000543\n', *lines[1:]])
    raise SystemExit('it behaves otherwise now: taken')
except ValueError as error:
    print('vedirect 1.1.0: 12.8 V without a HEX message between the lines; with one:', error)
assert 'V' not in mixed._data, 'it behaves otherwise now'
PYTHON
