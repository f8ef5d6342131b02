#!/usr/bin/env bash
# victron-ble 0.9.3 (PyPI): the alarm reason of a battery monitor is a set of bits (VE.Direct: 1 low voltage, 4 low state of charge, and so on). Expected: both, when
# two alarms stand at once, as a battery that runs empty has them. Seen: ValueError, "5 is not a valid AlarmReason", and no voltage, current or
# state of charge, for as long as both alarms last; with one alarm all is read.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet victron_ble==0.9.3
"$folder/venv/bin/python" - <<'PYTHON'
from Crypto.Cipher import AES
from Crypto.Util import Counter
from victron_ble.devices import BatteryMonitor

KEY = bytes(range(16))


def advertisement(alarm):
    """An "instant readout" of a battery monitor: the fields, the lowest bit first, encrypted with AES in counter mode."""
    packed = position = 0
    # Minutes left, 0.01 V, alarms, temperature in 0.01 K, kind of the input, mA, 0.1 Ah used, 0.1 %.
    for value, bits in ((30, 16), (1050, 16), (alarm, 16), (29315, 16), (2, 2), (-5000, 22), (900, 20), (80, 10)):
        packed |= (value & ((1 << bits) - 1)) << position
        position += bits
    plain = packed.to_bytes(16, 'little')
    cipher = AES.new(KEY, AES.MODE_CTR, counter=Counter.new(128, initial_value=7, little_endian=True))
    return bytes.fromhex('100289a3020700') + KEY[:1] + cipher.encrypt(plain)


monitor = BatteryMonitor(KEY.hex())
one = monitor.parse(advertisement(1))
assert (one.get_voltage(), one.get_soc(), one.get_current()) == (10.5, 8.0, -5.0), 'it behaves otherwise now'
try:
    both = monitor.parse(advertisement(1 | 4))
    raise SystemExit(f'it behaves otherwise now: {both.get_alarm()}')
except ValueError as error:
    print('victron-ble 0.9.3:', one.get_voltage(), 'V and', one.get_alarm(), '- with low state of charge beside it:', error)
    assert 'AlarmReason' in str(error), 'it behaves otherwise now'
PYTHON
