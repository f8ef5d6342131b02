#!/usr/bin/env bash
# python-pylontech 0.3.3 (PyPI): controllers of Seplos (protocol V2) send frames of the same form with other contents. Expected: a fault, as bytes are left
# over behind the values, and the cells do not add up to the voltage. Seen: 5.279 V, -181 A and 7782 Ah for a battery of 52.8 V and -18.1 A.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet python-pylontech==0.3.3
"$folder/venv/bin/python" - <<'PYTHON'
from pylontech import Pylontech

FRAME = b'~2003460010960003100CE40CE10CE40CE20CE40CE10CE30CE30CE30CE50CE20CE50CE40CE50CE20CE5060B360B320B340B310B6B0B44F8EE149F6F140A76C003A776C0000603E8149F00380000029B021ADC9E\r'


class Replay:
    def readline(self):
        return FRAME


reader = Pylontech.__new__(Pylontech)
reader.s = Replay()
values = reader.get_values_single_fmt.parse(reader.read_frame().info[1:])
seen = (values.Voltage, values.Current, round(sum(values.CellVoltages), 1))
print('python-pylontech 0.3.3:', seen)
assert seen == (5.279, -181.0, 52.8), 'it behaves otherwise now'
PYTHON
