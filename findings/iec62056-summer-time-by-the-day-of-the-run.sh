#!/usr/bin/env bash
# iec62056 0.5.1 (PyPI): a P1 telegram says with S or W whether its time is summer time (DSMR 5, 6.4). Expected: noon in July is 10:00 UTC in Amsterdam, and noon
# in January 11:00. Seen: the letter is dropped, and both have the offset that the computer's clock has on the day of the run, so that one of the two
# is always an hour off, and the two times of the doubled hour in October are one.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet iec62056==0.5.1 lark==1.0.0
TZ=Europe/Amsterdam "$folder/venv/bin/python" - <<'PYTHON'
from datetime import timezone

from iec62056.parser import Parser


def utc(time):
    lines = ['/ISK5\\2M550T-1012', '', '1-3:0.2.8(50)', f'0-0:1.0.0({time})', '1-0:1.8.1(000123.456*kWh)', '!0000', '']
    return Parser().parse('\r\n'.join(lines))['timestamp'].value.astimezone(timezone.utc)


july, january = utc('230715120000S'), utc('230115120000W')
twice = utc('231029023000S'), utc('231029023000W')
print('iec62056 0.5.1: noon in July and in January, UTC:', july, january, '- the doubled half past two:', *twice)
assert july.hour == january.hour, 'it behaves otherwise now'
assert twice[0] == twice[1], 'it behaves otherwise now'
PYTHON
