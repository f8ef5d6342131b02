#!/usr/bin/env bash
# dsmr_parser 1.4.3 (PyPI), telegram specification V4: the reading of any meter on the M-Bus whose code is 24.2.1 is called a gas reading. In Belgium
# 24.2.1 is the water meter (device type 7) and gas is 24.2.3 (device type 3). Expected: by the device type that stands beside it, as in V5, or none.
# Seen: 389.732 m³ of water as HOURLY_GAS_METER_READING, and no reading of the gas meter at all.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet dsmr_parser==1.4.3
"$folder/venv/bin/python" - <<'PYTHON'
from dsmr_parser import telegram_specifications
from dsmr_parser.parsers import TelegramParser


def crc16(data):
    crc = 0
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ 0xA001 if crc & 1 else crc >> 1
    return crc


lines = [
    '/FLU5\\253770234_A', '', '0-0:96.1.4(50217)', '0-0:1.0.0(231115120000W)', '1-0:1.8.1(000123.456*kWh)',
    '0-1:24.1.0(007)', '0-1:96.1.1(3853455430303132)', '0-1:24.2.1(231115120000W)(00389.732*m3)',
    '0-2:24.1.0(003)', '0-2:96.1.1(374B4537303132)', '0-2:24.2.3(231115115500W)(02559.077*m3)',
]
body = ''.join(line + '\r\n' for line in lines) + '!'
telegram = TelegramParser(telegram_specifications.V4).parse(body + '%04X\r\n' % crc16(body.encode()))
seen = [{name: str(item.value) for name, item in device if 'READING' in name} for device in telegram.MBUS_DEVICES]
print('dsmr_parser 1.4.3, V4:', seen)
assert seen == [{'HOURLY_GAS_METER_READING': '389.732'}, {}], 'it behaves otherwise now'
PYTHON
