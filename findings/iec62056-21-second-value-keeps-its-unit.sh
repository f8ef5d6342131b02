#!/usr/bin/env bash
# iec62056-21 0.0.2 (PyPI): a data set may have no code of its own, as the second one of a line with a time and a reading, and still has value and unit
# apart by "*" (IEC 62056-21, 6.6). Expected: value 00389.732 and unit m3. Seen: the unit stays in the value, and there is none beside it; in the first
# data set of a line the same text is taken apart.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet iec62056-21==0.0.2
"$folder/venv/bin/python" - <<'PYTHON'
from iec62056_21.messages import DataLine

line = DataLine.from_representation('0-1:24.2.1(231115120000W)(00389.732*m3)')
alone = DataLine.from_representation('0-1:24.2.1(00389.732*m3)')
seen = [(one.value, one.unit) for one in (*line.data_sets, *alone.data_sets)]
print('iec62056-21 0.0.2:', seen)
assert seen == [('231115120000W', None), ('00389.732*m3', None), ('00389.732', 'm3')], 'it behaves otherwise now'
PYTHON
