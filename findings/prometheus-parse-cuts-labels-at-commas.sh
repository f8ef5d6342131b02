#!/usr/bin/env bash
# prometheus-parse 0.2.5 (crate): a metric's name may have colons, as recorded rules do, and the value of a label may be any text. Expected: three metrics with
# their labels. Seen: the metric with a colon is not there, a label is cut at its first comma, so that two series are one by their labels, and
# a label whose value has "=" is gone; no error for any of it.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
mkdir src
cat >Cargo.toml <<'TOML'
[package]
name = "read"
version = "0.0.0"
edition = "2021"
[dependencies]
prometheus-parse = "=0.2.5"
TOML
cat >src/main.rs <<'RUST'
fn main() {
    let text = r#"# TYPE volts gauge
volts{meter="Hall 2, left"} 230
volts{meter="Hall 2, right"} 231
volts{filter="unit=3",bus="1"} 232
bus:polls:rate5m 0.2
"#;
    let scrape = prometheus_parse::Scrape::parse(text.lines().map(|line| Ok(line.to_owned()))).expect("valid text");
    let seen: Vec<String> = scrape.samples.iter().map(|sample| format!("{}{{{}}}", sample.metric, sample.labels)).collect();
    println!("prometheus-parse 0.2.5: {seen:?}");
    assert_eq!(seen, ["volts{meter=\"Hall 2\"}", "volts{meter=\"Hall 2\"}", "volts{bus=\"1\"}"], "it behaves otherwise now");
}
RUST
cargo run --quiet
