#!/usr/bin/env bash
# msconsconverter 2.0.0 (PyPI) makes a table of an MSCONS message (EDIFACT), by which German grid operators send quarter hours of a meter: a quantity (QTY 220 measured, 67
# a substitute), its beginning and its end. Expected: three rows. Seen: ten. Each quantity stands in the quarter hour before its own as well, and then
# in one of no length, as nothing is put back after the end; 3.5 kWh of a substitute are 0.0. There is a warning for 67 and none for the rest.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet msconsconverter==2.0.0
cd "$folder"
quarter() { printf "QTY+%s'DTM+163:202601142%s?+00:303'DTM+164:202601142%s?+00:303'" "$@"; }
{
  printf "UNA:+.? 'UNB+UNOC:3+9900000000001:500+9900000000002:500+260115:0900+1'UNH+1+MSCONS:D:04B:UN:2.4c'BGM+7+1+9'DTM+137:202601150900?+00:303'"
  printf "NAD+MS+9900000000001::293'NAD+MR+9900000000002::293'UNS+D'NAD+DP'LOC+172+DE0001234567800000000000000000001'LIN+1'PIA+5+1-1?:1.29.0:SRW'"
  quarter 220:1.5 300 315
  quarter 220:2.5 315 330
  quarter 67:3.5 330 345
  printf "UNT+20+1'UNZ+1+1'\n"
} >meter.txt
venv/bin/python -m msconsconverter convert --input-file meter.txt --output-directory out
venv/bin/python - <<'PYTHON'
import csv
import pathlib

(table,) = pathlib.Path('out').glob('*.csv')
rows = [f"{row['HOUR_PS']}:{row['MINUTE_PS']}-{row['HOUR_PE']}:{row['MINUTE_PE']} {row['VALUE']}" for row in csv.DictReader(table.open())]
print('msconsconverter 2.0.0:', *rows, sep='\n')
assert rows[:4] == ['23:00-23:15 1.5', '23:00-23:15 2.5', '23:15-23:15 2.5', '23:15-23:30 2.5'], 'it behaves otherwise now'
assert len(rows) == 10 and rows[-1] == '23:30-23:45 0.0', 'it behaves otherwise now'
PYTHON
