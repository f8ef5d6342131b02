#!/usr/bin/env bash
# pykmp 0.0.2 (PyPI), KMP of Kamstrup meters: 06, 0D, 1B, 40 and 80 are sent as 1B and their complement, byte by byte. Expected: the bytes of a reading back, for 1B 7F as
# for any. Seen: the pairs are put back one kind after the other over the whole frame, so that 1B E4 7F becomes 1B 7F and then 80. A frame that the
# library has made itself is refused for its check sum, for as long as the counter stands at such a number; 1B 7E is read.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet pykmp==0.0.2
"$folder/venv/bin/python" - <<'PYTHON'
from pykmp import codec

PHYSICAL = codec.PhysicalCodec(direction=codec.PhysicalDirection.FROM_METER)


def there_and_back(reading):
    answer = bytes.fromhex('10 003C 1E 04 00') + reading.to_bytes(4, 'big')
    link = codec.DataLinkCodec().encode(codec.DataLinkData(destination_address=0x3F, application_bytes=answer))
    try:
        return codec.DataLinkCodec().decode(PHYSICAL.decode(PHYSICAL.encode(link))).application_bytes == answer
    except codec.CrcChecksumInvalidError as error:
        return type(error).__name__


seen = {reading: there_and_back(reading) for reading in (0x1B7E, 0x1B7F)}
print('pykmp 0.0.2: readings of 7038 and 7039:', seen)
assert seen == {7038: True, 7039: 'CrcChecksumInvalidError'}, 'it behaves otherwise now'
PYTHON
