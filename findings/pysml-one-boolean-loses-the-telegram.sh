#!/usr/bin/env bash
# pysml 0.1.7 (PyPI): a value of an SML list may be a Boolean (type 4, one byte, 42h 01h), next to octets, numbers and lists (SML 1.04, SML_Value), as
# for a relay or a tamper switch. Expected: true, or at least the other entries. Seen: "Unknown TL field", and the whole telegram is lost with it, the
# energy too, which is read when the Boolean isn't there.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet pysml==0.1.7 bitstring==4.2.3
"$folder/venv/bin/python" - <<'PYTHON'
from sml import SmlBase, SmlParserError


def crc(data):
    value = 0xFFFF
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = (value >> 1) ^ 0x8408 if value & 1 else value >> 1
    return (value ^ 0xFFFF).to_bytes(2, 'little')


def octets(data):
    return bytes([len(data) + 1]) + data


def sequence(*items):
    return bytes([0x70 + len(items)]) + b''.join(items)


def message(body):
    head = b'\x76' + octets(b'\x01') + b'\x62\x00\x62\x00' + body
    return head + b'\x63' + crc(head) + b'\x00'


NONE, SERVER = b'\x01', octets(bytes.fromhex('0a01454d480000123456'))


def file(*entries):
    opened = sequence(b'\x63\x01\x01', sequence(NONE, NONE, octets(b'\x01'), SERVER, NONE, NONE))
    values = sequence(b'\x63\x07\x01', sequence(NONE, SERVER, NONE, NONE, sequence(*entries), NONE, NONE))
    data = message(opened) + message(values) + message(sequence(b'\x63\x02\x01', sequence(NONE)))
    padding = -len(data) % 4
    whole = b'\x1b' * 4 + b'\x01' * 4 + data + bytes(padding) + b'\x1b' * 4 + b'\x1a' + bytes([padding])
    return whole + crc(whole)


def entry(name, unit, scaler, value):
    return sequence(octets(bytes(name)), NONE, NONE, unit, scaler, value, NONE)


ENERGY = entry((1, 0, 1, 8, 0, 255), b'\x62\x1e', b'\x52\xff', b'\x65\x00\x01\xe2\x40')
RELAY = entry((1, 0, 96, 3, 10, 255), NONE, NONE, b'\x42\x01')
_, plain = SmlBase.find_frame(file(ENERGY))
assert plain[1]['messageBody']['valList'][0]['value'] == 12345.6, 'it behaves otherwise now'
try:
    _, mixed = SmlBase.find_frame(file(ENERGY, RELAY))
    raise SystemExit(f'it behaves otherwise now: {mixed[1]}')
except SmlParserError as error:
    print('pysml 0.1.7: 12345.6 Wh without a Boolean in the list; with one:', error)
    assert 'Unknown TL field' in str(error), 'it behaves otherwise now'
PYTHON
