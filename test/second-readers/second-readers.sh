#!/bin/sh
# Writes the answers of second readers from PyPI beside the fixtures of meters; the tests compare them with ours. Not part of CI.
set -eu
cd "$(dirname "$0")"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet gurux-dlms==1.0.203 amshan==2.1.1 dsmr-parser==1.11.2 iec62056-21==0.0.2
"$folder/venv/bin/python" dlms.py
"$folder/venv/bin/python" p1.py
"$folder/venv/bin/python" iec62056.py
