#!/usr/bin/env bash
# ds18b20 0.01.03 (PyPI), thermometer at the 1-Wire of Linux: it gives the temperature in degrees Celsius, Fahrenheit or kelvins. Expected: 293.15 K for 20 degrees, as 0
# degrees are 273.15 K. Seen: 292.15 K, as it adds 272.15; Celsius and Fahrenheit are right.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet ds18b20==0.01.03
mkdir -p "$folder/devices/28-000005e2fdc3"
printf '40 01 4b 46 7f ff 0c 10 5d : crc=5d YES\n40 01 4b 46 7f ff 0c 10 5d t=20000\n' >"$folder/devices/28-000005e2fdc3/w1_slave"
"$folder/venv/bin/python" - "$folder/devices" <<'PYTHON'
import sys

from ds18b20 import DS18B20

DS18B20.BASE_DIRECTORY = sys.argv[1]
DS18B20._load_kernel_modules = lambda _: None
chip = DS18B20()
seen = [round(chip.get_temperature(unit), 2) for unit in (DS18B20.DEGREES_C, DS18B20.DEGREES_F, DS18B20.KELVIN)]
print('ds18b20 0.01.03: 20 degrees in Celsius, Fahrenheit and kelvins:', seen)
assert seen == [20.0, 68.0, 292.15], 'it behaves otherwise now'
PYTHON
