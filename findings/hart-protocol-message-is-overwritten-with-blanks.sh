#!/usr/bin/env bash
# hart-protocol 2023.6.0 (PyPI), HART of field devices: descriptor (16 letters) and message (32) are packed into six bits each, which gives 12 and 24 bytes (HART,
# commands 17 and 18). Expected: "NORTH BASEMENT 2" in the frame. Seen: the last eight letters alone, behind eight "@", and a message of 19 letters is 24
# "@" and blanks, so that the text on the device is overwritten with nothing; the tag, which has eight letters, is right.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet hart-protocol==2023.6.0
"$folder/venv/bin/python" - <<'PYTHON'
from hart_protocol import universal

ADDRESS = bytes.fromhex('2606123456')


def text(packed):
    """Unpacks four letters of six bits from three bytes."""
    number = int.from_bytes(packed, 'big')
    codes = [(number >> 6 * place) & 63 for place in reversed(range(len(packed) * 8 // 6))]
    return ''.join(chr(code if code >= 32 else code + 64) for code in codes)


# Five bytes of preamble, one of start, five of address, command and length stand before the data.
data = universal.write_tag_descriptor_date(ADDRESS, 'TANK7', 'NORTH BASEMENT 2', (15, 1, 126))[13:-1]
message = universal.write_message(ADDRESS, 'SERVICED 2026-01-15')[13:-1]
seen = text(data[:6]), text(data[6:18]), text(message)
print('hart-protocol 2023.6.0:', seen)
assert seen == ('TANK7   ', '@@@@@@@@SEMENT 2', '@' * 24 + ' ' * 8), 'it behaves otherwise now'
PYTHON
