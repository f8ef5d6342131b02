#!/usr/bin/env bash
# ruuvitag-sensor 4.1.0 (PyPI): data format 5 has a value of its own for "not available" in each field, and Ruuvi publishes an advertisement with all of
# them. Expected: no value for any field. Seen: temperature and the others have none, but the movement counter is 255 and the sequence number 65535.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet ruuvitag-sensor==4.1.0
"$folder/venv/bin/python" - <<'PYTHON'
from ruuvitag_sensor.decoder import get_decoder

# docs.ruuvi.com, data format 5 (RAWv2), test vectors: valid, and invalid values.
valid = get_decoder(5).decode_data('0512FC5394C37C0004FFFC040CAC364200CDCBB8334C884F')
assert (valid['temperature'], valid['movement_counter'], valid['measurement_sequence_number']) == (24.3, 66, 205)
invalid = get_decoder(5).decode_data('058000FFFFFFFF800080008000FFFFFFFFFFFFFFFFFFFFFF')
assert invalid['temperature'] is None and invalid['humidity'] is None and invalid['battery'] is None
counters = invalid['movement_counter'], invalid['measurement_sequence_number']
assert counters == (255, 65535), f'it behaves otherwise now: {counters}'
print('ruuvitag-sensor 4.1.0: no temperature, no humidity, no battery; movements and sequence number are', *counters)
PYTHON
