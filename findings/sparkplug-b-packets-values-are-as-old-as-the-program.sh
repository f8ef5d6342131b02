#!/usr/bin/env bash
# sparkplug-b-packets 0.12.2025 (PyPI): each metric of Sparkplug B has the time at which its value was taken. Expected: the time at which a message is made of
# it. Seen: the time at which the program was started, as it is made once, when the library is loaded, so that each value of a gateway that
# runs for months is months old; the time of the whole message is right.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet sparkplug-b-packets==0.12.2025 protobuf==7.36.2 pydantic==2.14.4
"$folder/venv/bin/python" - <<'PYTHON'
import time
from unittest import mock

from sparkplub_b_packets.core.sparkplug_b import MetricDataType
from sparkplub_b_packets.core.sparkplug_b_pb2 import Payload
from sparkplub_b_packets.packets import Metric, NDataPacket

power = Metric(alias='power', alias_map=1, data_type=MetricDataType.Int32, value=230)
started = time.time()
ages = []
for hours in (0, 1, 24):
    with mock.patch('time.time', return_value=started + hours * 3600):
        message = Payload.FromString(NDataPacket('plant', 'gateway', {'power': power}).payload())
    ages.append(round((message.timestamp - message.metrics[0].timestamp) / 3_600_000))
print('sparkplug-b-packets 0.12.2025: hours between a value and its message, after 0, 1 and 24 hours:', ages)
assert ages == [0, 1, 24], 'it behaves otherwise now'
PYTHON
