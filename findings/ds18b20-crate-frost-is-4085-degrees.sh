#!/usr/bin/env bash
# ds18b20 0.1.1 (crate): the temperature of the chip is 16 bits in two's complement, in sixteenths of a degree at any resolution; at 9 to 11 bits the last ones of them
# are undefined (data sheet, Figure 4). Expected: -10.125 for FF5Eh and 25 for 0190h. Seen: frost is 4085.875 degrees, as the sign is not read, and a
# chip that is set to 9 bits tells 200 for 25, as its number is divided by 2.
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
ds18b20 = "=0.1.1"
embedded-hal = { version = "=0.2.7", features = ["unproven"] }
one-wire-bus = "=0.1.1"
TOML
cat >src/main.rs <<'RUST'
use std::cell::RefCell;
use std::convert::Infallible;
use std::rc::Rc;

use embedded_hal::blocking::delay::DelayUs;
use embedded_hal::digital::v2::{InputPin, OutputPin};
use one_wire_bus::{Address, OneWire};

/// Stands for the wire with one chip on it: the time that it was pulled down, and the bits that the chip has still to send.
struct Wire {
    low_us: u16,
    bits: Vec<bool>,
}

struct Pin(Rc<RefCell<Wire>>);
struct Delay(Rc<RefCell<Wire>>);

impl OutputPin for Pin {
    type Error = Infallible;
    fn set_low(&mut self) -> Result<(), Infallible> {
        self.0.borrow_mut().low_us = 0;
        Ok(())
    }
    fn set_high(&mut self) -> Result<(), Infallible> {
        Ok(())
    }
}

impl InputPin for Pin {
    type Error = Infallible;
    fn is_high(&self) -> Result<bool, Infallible> {
        let mut wire = self.0.borrow_mut();
        Ok(if wire.low_us == 15 { wire.bits.remove(0) } else { true })
    }
    fn is_low(&self) -> Result<bool, Infallible> {
        Ok(true)
    }
}

impl DelayUs<u16> for Delay {
    fn delay_us(&mut self, us: u16) {
        self.0.borrow_mut().low_us += us;
    }
}

fn read(temperature: u16, configuration: u8) -> f32 {
    let [low, high] = temperature.to_le_bytes();
    let mut scratchpad = vec![low, high, 0x4B, 0x46, configuration, 0xFF, 0x0C, 0x10];
    scratchpad.push(one_wire_bus::crc::crc8(&scratchpad));
    let bits = scratchpad.iter().flat_map(|byte| (0..8).map(move |bit| byte >> bit & 1 == 1)).collect();
    let wire = Rc::new(RefCell::new(Wire { low_us: 0, bits }));
    let mut bus = OneWire::new(Pin(wire.clone())).expect("a bus");
    let chip = ds18b20::Ds18b20::new::<Infallible>(Address(0x28)).expect("the family of the chip");
    chip.read_data(&mut bus, &mut Delay(wire)).expect("a scratchpad with its check sum").temperature
}

fn main() {
    let seen = [read(0x0191, 0x7F), read(0xFF5E, 0x7F), read(0x0190, 0x1F)];
    println!("ds18b20 0.1.1: 25.0625 and -10.125 at 12 bits, 25 at 9 bits: {seen:?}");
    assert_eq!(seen, [25.0625, 4085.875, 200.0], "it behaves otherwise now");
}
RUST
cargo run --quiet
