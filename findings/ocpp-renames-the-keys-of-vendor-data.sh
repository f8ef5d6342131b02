#!/usr/bin/env bash
# ocpp 2.1.0 (PyPI), OCPP 2.0.1: the data of a DataTransfer is the vendor's own, of any form, and passed on as it is. Expected: its keys arrive as they were sent. Seen:
# they are put from one spelling into the other as the fields of OCPP are, at every depth and both ways: power_limit_w goes out as powerLimitW, L1 and SoC
# come in as l1 and soc, and of "ID" and "id" in one object only the latter is left.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet ocpp==2.1.0
"$folder/venv/bin/python" - <<'PYTHON'
import asyncio
import json

from ocpp.routing import on
from ocpp.v201 import ChargePoint, call, call_result

sent, received = [], []


class Wire:
    async def send(self, message):
        sent.append(json.loads(message))


class Station(ChargePoint):
    @on('DataTransfer')
    def take(self, data, **others):
        received.append(data)
        return call_result.DataTransfer(status='Accepted')


async def main():
    station = Station('station', Wire(), response_timeout=0.1)
    try:
        await station.call(call.DataTransfer(vendor_id='org.example', data={'power_limit_w': 11000, 'phase_1': {'i_max': 16}}))
    except asyncio.TimeoutError:
        pass
    data = {'L1': 230, 'SoC': 80, 'ID': 5, 'id': 6}
    await station.route_message(json.dumps([2, '1', 'DataTransfer', {'vendorId': 'org.example', 'data': data}]))


asyncio.run(main())
seen = sent[0][3]['data'], received[0]
print('ocpp 2.1.0, sent and received:', *seen)
assert seen == ({'powerLimitW': 11000, 'phase1': {'iMax': 16}}, {'l1': 230, 'soc': 80, 'id': 6}), 'it behaves otherwise now'
PYTHON
