#!/usr/bin/env bash
# Two that meet: sparkplug-payload 1.0.3 (npm) writes a negative Int8 or Int16 of Sparkplug B as the 32 bits of its two's complement, as int_value has 32 bits and
# Tahu does; pysparkplug 0.6.1 (PyPI) takes those bits for a value too large. Expected: -300 arrives as -300, as -70000 does as an Int32. Seen:
# "Int16 overflow", and the whole message is lost, with the metrics beside it; 300 arrives.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --no-save --ignore-scripts --prefix "$folder" sparkplug-payload@1.0.3 >/dev/null
cat >"$folder/write.cjs" <<'JS'
const payload = require('sparkplug-payload').get('spBv1.0');

for (const [type, value] of [['Int16', 300], ['Int32', -70000], ['Int16', -300]]) {
  const metrics = [{ name: 'volts', type: 'Float', value: 230.5 }, { name: 'power', type, value }];
  console.log(Buffer.from(payload.encodePayload({ timestamp: 1700000000000, seq: 0, metrics })).toString('hex'));
}
JS
node "$folder/write.cjs" >"$folder/written"
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet pysparkplug==0.6.1
"$folder/venv/bin/python" - "$folder/written" <<'PYTHON'
import sys

from pysparkplug import NBirth

seen = []
for line in open(sys.argv[1]):
    try:
        seen.append([metric.value for metric in NBirth.decode(bytes.fromhex(line)).metrics])
    except OverflowError as error:
        seen.append(str(error))
print('sparkplug-payload 1.0.3 and pysparkplug 0.6.1:', seen)
assert seen == [[230.5, 300], [230.5, -70000], 'Int16 overflow with value 4294966996'], 'they behave otherwise now'
PYTHON
