#!/usr/bin/env bash
# kpn_senml 1.0.1 (PyPI) reads and writes SenML. A record of RFC 8428 has a unit, a time and a sum, and takes what it lacks from the base of the pack. Expected: what
# was read has them. Seen: only name and value are kept; time, unit and sum are None without an error, a record with a sum alone has no value at
# all, and a loop over the pack sees no record.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet kpn_senml==1.0.1 cbor2==5.6.5
"$folder/venv/bin/python" - <<'PYTHON'
from kpn_senml import SenmlPack

read = []
pack = SenmlPack('meter:7:', callback=lambda record, device: read.append((record.name, record.value, record.time, record.unit, record.sum)))
pack.from_json(
    '[{"bn": "meter:7:", "bt": 1700000000, "bu": "W", "n": "power", "v": 230.5}, {"n": "energy", "u": "J", "s": 3600000, "t": -5}]'
)
print('kpn_senml 1.0.1, name, value, time, unit, sum:', read, '- records in a loop:', len(list(pack)))
assert read == [('power', 230.5, None, None, None), ('energy', None, None, None, None)], 'it behaves otherwise now'
assert list(pack) == [], 'it behaves otherwise now'
PYTHON
