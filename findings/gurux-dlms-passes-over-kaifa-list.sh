#!/usr/bin/env bash
# gurux-dlms 1.0.203 (PyPI), pushed messages of Norwegian meters: a Kaifa sends the time of the message as an octet string, with its tag 09 before the length
# 0C. Expected: the one number of its list 1 (3059 W), as for an Aidon, which sends no time. Seen: the message is complete without an error, and has no
# value at all; the Aidon's is read (2390 W).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet gurux-dlms==1.0.203
"$folder/venv/bin/python" - <<'PYTHON'
from gurux_dlms import GXByteBuffer, GXReplyData
from gurux_dlms.enums import InterfaceType
from gurux_dlms.secure import GXDLMSSecureClient

KAIFA = bytes.fromhex(
    '7ea027010201105a87e6e7000f40000000090c07e5031702131a3aff80000002010600000bf35b057e'
)
AIDON = bytes.fromhex(
    '7ea02a410883130413e6e7000f40000000000101020309060100010700ff060000095602020f00161bafa17e'
)


def numbers(value):
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in numbers(item)]
    return [value] if isinstance(value, int) else []


def read(telegram):
    client = GXDLMSSecureClient(True)
    client.interfaceType = InterfaceType.HDLC
    reply, data, notify = GXByteBuffer(telegram), GXReplyData(), GXReplyData()
    client.getData(reply, data, notify)
    return notify.value


kaifa, aidon = read(KAIFA), read(AIDON)
print('gurux-dlms 1.0.203: Kaifa', kaifa, '- Aidon', numbers(aidon))
assert kaifa is None and 2390 in numbers(aidon), 'it behaves otherwise now'
PYTHON
