#!/usr/bin/env bash
# sparkplug-payload 1.0.3 (npm): a data set of Sparkplug B is a table whose columns have types, Int32 among them. Expected: a table that it has encoded itself is decoded
# again. Seen: "Invalid DataSetValue" for any number of a column Int32, which loses all other metrics of the message too; columns of Int64 and of
# Double are read.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --no-save --ignore-scripts --prefix "$folder" sparkplug-payload@1.0.3 >/dev/null
cat >"$folder/both.cjs" <<'JS'
const payload = require('sparkplug-payload').get('spBv1.0');

const both = (type) => {
  const table = { numOfColumns: 1, columns: ['count'], types: [type], rows: [[7]] };
  const encoded = payload.encodePayload({ timestamp: 1700000000000, seq: 0, metrics: [{ name: 'table', type: 'DataSet', value: table }] });
  try {
    return Number(payload.decodePayload(encoded).metrics[0].value.rows[0][0]);
  } catch (error) {
    return error.message;
  }
};
const seen = JSON.stringify(['Double', 'Int64', 'Int32'].map(both));
console.log('sparkplug-payload 1.0.3, Double, Int64 and Int32:', seen);
if (seen !== JSON.stringify([7, 7, 'Invalid DataSetValue: {"intValue":7}'])) throw new Error('it behaves otherwise now');
JS
node "$folder/both.cjs"
