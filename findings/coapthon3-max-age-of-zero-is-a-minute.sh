#!/usr/bin/env bash
# coapthon3 1.0.2 (PyPI), client of CoAP: Max-Age says for how many seconds an answer holds, 60 if it isn't there; 0, sent as an option without bytes, means that it must not
# be used again (RFC 7252, 5.10.5), as for a reading of now. Expected: 0. Seen: 60, as for an option that is missing, so that a cache gives an old value
# for a minute; 1 is read as 1, and what the library sends itself for 0 it reads as 60 too.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet coapthon3==1.0.2
"$folder/venv/bin/python" - <<'PYTHON'
from coapthon.messages.response import Response
from coapthon.serializer import Serializer

SOURCE = ('127.0.0.1', 5683)


def read(seconds):
    """Reads 2.05 with Content-Format 0 (text), Max-Age in as few bytes as it needs, and 21.5."""
    option = bytes([0x20 | len(seconds)]) + seconds
    return Serializer().deserialize(b'\x60\x45\x00\x01\xc0' + option + b'\xff21.5', SOURCE)


own = Response()
own.code, own.mid, own.type, own.token, own.max_age, own.payload = 69, 1, 2, b'', 0, '21.5'
back = Serializer().deserialize(bytes(Serializer().serialize(own)), SOURCE)
seen = [read(b'').max_age, read(b'\x01').max_age, back.max_age]
print('coapthon3 1.0.2: Max-Age of 0, 1, and its own 0:', seen, read(b'').payload)
assert seen == [60, 1, 60], 'it behaves otherwise now'
PYTHON
