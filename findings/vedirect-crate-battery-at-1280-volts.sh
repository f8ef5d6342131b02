#!/usr/bin/env bash
# vedirect 0.2.0 (crate): a battery monitor sends its voltage in millivolts, as every VE.Direct device does (V, "mV"). Expected: 12.8 V for 12800. Seen:
# 1280 V from a BMV, as the value is divided by ten; the same field of a solar charger comes out right.
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
vedirect = "=0.2.0"
TOML
cat >src/main.rs <<'RUST'
use vedirect::{Bmv700, Events, Parser, VEError};

#[derive(Default)]
struct Seen(Vec<f32>, Vec<i32>);

impl Events<Bmv700> for Seen {
    fn on_complete_block(&mut self, block: Bmv700) {
        self.0.push(block.voltage);
        self.1.push(block.power);
    }
    fn on_parse_error(&mut self, error: VEError, _: &[u8]) {
        panic!("it behaves otherwise now: {error}");
    }
}

fn main() {
    // The last byte makes the sum of the block a multiple of 256.
    let mut block = b"\r\nV\t12800\r\nI\t-340\r\nP\t-4\r\nCE\t-53\r\nSOC\t876\r\nTTG\t60\r\nRelay\tOFF\r\nAlarm\tOFF\r\nChecksum\t".to_vec();
    block.push(block.iter().fold(0u8, |sum, byte| sum.wrapping_sub(*byte)));
    let mut seen = Seen::default();
    Parser::new(&mut seen).feed(&block).expect("a whole block");
    println!("vedirect 0.2.0: V 12800 is {:?} V, P -4 is {:?} W", seen.0, seen.1);
    assert_eq!((seen.0, seen.1), (vec![1280.0], vec![-4]), "it behaves otherwise now");
}
RUST
cargo run --quiet
