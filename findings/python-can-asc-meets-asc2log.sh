#!/usr/bin/env bash
# Two that meet: can_logconvert of python-can 4.6.1 (PyPI) makes an ASC file of a candump log, and asc2log of can-utils 2020.11.0 (Debian) makes a log of it again. The
# "date" of an ASC file is the start of the measurement. Expected: the times of 2023, as in the first log, or a refusal. Seen: the frames are of today
# and the exit code is 0. asc2log can't read milliseconds in that line and takes the current time, as it says on its error output; and python-can
# wrote there the time of the conversion, with the start only in "Begin Triggerblock".
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet python-can==4.6.1
apt-get -qq update
apt-get -qq -o APT::Sandbox::User=root download can-utils=2020.11.0-1
dpkg -x can-utils_2020.11.0-1_*.deb can-utils
printf '(1700000000.000000) can0 123#010203\n(1700000001.500000) can0 124#FF\n' >first.log
export TZ=UTC
before=$(date +%s)
venv/bin/can_logconvert first.log made.asc
can-utils/usr/bin/asc2log -I made.asc >second.log 2>said
times=$(sed 's/^(\([0-9]*\)\..*/\1/' second.log | tr '\n' ' ')
echo "python-can 4.6.1 and can-utils 2020.11.0: 1700000000 and 1700000001 have become $times; $(head -1 made.asc); $(tail -1 said)"
otherwise() { echo 'they behave otherwise now'; exit 1; }
[[ $(wc -w <<<"$times") == 2 ]] || otherwise
for time in $times; do ((time >= before - 1)) || otherwise; done
grep --quiet '^Begin Triggerblock Tue Nov 14 22:13:20' made.asc || otherwise
[[ $(head -1 made.asc) != *2023 ]] || otherwise
