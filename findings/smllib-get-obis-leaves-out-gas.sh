#!/usr/bin/env bash
# smllib 1.7 (PyPI): get_obis() is to give all values of a frame without parsing it whole. SML carries any meter: the first number of the OBIS code is the medium,
# 1 for electricity, 7 for gas, 129 for what the maker adds. Expected: every entry, as parse_frame() gives them. Seen: only those of electricity, without
# an error; the gas reading and the maker's entry are left out.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet smllib==1.7
"$folder/venv/bin/python" - <<'PYTHON'
from smllib import SmlStreamReader


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
GAS = entry((7, 0, 3, 0, 0, 255), b'\x62\x0d', b'\x52\xfd', b'\x65\x00\x05\xf2\x5c')
MAKER = entry((129, 129, 199, 130, 3, 255), NONE, NONE, octets(b'EMH'))
reader = SmlStreamReader()
reader.add(file(ENERGY, GAS, MAKER))
frame = reader.get_frame()
quick = [(one.obis.obis_code, one.get_value()) for one in frame.get_obis()]
whole = [(one.obis.obis_code, one.get_value()) for one in frame.parse_frame()[1].message_body.val_list]
print('smllib 1.7: get_obis', quick, '- parse_frame', whole)
assert whole == [('1-0:1.8.0*255', 12345.6), ('7-0:3.0.0*255', 389.724), ('129-129:199.130.3*255', 'EMH')], 'it behaves otherwise now'
assert quick == whole[:1], 'it behaves otherwise now'
PYTHON
