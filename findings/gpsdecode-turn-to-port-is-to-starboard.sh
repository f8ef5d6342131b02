#!/usr/bin/env bash
# gpsdecode 3.22 (Debian), of gpsd: the rate of turn of a ship in AIS has a sign, plus to starboard, and is 4.733 times the square root of degrees per minute (ITU-R M.1371, message
# 1). Expected: "turn" of 18 for 20, and of -18 for -20. Seen: 18 for both, as a square has no sign, so that a ship which turns to port is told as
# one that turns to starboard; with -u, which gives the numbers as they were sent, it is -20.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq update
mkdir -p debs/partial
apt-get -qq -o APT::Sandbox::User=root -o Dir::Cache::archives="$folder/debs" install --download-only --reinstall --yes --no-install-recommends \
  gpsd-clients=3.22-4.1+deb12u1 >/dev/null 2>&1
for package in debs/*.deb; do dpkg -x "$package" root; done
PATH=$folder/root/usr/bin:$PATH
export LD_LIBRARY_PATH=$folder/root/usr/lib/$(uname -m)-linux-gnu
cat >ship.py <<'PYTHON'
import functools
import json
import subprocess


def sentence(turn):
    """Makes message 1 of a ship in the Channel that turns at the given rate."""
    fields = [(1, 6), (0, 2), (244660000, 30), (0, 4), (turn, 8), (123, 10), (1, 1), (900000, 28)]
    fields += [(30300000, 27), (900, 12), (91, 9), (30, 6), (0, 25)]
    bits = ''.join(format(value & (1 << length) - 1, f'0{length}b') for value, length in fields)
    codes = [int(bits[at : at + 6], 2) for at in range(0, len(bits), 6)]
    body = 'AIVDM,1,1,,A,' + ''.join(chr(code + (48 if code < 40 else 56)) for code in codes) + ',0'
    return f'!{body}*{functools.reduce(lambda check, byte: check ^ byte, body.encode()):02X}\n'


def read(turn, *options):
    run = subprocess.run(['gpsdecode', *options], input=sentence(turn), capture_output=True, check=True, text=True, timeout=20)
    return json.loads(run.stdout)['turn']


seen = [(read(turn), read(turn, '-u')) for turn in (20, -20)]
print('gpsdecode 3.22: starboard and port, in degrees per minute and as sent:', seen)
assert seen == [(18, 20), (18, -20)], 'it behaves otherwise now'
PYTHON
python3 ship.py
