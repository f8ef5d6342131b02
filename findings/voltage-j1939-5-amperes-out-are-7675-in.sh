#!/usr/bin/env bash
# voltage_j1939 0.1.0 (crate), electrical power of a vehicle in J1939 (PGN 65271): byte 1 is the current of the battery with 125 added (SPN 114), byte 2 that of the alternator (SPN
# 115), and bytes 3 and 4 the charging voltage (SPN 167, J1939-71). Expected: -5 A, 30 A and 28 V. Seen: 7675 A and 560 A, as two bytes are taken for each of
# the currents, so that the alternator's is a part of the battery's and the voltage is told in amperes; the battery's voltage behind them is right.
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
voltage_j1939 = "=0.1.0"
TOML
cat >src/main.rs <<'RUST'
use voltage_j1939::decode_frame;

fn main() {
    // 120 - 125 A, 30 A, 560 / 20 V, 500 / 20 V, and no key switch.
    let frame = [120, 30, 0x30, 0x02, 0xF4, 0x01, 0xFF, 0xFF];
    let seen: Vec<String> = decode_frame(0x18FE_F700, &frame)
        .iter()
        .map(|one| format!("{} {:.0} {}", one.name, one.value, one.unit))
        .collect();
    println!("voltage_j1939 0.1.0: {seen:?}");
    assert_eq!(
        seen,
        ["net_battery_current 7675 A", "alternator_current 560 A", "battery_potential 25 V"],
        "it behaves otherwise now"
    );
}
RUST
cargo run --quiet
