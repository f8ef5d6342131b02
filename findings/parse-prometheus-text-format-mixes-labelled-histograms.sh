#!/usr/bin/env bash
# parse-prometheus-text-format 1.1.1 (npm): a histogram may have labels beside "le", and then there is one for each set of them. Expected: two histograms, for
# bus 1 and bus 2, as for gauges. Seen: one without labels, in which the last line of each bucket has won, and sum and count are gone; a bucket that only
# bus 1 has stands beside those of bus 2. A summary likewise.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --no-save --ignore-scripts --prefix "$folder" parse-prometheus-text-format@1.1.1 >/dev/null
cat >"$folder/read.cjs" <<'JS'
const parse = require('parse-prometheus-text-format');

const [histogram, gauge] = parse(`# TYPE poll_seconds histogram
poll_seconds_bucket{bus="1",le="0.1"} 4
poll_seconds_bucket{bus="1",le="0.5"} 5
poll_seconds_bucket{bus="1",le="+Inf"} 6
poll_seconds_sum{bus="1"} 1.5
poll_seconds_count{bus="1"} 6
poll_seconds_bucket{bus="2",le="0.5"} 50
poll_seconds_bucket{bus="2",le="+Inf"} 60
poll_seconds_sum{bus="2"} 15
poll_seconds_count{bus="2"} 60
# TYPE volts gauge
volts{bus="1"} 230
volts{bus="2"} 231
`);
const seen = JSON.stringify(histogram.metrics);
console.log('parse-prometheus-text-format 1.1.1:', gauge.metrics.length, 'gauges, histograms:', seen);
if (gauge.metrics.length !== 2 || seen !== '[{"buckets":{"0.1":"4","0.5":"50","+Inf":"60"}}]') throw new Error('it behaves otherwise now');
JS
node "$folder/read.cjs"
