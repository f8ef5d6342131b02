#!/usr/bin/env bash
# rrdtool 1.7.2 (Debian) keeps doubles, with some sixteen digits; "dump" writes a file as XML and "restore" reads it, as when it moves to a machine of another kind. Expected:
# what was stored comes back. Seen: eleven digits are written, so that a counter of 123456789012.5 Wh has 123456789010 afterwards, and the hours in
# which less than ten watt-hours are used are without any use; the last value (last_ds) keeps all of its digits.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq update
mkdir -p debs/partial
apt-get -qq -o APT::Sandbox::User=root -o Dir::Cache::archives="$folder/debs" install --download-only --reinstall --yes --no-install-recommends \
  rrdtool=1.7.2-4+b8 >/dev/null 2>&1
for package in debs/*.deb; do dpkg -x "$package" root; done
PATH=$folder/root/usr/bin:$PATH
export LD_LIBRARY_PATH=$folder/root/usr/lib/$(uname -m)-linux-gnu
rrdtool create first.rrd --start 1700000000 --step 300 DS:energy:GAUGE:600:0:U RRA:LAST:0.5:1:4
rrdtool update first.rrd 1700000100:123456789012.5 1700000400:123456789012.5 1700000700:123456789016.25
rrdtool dump first.rrd first.xml
rrdtool restore first.xml second.rrd
python3 - <<'PYTHON'
import pathlib
import struct


def stored(name):
    """Reads the rows of the one archive, the doubles at the end of the file."""
    return sorted(value for (value,) in struct.iter_unpack('<d', pathlib.Path(name).read_bytes()[-32:]) if value == value)


seen = stored('first.rrd'), stored('second.rrd')
print('rrdtool 1.7.2: before and after:', *seen)
assert seen == ([123456789012.5, 123456789016.25], [123456789010.0, 123456789020.0]), 'it behaves otherwise now'
PYTHON
