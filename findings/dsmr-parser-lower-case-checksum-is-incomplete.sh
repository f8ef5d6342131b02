#!/usr/bin/env bash
# dsmr_parser 1.4.3 (PyPI): a telegram whose check sum is right and written in small letters, as some meters and adapters do, is refused as
# "incomplete". Expected: taken, as hexadecimal digits mean the same in either case, or at least words about the check sum. Seen: ParseError that
# says that check sum or values are missing.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet dsmr_parser==1.4.3
"$folder/venv/bin/python" - <<'PYTHON'
from dsmr_parser import telegram_specifications
from dsmr_parser.exceptions import ParseError
from dsmr_parser.parsers import TelegramParser


def crc16(data):
    crc = 0
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ 0xA001 if crc & 1 else crc >> 1
    return crc


parser = TelegramParser(telegram_specifications.V5, apply_checksum_validation=True)
# One whose check sum holds a letter.
for day in range(10, 28):
    body = '/ISK5\\2M550T-1012\r\n\r\n1-3:0.2.8(50)\r\n0-0:1.0.0(2311%02d120000W)\r\n!' % day
    upper = '%04X' % crc16(body.encode())
    if upper != upper.lower():
        break
parser.parse(f'{body}{upper}\r\n')
try:
    parser.parse(f'{body}{upper.lower()}\r\n')
    raise SystemExit('it behaves otherwise now: taken')
except ParseError as error:
    print(f'dsmr_parser 1.4.3: {upper} is taken, {upper.lower()} is not: {error}')
    assert 'incomplete' in str(error), 'it behaves otherwise now'
PYTHON
