#!/usr/bin/env bash
# pycayennelpp 2.4.0 (PyPI): an analog value of Cayenne LPP is two bytes with a sign, in hundredths, so from -327.68 to 327.67. The library says of larger values
# that they exceed the range. Expected: that, for 400 V between two phases. Seen: it is taken, since the check is made as if there were no sign, and
# the server reads -255.36 V; 700 is refused. And 0.29 is sent as 0.28, as it cuts off and does not round.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet pycayennelpp==2.4.0
"$folder/venv/bin/python" - <<'PYTHON'
from cayennelpp import LppFrame


def sent(value):
    frame = LppFrame()
    frame.add_analog_input(1, value)
    return LppFrame.from_bytes(bytes(frame)).data[0].value[0]


try:
    sent(700.0)
    raise SystemExit('it behaves otherwise now: 700 is taken')
except ValueError as error:
    print('pycayennelpp 2.4.0: 230 V arrive as', sent(230.0), '- 400 V as', sent(400.0), '- 0.29 V as', sent(0.29), '- 700 V:', error)
assert (sent(230.0), sent(400.0), sent(0.29)) == (230.0, -255.36, 0.28), 'it behaves otherwise now'
PYTHON
