#!/usr/bin/env bash
# nmea-parser 0.11.0 (crate), position of a ship in AIS for satellites (message 27): speed and course stand behind the latitude, in bits 79 to 84 and 85 to 93 (ITU-R M.1371,
# message 27). Expected: 0 knots and 90 degrees for a ship at anchor. Seen: 14 knots and a course of 3030 degrees, as both are read from the bits of the
# latitude (62), which is 50.5 degrees; position and status are right.
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
nmea-parser = "=0.11.0"
TOML
cat >src/main.rs <<'RUST'
use nmea_parser::{NmeaParser, ParsedMessage};

/// Makes a sentence of fields, each a number and its count of bits.
fn sentence(fields: &[(u64, usize)]) -> String {
    let bits: String = fields.iter().map(|(value, length)| format!("{value:0length$b}")).collect();
    let letters: String = bits
        .as_bytes()
        .chunks(6)
        .map(|six| six.iter().fold(0, |code, bit| code << 1 | (bit - b'0')))
        .map(|code| char::from(if code < 40 { code + 48 } else { code + 56 }))
        .collect();
    let body = format!("AIVDM,1,1,,A,{letters},0");
    format!("!{body}*{:02X}", body.bytes().fold(0, |sum, byte| sum ^ byte))
}

fn main() {
    // Type, repeat, MMSI, accuracy, RAIM, at anchor, 1.5 and 50.5 degrees, speed, course, position of now, spare.
    let text = sentence(&[(27, 6), (0, 2), (244660000, 30), (1, 1), (0, 1), (1, 4), (900, 18), (30300, 17), (0, 6), (90, 9), (0, 1), (0, 1)]);
    let Ok(ParsedMessage::VesselDynamicData(ship)) = NmeaParser::new().parse_sentence(&text) else { panic!("no position") };
    let seen = (ship.latitude, ship.longitude, ship.sog_knots, ship.cog);
    println!("nmea-parser 0.11.0: {}: {seen:?}", ship.nav_status);
    assert_eq!(seen, (Some(50.5), Some(1.5), Some(14.0), Some(3030.0)), "it behaves otherwise now");
}
RUST
cargo run --quiet
