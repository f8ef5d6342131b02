#!/usr/bin/env bash
# modbus 1.1.3 (crate), client of Modbus TCP: a unit refuses a request by an exception of nine bytes, 02 for a register that it doesn't have (Modbus Application Protocol, 7).
# Expected: Error::Exception(IllegalDataAddress), which the library has. Seen: it waits for as many bytes as the answer would have had, so that the refusal
# is an I/O error at the end of the time-out, and a poller takes the unit for unreachable; a read that is granted comes at once.
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
modbus = "=1.1.3"
TOML
cat >src/main.rs <<'RUST'
use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::Duration;

use modbus::tcp::{Config, Transport};
use modbus::{Client, Error};

fn main() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("its number").port();
    std::thread::spawn(move || {
        let (mut link, _) = listener.accept().expect("a client");
        let mut request = [0; 12];
        while link.read_exact(&mut request).is_ok() {
            let [high, low] = [request[0], request[1]];
            let granted: [u8; 11] = [high, low, 0, 0, 0, 5, 1, 3, 2, 0, 42];
            let refused: [u8; 9] = [high, low, 0, 0, 0, 3, 1, 0x83, 2];
            let answer: &[u8] = if request[9] == 0 { &granted } else { &refused };
            link.write_all(answer).expect("the answer sent");
        }
    });
    let config = Config { tcp_port: port, tcp_read_timeout: Some(Duration::from_secs(2)), ..Config::default() };
    let mut client = Transport::new_with_cfg("127.0.0.1", config).expect("a link");
    let granted = client.read_holding_registers(0, 1);
    let refused = client.read_holding_registers(1, 1);
    println!("modbus 1.1.3: register 0, and 1, which the unit refuses: {granted:?} {refused:?}");
    assert!(granted.expect("a value") == [42] && matches!(refused, Err(Error::Io(_))), "it behaves otherwise now");
}
RUST
cargo run --quiet
