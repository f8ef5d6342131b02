#!/usr/bin/env bash
# canparse 0.1.4 (crate): a signal of a DBC file has its sign behind the byte order (@1- for two's complement, @1+ for none), which the library keeps in its
# definition. Expected: -10 A for FF9Ch in tenths. Seen: 6543.6 A, as the sign is left out of the calculation; the signal beside it, which has none, is
# right.
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
canparse = "=0.1.4"
TOML
cat >pack.dbc <<'DBC'
VERSION ""

NS_ :

BS_:

BU_: BMS ECU

BO_ 2566844926 Pack: 8 BMS
 SG_ Voltage : 0|16@1+ (0.1,0) [0|1000] "V" ECU
 SG_ Current : 16|16@1- (0.1,0) [-3000|3000] "A" ECU
DBC
cat >src/main.rs <<'RUST'
use canparse::pgn::{ParseMessage, PgnLibrary};

fn main() {
    let library = PgnLibrary::from_dbc_file("pack.dbc").expect("a valid file");
    let frame: [u8; 8] = [0xA0, 0x0F, 0x9C, 0xFF, 0, 0, 0, 0];
    let seen: Vec<String> = ["Voltage", "Current"]
        .iter()
        .map(|name| format!("{:.1}", library.get_spn(name).expect("the signal").parse_message(&frame).expect("a value")))
        .collect();
    println!("canparse 0.1.4: {seen:?}");
    assert_eq!(seen, ["400.0", "6543.6"], "it behaves otherwise now");
}
RUST
cargo run --quiet
